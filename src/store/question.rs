//! A question and the rows of its answer, so that nobody outside `store` needs to name the engine. A question is a
//! file of `sql/query`, what was chosen in it, and the values bound to its names; the engine refuses it when a name
//! is missing or one too many, so that file and caller cannot drift apart unseen.

use std::borrow::Cow;

use anyhow::{Context, Result};
use duckdb::types::{FromSql, ToSqlOutput, Value};
use duckdb::{Connection, ToSql};

use super::sql;

/// A value that is bound to a name in the SQL.
#[derive(Clone, Debug, PartialEq)]
pub enum Bind {
    Boolean(bool),
    Integer(i64),
    /// Kept apart from [`Bind::Integer`]: compared with a wider number, a column is cast, and its statistics can no
    /// longer tell which row groups to skip.
    Unsigned(u32),
    /// An id of an event, session or visit.
    Id(u64),
    Text(String),
    Null,
}

impl<T: Into<Bind>> From<Option<T>> for Bind {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<u64> for Bind {
    fn from(value: u64) -> Self {
        Self::Id(value)
    }
}

impl From<bool> for Bind {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<i64> for Bind {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Bind {
    fn from(value: u32) -> Self {
        Self::Unsigned(value)
    }
}

impl From<&str> for Bind {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Bind {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl ToSql for Bind {
    fn to_sql(&self) -> duckdb::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Boolean(value) => ToSqlOutput::Owned(Value::Boolean(*value)),
            Self::Integer(value) => ToSqlOutput::Owned(Value::BigInt(*value)),
            Self::Unsigned(value) => ToSqlOutput::Owned(Value::UInt(*value)),
            Self::Id(value) => ToSqlOutput::Owned(Value::UBigInt(*value)),
            Self::Text(value) => value.as_str().into(),
            Self::Null => ToSqlOutput::Owned(Value::Null),
        })
    }
}

/// One question: a file of `sql/query`, what was chosen in it, and its values.
#[derive(Clone, Debug)]
pub struct Question {
    text: Cow<'static, str>,
    binds: Vec<(Cow<'static, str>, Bind)>,
}

impl Question {
    /// A question as it stands in its file.
    #[must_use]
    pub fn new(text: &'static str) -> Self {
        Self { text: Cow::Borrowed(text), binds: Vec::new() }
    }

    /// Chooses the column, an expression out of a closed enum.
    #[must_use]
    pub fn column(mut self, column: &'static str) -> Self {
        self.text = Cow::Owned(sql::with_column(&self.text, column));
        self
    }

    /// As [`Question::column`], an expression made of constant parts and names, with the values they stand for.
    #[must_use]
    pub fn expression(mut self, expression: &str, binds: &[(String, Bind)]) -> Self {
        self.text = Cow::Owned(sql::with_column(&self.text, expression));
        self.bind_all(binds);
        self
    }

    fn bind_all(&mut self, binds: &[(String, Bind)]) {
        let named = |(name, bind): &(String, Bind)| (Cow::Owned(name.clone()), bind.clone());
        self.binds.extend(binds.iter().map(named));
    }

    /// Puts predicates in, with the values their names stand for. Once per question.
    #[must_use]
    pub fn filters(mut self, predicates: &str, binds: &[(String, Bind)]) -> Self {
        self.text = Cow::Owned(sql::with_filters(&self.text, predicates));
        self.bind_all(binds);
        self
    }

    /// Binds a value to `$name`. A name that is missing or not in the file is an error when asked.
    #[must_use]
    pub fn bind(mut self, name: &'static str, value: impl Into<Bind>) -> Self {
        self.binds.push((Cow::Borrowed(name), value.into()));
        self
    }

    /// Asks on a connection and reads the whole answer.
    pub(super) fn run<T>(&self, connection: &Connection, read: Read<T>) -> Result<Vec<T>> {
        let mut statement = connection.prepare(&self.text)?;
        let binds: Vec<(&str, &dyn ToSql)> =
            self.binds.iter().map(|(name, bind)| (name.as_ref(), bind as &dyn ToSql)).collect();
        let mut rows = statement.query(binds.as_slice())?;
        let mut answer = Vec::new();
        while let Some(row) = rows.next()? {
            answer.push(read(&Row(row))?);
        }
        Ok(answer)
    }
}

/// What a row is turned into; a plain function, so that it can go to another thread.
pub type Read<T> = fn(&Row<'_>) -> Result<T>;

/// One row of an answer. Columns are read by number, in the order in which the file lists them.
pub struct Row<'r>(&'r duckdb::Row<'r>);

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
        let value = self.0.get_ref(column);
        Ok(matches!(value.context("a column of the answer")?, duckdb::types::ValueRef::Null))
    }

    /// A text or NULL.
    pub fn optional_text(&self, column: usize) -> Result<Option<String>> {
        self.get(column)
    }

    fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        self.0.get(column).with_context(|| format!("column {column} of the answer"))
    }
}
