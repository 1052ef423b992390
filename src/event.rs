//! One event as it travels: borrowed from the request body at intake, encoded into a ring record, decoded
//! again (borrowed from the record) by the writer. This file owns the record's encoding; the ring knows bytes only.
//!
//! Invariants: everything that can be encoded can be stored (texts are valid UTF-8 without NUL, lengths are
//! bounded by `limits`); decoding never panics on any bytes; no address and no user agent has a field here.

use crate::limits;

/// First byte of every record. Raised when the layout changes; old records must still decode.
const VERSION: u8 = 1;

/// What a record is about. Values are Umami's event types, and 0 for `identify`, which stores no event row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum EventKind {
    Identify = 0,
    #[default]
    PageView = 1,
    Custom = 2,
    Link = 3,
    Pixel = 4,
    Performance = 5,
}

impl EventKind {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Identify,
            1 => Self::PageView,
            2 => Self::Custom,
            3 => Self::Link,
            4 => Self::Pixel,
            5 => Self::Performance,
            _ => return None,
        })
    }
}

/// The text columns of an event, in the order of the record. `None` is SQL NULL; `Some("")` is kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Text {
    Hostname,
    UrlPath,
    UrlQuery,
    PageTitle,
    ReferrerDomain,
    ReferrerPath,
    ReferrerQuery,
    Channel,
    UtmSource,
    UtmMedium,
    UtmCampaign,
    UtmContent,
    UtmTerm,
    ClickId,
    EventName,
    Tag,
    DistinctId,
    Browser,
    Os,
    Device,
    Screen,
    Language,
    Country,
    Region,
    City,
}

/// Number of [`Text`] columns.
pub const TEXTS: usize = Text::City as usize + 1;

/// Web vitals: milliseconds, except `cls` (no unit). NaN is never stored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vitals {
    pub lcp: Option<f64>,
    pub inp: Option<f64>,
    pub cls: Option<f64>,
    pub fcp: Option<f64>,
    pub ttfb: Option<f64>,
}

/// Money of one event, in ten-thousandths of the currency's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revenue<'a> {
    pub amount_e4: i128,
    /// Upper case, at most 10 characters.
    pub currency: &'a str,
}

/// One event, all texts borrowed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event<'a> {
    pub kind: EventKind,
    pub website_key: u32,
    pub session_id: u64,
    pub visit_id: u64,
    /// Milliseconds since 1970, UTC.
    pub created_at: i64,
    pub texts: [Option<&'a str>; TEXTS],
    pub vitals: Vitals,
    pub revenue: Option<Revenue<'a>>,
    /// Properties, encoded by [`DataWriter`], read by [`DataItems`].
    pub data: &'a [u8],
}

