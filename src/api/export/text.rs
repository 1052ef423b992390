//! The two forms that are text: CSV (RFC 4180, UTF-8, one line of names first) and NDJSON (one object a line).
//!
//! What must stay true: a text that a spreadsheet would take for a formula begins with an apostrophe in CSV, since the
//! one who opens the file is not the one who sent the event. NDJSON says what is there and nothing else.

use anyhow::Result;
use serde::Serializer as _;
use serde::ser::SerializeMap;

use super::columns::{COLUMNS, Cell};
use super::stream::Encoder;
use crate::store::question::Row;

/// A table as CSV, in memory until it is taken.
pub struct Csv(csv::Writer<Vec<u8>>);

impl Csv {
    /// One with the names of its columns as the first line.
    ///
    /// # Errors
    /// Never in practice: memory takes everything.
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self> {
        let mut writer = Self::writer();
        writer.write_record(names)?;
        Ok(Self(writer))
    }

    fn writer() -> csv::Writer<Vec<u8>> {
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new())
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When it has more or fewer cells than the first one.
    pub fn line<'c>(&mut self, cells: impl IntoIterator<Item = &'c Cell>) -> Result<()> {
        for cell in cells {
            match cell {
                Cell::Nothing => self.0.write_field("")?,
                Cell::Integer(number) => self.0.write_field(number.to_string())?,
                Cell::Number(number) => self.0.write_field(number.to_string())?,
                Cell::Text(text) | Cell::Json(text) if is_formula(text) => {
                    self.0.write_field(format!("'{text}"))?;
                }
                Cell::Text(text) | Cell::Json(text) => self.0.write_field(text)?,
            }
        }
        self.0.write_record(None::<&[u8]>)?;
        Ok(())
    }

    /// What has been written since the last time.
    ///
    /// # Errors
    /// Never in practice, as above.
    pub fn take(&mut self) -> Result<Vec<u8>> {
        let full = std::mem::replace(&mut self.0, Self::writer());
        full.into_inner().map_err(|error| anyhow::anyhow!("{error}"))
    }
}

/// Whether a spreadsheet may take it for one.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n'])
}

impl Encoder for Csv {
    fn row(&mut self, row: &Row<'_>) -> Result<()> {
        self.line(&cells(row)?)
    }

    fn take(&mut self) -> Result<Vec<u8>> {
        Self::take(self)
    }
}

/// One JSON object a line.
#[derive(Default)]
pub struct Ndjson(Vec<u8>);

impl Encoder for Ndjson {
    fn row(&mut self, row: &Row<'_>) -> Result<()> {
        let mut json = serde_json::Serializer::new(&mut self.0);
        let mut map = json.serialize_map(Some(COLUMNS.len()))?;
        for ((name, _), cell) in COLUMNS.iter().zip(cells(row)?) {
            map.serialize_entry(name, &cell)?;
        }
        map.end()?;
        self.0.push(b'\n');
        Ok(())
    }

    fn take(&mut self) -> Result<Vec<u8>> {
        Ok(std::mem::take(&mut self.0))
    }
}

fn cells(row: &Row<'_>) -> Result<Vec<Cell>> {
    let columns = COLUMNS.iter().enumerate();
    columns.map(|(column, (_, kind))| Cell::read(row, column, *kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_quoted_where_it_must_be_and_is_never_a_formula() {
        let cases = [
            ("plain", "plain"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("+49", "'+49"),
            ("-1", "'-1"),
            ("@x", "'@x"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\r=1\""),
            ("a=1", "a=1"),
            ("café", "café"),
        ];
        for (text, expected) in cases {
            let mut csv = Csv::new(["x"]).expect("memory");
            csv.line(&[Cell::Text(text.to_owned())]).expect("one cell");
            let written = String::from_utf8(csv.take().expect("memory")).expect("UTF-8");
            assert_eq!(written, format!("x\r\n{expected}\r\n"), "{text:?}");
        }
        let mut csv = Csv::new(["x", "y"]).expect("memory");
        csv.line(&[Cell::Integer(-1), Cell::Number(-0.5)]).expect("two cells");
        csv.line(&[Cell::Nothing, Cell::Nothing]).expect("two cells");
        assert_eq!(csv.take().expect("memory"), b"x,y\r\n-1,-0.5\r\n,\r\n");
        assert!(csv.take().expect("memory").is_empty());
    }
}
