//! Filters: which rows a question looks at. A closed set of columns and operators becomes constant SQL text with
//! names `$f0`, `$f1`, …; what the client sent is only ever a bound value behind such a name.
//!
//! A filter is `name=operator.value`; without a known operator the whole value must be equal. Digits behind a name
//! (`path1=`) give several filters of one column. All must hold, or with `match=any` one of them. A row without a
//! value counts as one with the empty value: `neq`, `dnc` and `nre` keep it, and an empty `eq` finds it.

use std::fmt::Write as _;

use uuid::Uuid;

use super::column::Column;
use super::params::Query;
use crate::error::ApiError;
use crate::limits;
use crate::store::question::{Bind, Question};
use crate::store::reader::{Readers, StoreError};
use crate::store::sql;

/// Rows whose referrer is another host than the page's own (its name without a leading `www.`).
pub const FOREIGN_REFERRER: &str = "referrer_domain IS DISTINCT FROM \
    CASE WHEN starts_with(hostname, 'www.') THEN substr(hostname, 5) ELSE hostname END";

/// Rows of visits with more than one page view in the range.
const ENGAGED: &str = "(session_id, visit_id) IN (SELECT (session_id, visit_id) FROM facts.event \
    WHERE website_key = $website_key AND created_at BETWEEN $start_at AND $end_at AND event_type = 1 \
    GROUP BY session_id, visit_id HAVING count(*) > 1)";

/// How a column is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Contains,
    Matches,
}

/// The operators by their prefixes, and whether the answer is turned round.
const OPERATORS: [(&str, Operator, bool); 6] = [
    ("eq.", Operator::Equal, false),
    ("neq.", Operator::Equal, true),
    ("c.", Operator::Contains, false),
    ("dnc.", Operator::Contains, true),
    ("re.", Operator::Matches, false),
    ("nre.", Operator::Matches, true),
];

/// Predicates and their values, ready for a [`Question`].
#[derive(Debug, Default)]
pub struct Filters {
    /// Alternatives or conditions on columns, each in brackets.
    columns: Vec<String>,
    /// What holds beside them, whatever `match` says.
    always: String,
    any: bool,
    binds: Vec<(String, Bind)>,
    patterns: Vec<String>,
    event_type: Option<i64>,
    exclude_bounce: bool,
}

impl Filters {
    /// From the query's parameters; names that are not filters are left alone.
    ///
    /// # Errors
    /// When a filter is too long or malformed, or asks for a segment or cohort that does not exist.
    pub fn from_query(query: &Query) -> Result<Self, ApiError> {
        let mut filters = Self::default();
        match query.get("match") {
            None | Some("all") => {}
            Some("any") => filters.any = true,
            Some(_) => return Err(ApiError::bad_request("Invalid match: expected all or any")),
        }
        for name in ["segment", "cohort"] {
            if let Some(id) = query.get(name) {
                let known = Uuid::try_parse(id).map(|_| format!("There is no such {name}"));
                let message = known.unwrap_or_else(|_| format!("Invalid {name}: expected a UUID"));
                return Err(ApiError::BadRequest(message));
            }
        }
        for (name, value) in query.iter() {
            if let Some(column) = Column::of_parameter(name) {
                filters.add(column, value)?;
            }
        }
        if let Some(text) = query.get("eventType") {
            let event_type = text.trim().parse().ok().filter(|number: &i64| *number > 0);
            let error = || ApiError::bad_request("Invalid eventType: expected a number from 1");
            filters.event_type = Some(event_type.ok_or_else(error)?);
        }
        filters.exclude_bounce = query.get("excludeBounce").is_some_and(|text| !text.is_empty());
        Ok(filters)
    }

    /// One more filter, as `name=value` would give it.
    ///
    /// # Errors
    /// When there are too many filters or values, or one is too long.
    pub fn add(&mut self, column: Column, value: &str) -> Result<(), ApiError> {
        if self.columns.len() == limits::FILTERS_MAX || value.len() > limits::FILTER_BYTES_MAX {
            return Err(ApiError::bad_request("Too many filters, or one is too long"));
        }
        let known = OPERATORS.into_iter().find_map(|(prefix, operator, negated)| {
            Some((value.strip_prefix(prefix)?, operator, negated))
        });
        let (value, operator, negated) = known.unwrap_or((value, Operator::Equal, false));
        let mut predicate = match operator {
            Operator::Equal => self.equal(column, value, negated)?,
            Operator::Contains => self.contains(column, value, negated),
            Operator::Matches => self.matches(column, value, negated),
        };
        if negated {
            predicate = format!("NOT ({predicate})");
        }
        if column == Column::Referrer {
            predicate = format!("({predicate}) AND {FOREIGN_REFERRER}");
        }
        self.columns.push(format!("({predicate})"));
        Ok(())
    }

    /// Rows whose `column` contains a text, as a search box means it.
    ///
    /// # Errors
    /// When the text is too long.
    pub fn search(&mut self, expression: &'static str, text: &str) -> Result<(), ApiError> {
        if text.len() > limits::FILTER_BYTES_MAX {
            return Err(ApiError::bad_request("Invalid search: too long"));
        }
        let name = self.name(text);
        let _ = write!(self.always, " AND contains(lower({expression}), lower({name}))");
        Ok(())
    }

