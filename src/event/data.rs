//! The properties of an event or a session as bytes of a record: a name, a type, a value, one after the other.
//! Reading ends at the first byte that makes no sense and never panics.

use crate::limits;

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

/// Reads bytes from the front; `None` when there are not enough.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn text(&mut self, len: usize) -> Option<&'a str> {
        std::str::from_utf8(self.take(len)?).ok()
    }

    pub(super) fn short_text(&mut self) -> Option<&'a str> {
        let len = u16::from_le_bytes(self.array()?);
        self.text(usize::from(len))
    }
}
