//! The rows of an answer, outside the engine: one block of bytes that can be kept, shared and read again, so that
//! neither a connection nor the engine's own buffers outlive a question.
//!
//! A row is its cells, one after the other; a cell is a letter for its kind and what it needs. What is read back is
//! what the engine gave, except that numbers have become the widest of their kind.

use anyhow::{Context, Result, bail};
use duckdb::types::{FromSql, ValueRef};

/// What a row is turned into.
pub type Read<T> = fn(&Row<'_>) -> Result<T>;

/// All rows of an answer.
pub struct Rows {
    bytes: Box<[u8]>,
    columns: usize,
}

impl Rows {
    /// Takes all rows out of a statement that has run.
    pub(super) fn take(rows: &mut duckdb::Rows<'_>) -> Result<Self> {
        let (mut bytes, mut columns) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            columns = row.as_ref().column_count();
            for column in 0..columns {
                push(&mut bytes, row.get_ref(column)?)?;
            }
        }
        Ok(Self { bytes: bytes.into_boxed_slice(), columns })
    }

    /// Turns every row into what is wanted of it.
    pub fn read<T>(&self, read: Read<T>) -> Result<Vec<T>> {
        let mut answer = Vec::new();
        self.each(|row| {
            answer.push(read(row)?);
            Ok(())
        })?;
        Ok(answer)
    }

    /// Shows every row, in order.
    pub fn each(&self, mut show: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        let mut rest = &*self.bytes;
        let mut cells = Vec::with_capacity(self.columns);
        while !rest.is_empty() {
            cells.clear();
            for _ in 0..self.columns {
                cells.push(cell(&mut rest).context("a row is cut off")?);
            }
            show(&Row(&cells))?;
        }
        Ok(())
    }

    /// The bytes it keeps.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

fn push(bytes: &mut Vec<u8>, value: ValueRef<'_>) -> Result<()> {
    let mut fixed = |kind: u8, payload: &[u8]| {
        bytes.push(kind);
        bytes.extend_from_slice(payload);
    };
    let mut signed = |number: i64| fixed(b'i', &number.to_le_bytes());
    match value {
        ValueRef::Null => fixed(b'n', &[]),
        ValueRef::Boolean(value) => fixed(if value { b't' } else { b'f' }, &[]),
        ValueRef::TinyInt(number) => signed(number.into()),
        ValueRef::SmallInt(number) => signed(number.into()),
        ValueRef::Int(number) => signed(number.into()),
        ValueRef::BigInt(number) => signed(number),
        ValueRef::UTinyInt(number) => signed(number.into()),
        ValueRef::USmallInt(number) => signed(number.into()),
        ValueRef::UInt(number) => signed(number.into()),
        ValueRef::UBigInt(number) => fixed(b'u', &number.to_le_bytes()),
        ValueRef::HugeInt(number) => fixed(b'h', &number.to_le_bytes()),
        ValueRef::Float(number) => fixed(b'd', &f64::from(number).to_le_bytes()),
        ValueRef::Double(number) => fixed(b'd', &number.to_le_bytes()),
        ValueRef::Text(text) => {
            fixed(b's', &u32::try_from(text.len()).context("a text of an answer")?.to_le_bytes());
            bytes.extend_from_slice(text);
        }
        ValueRef::Blob(blob) => {
            fixed(b'b', &u32::try_from(blob.len()).context("a blob of an answer")?.to_le_bytes());
            bytes.extend_from_slice(blob);
        }
        other => bail!("an answer has a column of the type {}", other.data_type()),
    }
    Ok(())
}

/// The next cell; `None` when there is none left that is whole.
fn cell<'b>(rest: &mut &'b [u8]) -> Option<ValueRef<'b>> {
    fn fixed<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
        let (payload, behind) = rest.split_first_chunk()?;
        *rest = behind;
        Some(*payload)
    }
    let [kind] = fixed(rest)?;
    Some(match kind {
        b't' | b'f' => ValueRef::Boolean(kind == b't'),
        b'i' => ValueRef::BigInt(i64::from_le_bytes(fixed(rest)?)),
        b'u' => ValueRef::UBigInt(u64::from_le_bytes(fixed(rest)?)),
        b'h' => ValueRef::HugeInt(i128::from_le_bytes(fixed(rest)?)),
        b'd' => ValueRef::Double(f64::from_le_bytes(fixed(rest)?)),
        b's' => {
            let length = u32::from_le_bytes(fixed(rest)?) as usize;
            let (text, behind) = rest.split_at_checked(length)?;
            *rest = behind;
            ValueRef::Text(text)
        }
        b'b' => {
            let length = u32::from_le_bytes(fixed(rest)?) as usize;
            let (blob, behind) = rest.split_at_checked(length)?;
            *rest = behind;
            ValueRef::Blob(blob)
        }
        _ => ValueRef::Null,
    })
}

