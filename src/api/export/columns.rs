//! The columns of an exported event: their names, which are those of the API, and what is in them. They stand in the
//! order of `sql/query/export.sql`; a test holds the two against each other.

use anyhow::Result;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::clock;
use crate::identity::uuid_of;
use crate::store::question::Row;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An id of an event, session or visit, shown as a UUID.
    Id,
    /// A time in ms since 1970 UTC, shown as `2026-03-01T00:00:00.000Z`.
    Time,
    Integer,
    Number,
    Text,
    /// A JSON object.
    Json,
}

/// Every column.
pub const COLUMNS: [(&str, Kind); 36] = [
    ("id", Kind::Id),
    ("createdAt", Kind::Time),
    ("eventType", Kind::Integer),
    ("sessionId", Kind::Id),
    ("visitId", Kind::Id),
    ("hostname", Kind::Text),
    ("urlPath", Kind::Text),
    ("urlQuery", Kind::Text),
    ("pageTitle", Kind::Text),
    ("referrerDomain", Kind::Text),
    ("referrerPath", Kind::Text),
    ("referrerQuery", Kind::Text),
    ("channel", Kind::Text),
    ("utmSource", Kind::Text),
    ("utmMedium", Kind::Text),
    ("utmCampaign", Kind::Text),
    ("utmContent", Kind::Text),
    ("utmTerm", Kind::Text),
    ("clickId", Kind::Text),
    ("eventName", Kind::Text),
    ("tag", Kind::Text),
    ("distinctId", Kind::Text),
    ("browser", Kind::Text),
    ("os", Kind::Text),
    ("device", Kind::Text),
    ("screen", Kind::Text),
    ("language", Kind::Text),
    ("country", Kind::Text),
    ("region", Kind::Text),
    ("city", Kind::Text),
    ("lcp", Kind::Number),
    ("inp", Kind::Number),
    ("cls", Kind::Number),
    ("fcp", Kind::Number),
    ("ttfb", Kind::Number),
    ("properties", Kind::Json),
];

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Nothing,
    Integer(i64),
    Number(f64),
    Text(String),
    Json(String),
}

impl Cell {
    /// Reads a column as people see it.
    pub fn read(row: &Row<'_>, column: usize, kind: Kind) -> Result<Self> {
        if row.is_null(column)? {
            return Ok(Self::Nothing);
        }
        Ok(match kind {
            Kind::Id => Self::Text(uuid_of(row.id(column)?).to_string()),
            Kind::Time => Self::Text(clock::iso(row.integer(column)?)),
            Kind::Integer => Self::Integer(row.integer(column)?),
            Kind::Number => Self::Number(row.number(column)?),
            Kind::Text => Self::Text(row.text(column)?),
            Kind::Json => Self::Json(row.text(column)?),
        })
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_none(),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Json(text) => match serde_json::from_str::<Value>(text) {
                Ok(value) => value.serialize(serializer),
                Err(_) => serializer.serialize_str(text),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sql;

    #[test]
    fn the_columns_are_those_of_the_file() {
        let body = sql::EXPORT.rsplit("\nSELECT\n").next().expect("a last statement");
        let list = body.split("FROM").next().expect("its columns");
        let of_file: Vec<&str> =
            list.split(',').filter_map(|column| column.trim().rsplit('.').next()).collect();
        let snake = |name: &str| {
            name.chars().fold(String::new(), |snake, letter| {
                let mark = if letter.is_uppercase() { "_" } else { "" };
                snake + mark + &letter.to_lowercase().to_string()
            })
        };
        let ours: Vec<String> = COLUMNS.iter().map(|(name, _)| snake(name)).collect();
        assert_eq!((of_file[0], ours[0].as_str()), ("event_id", "id"));
        assert_eq!(of_file[1..], ours[1..]);
    }
}