    /// One more constant condition.
    pub fn require(&mut self, predicate: &'static str) {
        let _ = write!(self.always, " AND {predicate}");
    }

    /// Whether visits of a single page view are left out.
    #[must_use]
    pub fn exclude_bounce(&self) -> bool {
        self.exclude_bounce
    }

    /// Forgets what is said about page views, for questions about custom events.
    #[must_use]
    pub fn of_custom_events(self) -> Self {
        Self { exclude_bounce: false, event_type: None, ..self }
    }

    /// Forgets what is said about bounces.
    #[must_use]
    pub fn with_bounces(self) -> Self {
        Self { exclude_bounce: false, ..self }
    }

    /// The question about the rows that are left.
    #[must_use]
    pub fn apply(&self, question: Question) -> Question {
        let mut predicates = String::new();
        if !self.columns.is_empty() {
            let operator = if self.any { " OR " } else { " AND " };
            let _ = write!(predicates, "AND ({})", self.columns.join(operator));
        }
        predicates.push_str(&self.always);
        if self.exclude_bounce {
            let _ = write!(predicates, " AND {ENGAGED}");
        }
        let Some(event_type) = self.event_type else {
            return question.filters(&predicates, &self.binds);
        };
        predicates.push_str(" AND event_type = $event_type");
        question.filters(&predicates, &self.binds).bind("event_type", event_type)
    }

    /// Lets the engine look at the regular expressions.
    ///
    /// # Errors
    /// 400 when it does not accept one.
    pub async fn check(&self, readers: &Readers) -> Result<(), ApiError> {
        for pattern in &self.patterns {
            let question = Question::new(sql::REGEX_CHECK).bind("pattern", pattern.as_str());
            match readers.ask(question, |_| Ok(())).await {
                Ok(_) => {}
                Err(StoreError::Engine(_)) => {
                    return Err(ApiError::bad_request("Invalid regular expression"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Equal to one of the values between commas. In a path `*` stands for any characters.
    fn equal(&mut self, column: Column, value: &str, negated: bool) -> Result<String, ApiError> {
        let values: Vec<&str> = value.split(',').map(|value| column.meant(value)).collect();
        if values.len() > limits::FILTER_VALUES_MAX {
            return Err(ApiError::bad_request("Too many values in one filter"));
        }
        let subject = column.subject(negated || values.contains(&""));
        let (wild, exact): (Vec<&str>, Vec<&str>) =
            values.into_iter().partition(|value| column == Column::Path && value.contains('*'));
        let mut alternatives = Vec::with_capacity(wild.len() + 1);
        for value in wild {
            let name = self.name(wildcard_pattern(value));
            alternatives.push(format!("regexp_full_match({subject}, {name}, 's')"));
        }
        if !exact.is_empty() {
            let names: Vec<String> = exact.into_iter().map(|value| self.name(value)).collect();
            alternatives.push(format!("{subject} IN ({})", names.join(", ")));
        }
        Ok(alternatives.join(" OR "))
    }

    /// Contains the text, whatever its case; no character is special. Every value contains the empty text, if there
    /// is a value.
    fn contains(&mut self, column: Column, value: &str, negated: bool) -> String {
        if value.is_empty() {
            return format!("{} IS NOT NULL", column.sql());
        }
        let name = self.name(value);
        format!("contains(lower({}), lower({name}))", column.subject(negated))
    }

    /// Matches the regular expression somewhere, whatever its case.
    fn matches(&mut self, column: Column, value: &str, negated: bool) -> String {
        self.patterns.push(value.to_owned());
        let name = self.name(value);
        format!("regexp_matches({}, {name}, 'i')", column.subject(negated))
    }

    /// Binds a value and gives it a name.
    fn name(&mut self, value: impl Into<Bind>) -> String {
        let name = format!("f{}", self.binds.len());
        let placeholder = format!("${name}");
        self.binds.push((name, value.into()));
        placeholder
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
    fn a_filter_is_constant_text_and_its_values_have_names() {
        let cases = [
            ("path=/a", "(url_path IN ($f0))", vec!["/a"]),
            ("path=neq./a,/b", "(NOT (coalesce(url_path, '') IN ($f0, $f1)))", vec!["/a", "/b"]),
            ("os=(Unknown)", "(coalesce(os, '') IN ($f0))", vec![""]),
            ("tag=c.", "(tag IS NOT NULL)", vec![]),
            ("tag=c.x'y", "(contains(lower(tag), lower($f0)))", vec!["x'y"]),
            ("city=nre.^a", "(NOT (regexp_matches(coalesce(city, ''), $f0, 'i')))", vec!["^a"]),
            (
                "path=/a.b/*,/c",
                "(regexp_full_match(url_path, $f0, 's') OR url_path IN ($f1))",
                vec!["\\/a\\.b\\/.*", "/c"],
            ),
        ];
        for (query, predicate, values) in cases {
            let query = Query::parse(query).expect("decodes");
            let filters = Filters::from_query(&query).expect("filters");
            assert_eq!(filters.columns, [predicate]);
            let values: Vec<Bind> = values.into_iter().map(Bind::from).collect();
            assert_eq!(
                filters.binds.iter().map(|(_, bind)| bind.clone()).collect::<Vec<_>>(),
                values
            );
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
