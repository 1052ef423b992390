//! One event as it travels: borrowed from the request body at intake, encoded into a ring record, decoded
//! again (borrowed from the record) by the writer. This file owns the record's encoding; the ring knows bytes only.
//!
//! Invariants: everything that can be encoded can be stored (texts are valid UTF-8 without NUL, lengths are
//! bounded by `limits`); decoding never panics on any bytes; no address and no user agent has a field here.

mod data;

pub use data::{DataItems, DataValue, DataWriter};

use crate::limits;
use data::Input;

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

    /// Whether a record becomes a row of events; the first bytes say so.
    #[must_use]
    pub fn is_row(record: &[u8]) -> bool {
        record.get(1).is_some_and(|kind| *kind != EventKind::Identify as u8)
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