/// One row of an answer. Columns are read by number, in the order in which the file lists them.
pub struct Row<'r>(&'r [ValueRef<'r>]);

impl Row<'_> {
    /// A whole number.
    pub fn integer(&self, column: usize) -> Result<i64> {
        self.get(column)
    }

    /// The id of an event, session or visit.
    pub fn id(&self, column: usize) -> Result<u64> {
        self.get(column)
    }

    /// A whole number or NULL.
    pub fn optional_integer(&self, column: usize) -> Result<Option<i64>> {
        self.get(column)
    }

    /// Whether it is so, or NULL.
    pub fn optional_boolean(&self, column: usize) -> Result<Option<bool>> {
        self.get(column)
    }

    /// A text.
    pub fn text(&self, column: usize) -> Result<String> {
        self.get(column)
    }

    /// Bytes as they are.
    pub fn bytes(&self, column: usize) -> Result<Vec<u8>> {
        self.get(column)
    }

    /// A number with a fraction.
    pub fn number(&self, column: usize) -> Result<f64> {
        self.get(column)
    }

    /// A number with a fraction, or NULL.
    pub fn optional_number(&self, column: usize) -> Result<Option<f64>> {
        self.get(column)
    }

    /// True or false.
    pub fn boolean(&self, column: usize) -> Result<bool> {
        self.get(column)
    }

    /// Whether there is no value.
    pub fn is_null(&self, column: usize) -> Result<bool> {
        let value = self.0.get(column).context("a column of the answer")?;
        Ok(matches!(value, ValueRef::Null))
    }

    /// A text or NULL.
    pub fn optional_text(&self, column: usize) -> Result<Option<String>> {
        self.get(column)
    }

    fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        let value =
            self.0.get(column).with_context(|| format!("an answer without column {column}"))?;
        T::column_result(*value).with_context(|| format!("column {column} of the answer"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_engine_gave_is_read_again() {
        let connection = duckdb::Connection::open_in_memory().expect("opens");
        let sql = "SELECT * FROM (VALUES
            (NULL, true, -7::TINYINT, 9::USMALLINT, 18446744073709551615::UBIGINT, 5::HUGEINT, 0.5::FLOAT, 1e300::DOUBLE, ''),
            (NULL, false, 8, 0, 0, -5, -0.25, 'nan'::DOUBLE, 'für ''Sie'' 🦆'))";
        let mut statement = connection.prepare(sql).expect("prepares");
        let rows = Rows::take(&mut statement.query([]).expect("runs")).expect("kinds we keep");
        let read = |row: &Row<'_>| {
            assert!(row.is_null(0)? && row.text(9).is_err() && row.integer(8).is_err());
            Ok(format!(
                "{:?} {} {} {} {} {} {} {} {}",
                row.optional_text(0)?,
                row.boolean(1)?,
                row.integer(2)?,
                row.integer(3)?,
                row.id(4)?,
                row.integer(5)?,
                row.number(6)?,
                row.number(7)? > 1.0,
                row.text(8)?
            ))
        };
        for _ in 0..2 {
            let answer = rows.read(read).expect("reads");
            let expected = [
                "None true -7 9 18446744073709551615 5 0.5 true ",
                "None false 8 0 0 -5 -0.25 false für 'Sie' 🦆",
            ];
            assert_eq!(answer, expected);
        }
        let mut statement = connection.prepare("SELECT [1]").expect("prepares");
        assert!(Rows::take(&mut statement.query([]).expect("runs")).is_err());
    }
}
