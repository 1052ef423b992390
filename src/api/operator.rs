//! How a filter compares: the closed set of operators, and what each becomes in SQL. The text is constant but for the
//! names of columns and of bound values; a value is only ever bound.

use super::column::Column;
use crate::error::ApiError;
use crate::limits;
use crate::store::question::Bind;

/// How a column is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equal,
    Contains,
    Matches,
    /// Has a value.
    Set,
    /// Is the text `true` or `false`.
    Is(&'static str),
    /// As a number: `>`, `<`, `>=`, `<=`.
    Number(&'static str),
    /// As a date or a time: `<`, `>`.
    Time(&'static str),
}

/// The operators by their names, and whether the answer is turned round.
const OPERATORS: [(&str, Operator, bool); 16] = [
    ("eq", Operator::Equal, false),
    ("neq", Operator::Equal, true),
    ("c", Operator::Contains, false),
    ("dnc", Operator::Contains, true),
    ("re", Operator::Matches, false),
    ("nre", Operator::Matches, true),
    ("s", Operator::Set, false),
    ("ns", Operator::Set, true),
    ("t", Operator::Is("true"), false),
    ("f", Operator::Is("false"), false),
    ("gt", Operator::Number(">"), false),
    ("lt", Operator::Number("<"), false),
    ("gte", Operator::Number(">="), false),
    ("lte", Operator::Number("<="), false),
    ("bf", Operator::Time("<"), false),
    ("af", Operator::Time(">"), false),
];

impl Operator {
    /// By its name, and whether it is turned round.
    #[must_use]
    pub fn of_name(name: &str) -> Option<(Self, bool)> {
        let (_, operator, negated) = OPERATORS.into_iter().find(|(known, ..)| *known == name)?;
        Some((operator, negated))
    }

    /// Splits `operator.value`. What has no operator, or a value that the operator cannot mean (`t.co`, `s.example`,
    /// `gt.x`), is a value to be equal to.
    #[must_use]
    pub fn split(text: &str) -> (Self, bool, &str) {
        let found = text.split_once('.').and_then(|(name, value)| {
            let (operator, negated) = Self::of_name(name)?;
            operator.can_mean(value).then_some((operator, negated, value))
        });
        found.unwrap_or((Self::Equal, false, text))
    }

    fn can_mean(self, value: &str) -> bool {
        match self {
            Self::Equal | Self::Contains | Self::Matches => true,
            Self::Set | Self::Is(_) => value.is_empty(),
            Self::Number(_) => value.parse::<f64>().is_ok(),
            Self::Time(_) => {
                value.parse::<jiff::civil::Date>().is_ok()
                    || value.parse::<jiff::Timestamp>().is_ok()
            }
        }
    }
}

/// The values of predicates, each with a name of its own: a letter and a number.
#[derive(Debug)]
pub struct Values {
    letter: char,
    bound: Vec<(String, Bind)>,
}

impl Values {
    #[must_use]
    pub fn new(letter: char) -> Self {
        Self { letter, bound: Vec::new() }
    }

    /// Binds a value and gives it a name, `$f0`.
    pub fn name(&mut self, value: impl Into<Bind>) -> String {
        let name = format!("{}{}", self.letter, self.bound.len());
        let placeholder = format!("${name}");
        self.bound.push((name, value.into()));
        placeholder
    }

    /// What was bound.
    #[must_use]
    pub fn bound(&self) -> &[(String, Bind)] {
        &self.bound
    }

    /// Takes what others have bound under another letter.
    pub fn take(&mut self, others: Self) {
        self.bound.extend(others.bound);
    }

    /// Equal to one of the values. In a path (or with `wild` in anything) `*` stands for any characters.
    pub fn one_of(&mut self, subject: &str, values: &[&str], wild: bool) -> String {
        let (patterns, exact): (Vec<&str>, Vec<&str>) =
            values.iter().partition(|value| wild && value.contains('*'));
        let mut alternatives = Vec::with_capacity(patterns.len() + 1);
        for value in patterns {
            let name = self.name(wildcard_pattern(value));
            alternatives.push(format!("regexp_full_match({subject}, {name}, 's')"));
        }
        if !exact.is_empty() {
            let names: Vec<String> = exact.into_iter().map(|value| self.name(value)).collect();
            alternatives.push(format!("{subject} IN ({})", names.join(", ")));
        }
        alternatives.join(" OR ")
    }

    /// What a row must be to be a step of a report: of a page of this path, or a custom event of this name (any `kind`
    /// but `path`). In both `*` stands for any characters, as in filters.
    ///
    /// # Errors
    /// When the value is too long.
    pub fn step(&mut self, kind: &str, value: &str) -> Result<String, ApiError> {
        if value.len() > limits::FILTER_BYTES_MAX {
            return Err(ApiError::bad_request("Invalid step: too long"));
        }
        let (types, column) =
            if kind == "path" { ("1, 3, 4", "url_path") } else { ("2", "event_name") };
        let matched = self.one_of(column, &[value], true);
        Ok(format!("event_type IN ({types}) AND {matched}"))
    }

    /// What a column must be for an operator; for a negated one a row without a value counts as one with an empty
    /// value. `values` are the alternatives of [`Operator::Equal`], `value` is the whole text.
    pub fn predicate(
        &mut self,
        column: Column,
        operator: Operator,
        negated: bool,
        value: &str,
    ) -> String {
        let subject = column.subject(negated);
        let predicate = match operator {
            Operator::Equal => {
                let values: Vec<&str> = value.split(',').map(|value| column.meant(value)).collect();
                let subject = column.subject(negated || values.contains(&""));
                self.one_of(&subject, &values, column == Column::Path)
            }
            // Every value contains the empty text, if there is a value.
            Operator::Contains if value.is_empty() => format!("{} IS NOT NULL", column.sql()),
            Operator::Contains => {
                format!("contains(lower({subject}), lower({}))", self.name(value))
            }
            Operator::Matches => format!("regexp_matches({subject}, {}, 'i')", self.name(value)),
            Operator::Set => format!("{} <> ''", column.subject(true)),
            Operator::Is(word) => format!("{subject} = {}", self.name(word)),
            Operator::Number(sign) => {
                format!(
                    "try_cast({subject} AS DOUBLE) {sign} try_cast({} AS DOUBLE)",
                    self.name(value)
                )
            }
            Operator::Time(sign) => format!(
                "try_cast({subject} AS TIMESTAMP) {sign} try_cast({} AS TIMESTAMP)",
                self.name(value)
            ),
        };
        if negated { format!("NOT ({predicate})") } else { predicate }
    }
}

/// `*` becomes "any characters", every other character stands for itself. The engine's expressions take linear time,
/// whatever the number of stars.
fn wildcard_pattern(value: &str) -> String {
    let mut pattern = String::with_capacity(value.len() + 16);
    for character in value.chars() {
        match character {
            '*' => pattern.push_str(".*"),
            '\0' => pattern.push_str("\\x00"),
            punctuation
                if punctuation.is_ascii()
                    && !punctuation.is_ascii_alphanumeric()
                    && punctuation != '_' =>
            {
                pattern.extend(['\\', punctuation]);
            }
            letter => pattern.push(letter),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_one_only_before_what_it_can_mean() {
        let cases = [
            ("/a", (Operator::Equal, false, "/a")),
            ("eq.a.b", (Operator::Equal, false, "a.b")),
            ("dnc.", (Operator::Contains, true, "")),
            ("t.co", (Operator::Equal, false, "t.co")),
            ("s.", (Operator::Set, false, "")),
            ("ns.", (Operator::Set, true, "")),
            ("s.example", (Operator::Equal, false, "s.example")),
            ("gt.5", (Operator::Number(">"), false, "5")),
            ("gt.x", (Operator::Equal, false, "gt.x")),
            ("bf.2026-03-01", (Operator::Time("<"), false, "2026-03-01")),
            ("af.com", (Operator::Equal, false, "af.com")),
            ("zz.1", (Operator::Equal, false, "zz.1")),
        ];
        for (text, expected) in cases {
            assert_eq!(Operator::split(text), expected, "{text}");
        }
    }

    #[test]
    fn in_a_wildcard_only_the_star_is_special() {
        let cases =
            [("*", ".*"), ("a_B9é", "a_B9é"), ("[^.]$", "\\[\\^\\.\\]\\$"), ("\0", "\\x00")];
        for (value, pattern) in cases {
            assert_eq!(wildcard_pattern(value), pattern, "{value}");
        }
    }
}
