//! A question and the rows of its answer, so that nobody outside `store` needs to name the engine. A question is a
//! file of `sql/query`, what was chosen in it, and the values bound to its names; the engine refuses it when a name
//! is missing or one too many, so that file and caller cannot drift apart unseen.

use std::borrow::Cow;

use anyhow::Result;
use duckdb::types::{ToSqlOutput, Value};
use duckdb::{Connection, ToSql};
use sha2::{Digest, Sha256};

pub use super::rows::{Read, Row, Rows};
use super::{answers, sql};

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
    once: bool,
}

impl Question {
    /// A question as it stands in its file.
    #[must_use]
    pub fn new(text: &'static str) -> Self {
        Self { text: Cow::Borrowed(text), binds: Vec::new(), once: false }
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

    /// Says that it is about a moment that will not come again: nobody will ask the same.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.once = true;
        self
    }

    /// The website whose events alone decide the answer; `None` when it is about anything else.
    pub(super) fn about(&self) -> Option<u32> {
        if self.once || !sql::reads_only_events(&self.text) {
            return None;
        }
        self.binds.iter().find_map(|(name, bind)| match bind {
            Bind::Unsigned(key) if name == "website_key" => Some(*key),
            _ => None,
        })
    }

    /// A hash of the statement and of every value with its name and kind.
    pub(super) fn key(&self) -> answers::Key {
        fn add(hash: &mut Sha256, part: &[u8]) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut hash = Sha256::new();
        add(&mut hash, self.text.as_bytes());
        for (name, bind) in &self.binds {
            add(&mut hash, name.as_bytes());
            match bind {
                Bind::Null => add(&mut hash, b"n"),
                Bind::Boolean(value) => add(&mut hash, &[b'b', u8::from(*value)]),
                Bind::Integer(number) => add(&mut hash, &tagged(b'i', number.to_le_bytes())),
                Bind::Unsigned(number) => {
                    add(&mut hash, &tagged(b'w', u64::from(*number).to_le_bytes()));
                }
                Bind::Id(number) => add(&mut hash, &tagged(b'u', number.to_le_bytes())),
                Bind::Text(text) => {
                    add(&mut hash, b"s");
                    add(&mut hash, text.as_bytes());
                }
            }
        }
        hash.finalize().into()
    }

    /// Asks on a connection and takes the whole answer.
    pub(super) fn run(&self, connection: &Connection) -> Result<Rows> {
        let mut statement = connection.prepare(&self.text)?;
        let binds: Vec<(&str, &dyn ToSql)> =
            self.binds.iter().map(|(name, bind)| (name.as_ref(), bind as &dyn ToSql)).collect();
        let mut rows = statement.query(binds.as_slice())?;
        Rows::take(&mut rows)
    }
}

fn tagged(kind: u8, number: [u8; 8]) -> [u8; 9] {
    let mut bytes = [kind; 9];
    bytes[1..].copy_from_slice(&number);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_the_same_only_when_all_of_them_is() {
        let ask = |name, bind: Bind| Question::new("SELECT 1 FROM facts.event").bind(name, bind);
        let questions = [
            ask("a", Bind::Null),
            ask("b", Bind::Null),
            ask("a", Bind::Boolean(false)),
            ask("a", Bind::Boolean(true)),
            ask("a", Bind::Integer(1)),
            ask("a", Bind::Unsigned(1)),
            ask("a", Bind::Id(1)),
            ask("a", Bind::Text("1".to_owned())),
            ask("a", Bind::Text("1".to_owned())).bind("b", Bind::Null),
            Question::new("SELECT 2").bind("a", Bind::Null),
        ];
        for (index, question) in questions.iter().enumerate() {
            let same = |other: &&Question| other.key() == question.key();
            assert_eq!(questions.iter().filter(same).count(), 1, "{index}");
            assert_eq!(question.key(), question.clone().key());
        }
    }

    #[test]
    fn only_questions_about_the_events_of_one_website_are_remembered() {
        let about = |text, bind: Bind| Question::new(text).bind("website_key", bind).about();
        assert_eq!(about("SELECT 1 FROM facts.event", Bind::Unsigned(7)), Some(7));
        assert_eq!(about("SELECT 1 FROM facts.event", Bind::Integer(7)), None);
        assert_eq!(about("SELECT 1 FROM facts.event, main.saved", Bind::Unsigned(7)), None);
        assert_eq!(about(sql::SAVED, Bind::Unsigned(7)), None);
        assert_eq!(Question::new(sql::STATS).about(), None);
        let once = Question::new(sql::STATS).bind("website_key", 7_u32).once();
        assert_eq!(once.about(), None);
    }
}