impl<'a> Event<'a> {
    #[must_use]
    pub fn text(&self, column: Text) -> Option<&'a str> {
        self.texts[column as usize]
    }

    pub fn set(&mut self, column: Text, value: Option<&'a str>) {
        self.texts[column as usize] = value;
    }

    /// Bytes that [`Event::encode`] will write.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let texts: usize = self.texts.iter().flatten().map(|text| text.len() + 2).sum();
        let vitals = self.vitals_array().iter().flatten().count() * 8;
        let revenue = self.revenue.map_or(0, |revenue| 16 + 1 + revenue.currency.len());
        HEAD_LEN + texts + vitals + revenue + self.data.len()
    }

    /// Writes the record into `out`, which is exactly [`Event::encoded_len`] bytes long.
    /// Layout, little-endian: version, kind, flags (bit 0..4 vitals, bit 5 revenue), website key, session, visit,
    /// time, bit mask of texts, then each present text with a 16-bit length, vitals, revenue, data up to the end.
    pub fn encode(&self, out: &mut [u8]) {
        let mut cursor = Cursor { out, at: 0 };
        let vitals = self.vitals_array();
        let mut flags = u8::from(self.revenue.is_some()) << 5;
        for (bit, vital) in vitals.iter().enumerate() {
            flags |= u8::from(vital.is_some()) << bit;
        }
        let mut mask = 0u32;
        for (bit, text) in self.texts.iter().enumerate() {
            mask |= u32::from(text.is_some()) << bit;
        }
        cursor.put(&[VERSION, self.kind as u8, flags, 0]);
        cursor.put(&self.website_key.to_le_bytes());
        cursor.put(&self.session_id.to_le_bytes());
        cursor.put(&self.visit_id.to_le_bytes());
        cursor.put(&self.created_at.to_le_bytes());
        cursor.put(&mask.to_le_bytes());
        for text in self.texts.iter().flatten() {
            debug_assert!(text.len() <= limits::TEXT_BYTES_MAX);
            cursor.put(&(text.len() as u16).to_le_bytes());
            cursor.put(text.as_bytes());
        }
        for vital in vitals.iter().flatten() {
            cursor.put(&vital.to_le_bytes());
        }
        if let Some(revenue) = self.revenue {
            cursor.put(&revenue.amount_e4.to_le_bytes());
            cursor.put(&[revenue.currency.len() as u8]);
            cursor.put(revenue.currency.as_bytes());
        }
        cursor.put(self.data);
    }

    /// Reads a record back. `None` when the bytes are not a record of a known version.
    #[must_use]
    pub fn decode(record: &'a [u8]) -> Option<Self> {
        let mut input = Input(record);
        let [version, kind, flags, _] = input.array::<4>()?;
        if version != VERSION {
            return None;
        }
        let mut event = Event {
            kind: EventKind::from_byte(kind)?,
            website_key: u32::from_le_bytes(input.array()?),
            session_id: u64::from_le_bytes(input.array()?),
            visit_id: u64::from_le_bytes(input.array()?),
            created_at: i64::from_le_bytes(input.array()?),
            ..Event::default()
        };
        let mask = u32::from_le_bytes(input.array()?);
        for (bit, text) in event.texts.iter_mut().enumerate() {
            if mask & (1 << bit) != 0 {
                let len = u16::from_le_bytes(input.array()?);
                *text = Some(input.text(usize::from(len))?);
            }
        }
        let mut vitals = [None; 5];
        for (bit, vital) in vitals.iter_mut().enumerate() {
            if flags & (1 << bit) != 0 {
                *vital = Some(f64::from_le_bytes(input.array()?));
            }
        }
        let [lcp, inp, cls, fcp, ttfb] = vitals;
        event.vitals = Vitals { lcp, inp, cls, fcp, ttfb };
        if flags & (1 << 5) != 0 {
            let amount_e4 = i128::from_le_bytes(input.array()?);
            let [len] = input.array()?;
            event.revenue = Some(Revenue { amount_e4, currency: input.text(usize::from(len))? });
        }
        event.data = input.0;
        Some(event)
    }

    fn vitals_array(&self) -> [Option<f64>; 5] {
        let Vitals { lcp, inp, cls, fcp, ttfb } = self.vitals;
        [lcp, inp, cls, fcp, ttfb]
    }
}

/// Fixed part of a record: four bytes, website key, session, visit, time, text mask.
const HEAD_LEN: usize = 4 + 4 + 8 + 8 + 8 + 4;

/// A property's value; the number is its column `data_type`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DataValue<'a> {
    /// 1
    String(&'a str),
    /// 2: ten-thousandths, and the text as sent with four decimals is made from it.
    Number(i128),
    /// 3
    Boolean(bool),
    /// 4: milliseconds since 1970 UTC, and the text as sent.
    Date(i64, &'a str),
    /// 5: arrays and null, as JSON text.
    Json(&'a str),
}

impl DataValue<'_> {
    /// The column `data_type`.
    #[must_use]
    pub fn data_type(&self) -> u8 {
        match self {
            Self::String(_) => 1,
            Self::Number(_) => 2,
            Self::Boolean(_) => 3,
            Self::Date(..) => 4,
            Self::Json(_) => 5,
        }
    }
}

/// Appends properties to a reused buffer.
pub struct DataWriter<'b>(pub &'b mut Vec<u8>);

impl DataWriter<'_> {
    /// False, and nothing written, when the record would grow beyond `limits::DATA_BYTES_MAX`.
    pub fn push(&mut self, key: &str, value: &DataValue<'_>) -> bool {
        let text = match value {
            DataValue::String(text) | DataValue::Json(text) | DataValue::Date(_, text) => text,
            DataValue::Number(_) | DataValue::Boolean(_) => "",
        };
        if self.0.len() + key.len() + text.len() + 24 > limits::DATA_BYTES_MAX {
            return false;
        }
        self.0.push(value.data_type());
        self.put_text(key);
        match value {
            DataValue::String(text) | DataValue::Json(text) => self.put_text(text),
            DataValue::Number(number) => self.0.extend_from_slice(&number.to_le_bytes()),
            DataValue::Boolean(value) => self.0.push(u8::from(*value)),
            DataValue::Date(at, text) => {
                self.0.extend_from_slice(&at.to_le_bytes());
                self.put_text(text);
            }
        }
        true
    }

    fn put_text(&mut self, text: &str) {
        self.0.extend_from_slice(&(text.len() as u16).to_le_bytes());
        self.0.extend_from_slice(text.as_bytes());
    }
}

/// Reads properties in order; ends at the end or at the first byte that makes no sense.
pub struct DataItems<'a>(Input<'a>);

impl<'a> DataItems<'a> {
    #[must_use]
    pub fn new(data: &'a [u8]) -> Self {
        Self(Input(data))
    }
}

impl<'a> Iterator for DataItems<'a> {
    type Item = (&'a str, DataValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let input = &mut self.0;
        let [data_type] = input.array()?;
        let key = input.short_text()?;
        let value = match data_type {
            1 => DataValue::String(input.short_text()?),
            2 => DataValue::Number(i128::from_le_bytes(input.array()?)),
            3 => DataValue::Boolean(input.array::<1>()? != [0]),
            4 => DataValue::Date(i64::from_le_bytes(input.array()?), input.short_text()?),
            5 => DataValue::Json(input.short_text()?),
            _ => return None,
        };
        Some((key, value))
    }
}

struct Cursor<'b> {
    out: &'b mut [u8],
    at: usize,
}

impl Cursor<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn text(&mut self, len: usize) -> Option<&'a str> {
        std::str::from_utf8(self.take(len)?).ok()
    }

    fn short_text(&mut self) -> Option<&'a str> {
        let len = u16::from_le_bytes(self.array()?);
        self.text(usize::from(len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Event<'static> {
        let mut event = Event {
            kind: EventKind::Custom,
            website_key: 7,
            session_id: 1 << 63,
            visit_id: 2,
            created_at: -5,
            vitals: Vitals { cls: Some(0.25), ..Vitals::default() },
            revenue: Some(Revenue { amount_e4: 99_900, currency: "EUR" }),
            ..Event::default()
        };
        event.set(Text::UrlPath, Some("/論文"));
        event.set(Text::City, Some(""));
        event
    }

    fn encoded(event: &Event<'_>) -> Vec<u8> {
        let mut bytes = vec![0; event.encoded_len()];
        event.encode(&mut bytes);
        bytes
    }

    #[test]
    fn a_record_decodes_to_what_was_encoded() {
        let mut data = Vec::new();
        let items = [
            ("a.b", DataValue::Number(-1)),
            ("s", DataValue::String("x")),
            ("d", DataValue::Date(5, "1970-01-01T00:00:00.005Z")),
            ("j", DataValue::Json("null")),
            ("t", DataValue::Boolean(true)),
        ];
        for (key, value) in &items {
            assert!(DataWriter(&mut data).push(key, value));
        }
        let event = Event { data: &data, ..sample() };
        let bytes = encoded(&event);
        let back = Event::decode(&bytes).expect("decodes");
        assert_eq!(back, event);
        assert_eq!(DataItems::new(back.data).collect::<Vec<_>>(), items);
    }

    #[test]
    fn a_record_of_an_unknown_version_is_refused() {
        let mut bytes = encoded(&sample());
        bytes[0] = 200;
        assert_eq!(Event::decode(&bytes), None);
    }

    proptest! {
        #[test]
        fn decoding_any_bytes_never_panics(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(first) = bytes.first_mut() { *first = VERSION; }
            if let Some(event) = Event::decode(&bytes) {
                let _ = DataItems::new(event.data).count();
            }
        }
    }
}
