//! Filters: which rows a question looks at. A closed set of columns and operators becomes constant SQL text with
//! names `$f0`, `$f1`, …; what the client sent is only ever a bound value behind such a name.
//!
//! A filter is `name=operator.value` (`operator.rs`); without an operator the whole value must be equal. Digits behind
//! a name (`path1=`) give several filters of one column. All must hold, or with `match=any` one of them. A row without
//! a value counts as one with the empty value: `neq`, `dnc` and `nre` keep it, and an empty `eq` finds it.

use std::fmt::Write as _;

use uuid::Uuid;

use super::column::Column;
use super::operator::{Operator, Values};
use super::params::{DateRange, Query};
use super::segment::Parameters;
use super::timezone::Timezone;
use crate::error::ApiError;
use crate::limits;
use crate::store::question::{Bind, Question};
use crate::store::reader::{Readers, StoreError};
use crate::store::sql;
use crate::websites::Website;

/// Rows whose referrer is another host than the page's own (its name without a leading `www.`).
pub const FOREIGN_REFERRER: &str = "referrer_domain IS DISTINCT FROM \
    CASE WHEN starts_with(hostname, 'www.') THEN substr(hostname, 5) ELSE hostname END";

/// Rows of visits with more than one page view in the range.
const ENGAGED: &str = "(session_id, visit_id) IN (SELECT (session_id, visit_id) FROM facts.event \
    WHERE website_key = $website_key AND created_at BETWEEN $start_at AND $end_at AND event_type = 1 \
    GROUP BY session_id, visit_id HAVING count(*) > 1)";

/// Predicates and their values, ready for a [`Question`].
#[derive(Debug)]
pub struct Filters {
    /// Alternatives or conditions on columns, each in brackets.
    columns: Vec<String>,
    /// What holds beside them, whatever `match` says.
    always: String,
    any: bool,
    values: Values,
    patterns: Vec<String>,
    /// The segment and the cohort that are still to be looked up.
    segment: Option<Uuid>,
    cohort: Option<Uuid>,
    timezone: Timezone,
    event_type: Option<i64>,
    exclude_bounce: bool,
}

impl Filters {
    /// None yet; the names of their values begin with `letter`.
    #[must_use]
    pub fn new(letter: char) -> Self {
        Self {
            columns: Vec::new(),
            always: String::new(),
            any: false,
            values: Values::new(letter),
            patterns: Vec::new(),
            segment: None,
            cohort: None,
            timezone: Timezone::utc(),
            event_type: None,
            exclude_bounce: false,
        }
    }

    /// From the query's parameters; names that are not filters are left alone.
    ///
    /// # Errors
    /// When a filter is too long or malformed.
    pub fn from_query(query: &Query) -> Result<Self, ApiError> {
        let mut filters = Self::new('f');
        if let Some(name) = query.get("match") {
            filters.set_match(name)?;
        }
        filters.segment = id_of(query, "segment")?;
        filters.cohort = id_of(query, "cohort")?;
        if let Some(timezone) = Timezone::from_query(query)? {
            filters.timezone = timezone;
        }
        for (name, value) in query.iter() {
            if let Some(column) = Column::of_parameter(name) {
                let (operator, negated, value) = Operator::split(value);
                filters.add(column, operator, negated, value)?;
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

    /// Whether one of the filters is enough.
    ///
    /// # Errors
    /// When it is neither `all` nor `any`.
    pub fn set_match(&mut self, name: &str) -> Result<(), ApiError> {
        self.any = match name {
            "all" => false,
            "any" => true,
            _ => return Err(ApiError::bad_request("Invalid match: expected all or any")),
        };
        Ok(())
    }

    /// One more filter.
    ///
    /// # Errors
    /// When there are too many filters or values, or one is too long.
    pub fn add(
        &mut self,
        column: Column,
        operator: Operator,
        negated: bool,
        value: &str,
    ) -> Result<(), ApiError> {
        if self.columns.len() == limits::FILTERS_MAX || value.len() > limits::FILTER_BYTES_MAX {
            return Err(ApiError::bad_request("Too many filters, or one is too long"));
        }
        if value.split(',').count() > limits::FILTER_VALUES_MAX {
            return Err(ApiError::bad_request("Too many values in one filter"));
        }
        if operator == Operator::Matches {
            self.patterns.push(value.to_owned());
        }
        let mut predicate = self.values.predicate(column, operator, negated, value);
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
        let name = self.values.name(text);
        let _ = write!(self.always, " AND contains(lower({expression}), lower({name}))");
        Ok(())
    }

    /// Beside whatever `match` says, rows whose column is this value (`*` stands for any characters).
    pub fn require_value(&mut self, column: Column, value: &str) {
        let predicate = self.values.one_of(column.sql(), &[value], true);
        let _ = write!(self.always, " AND ({predicate})");
    }

    /// Beside whatever `match` says, rows of sessions that the statement names; its parameters are those of the
    /// question.
    pub fn require_session_of(&mut self, statement: &'static str) {
        let _ = write!(self.always, " AND session_id IN ({statement})");
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

    /// Only sessions that have a row in a range for which the other filters hold. Their values need names of another
    /// letter.
    pub fn of_sessions(&mut self, others: Self, range: DateRange) {
        let predicates = others.predicates();
        self.patterns.extend(others.patterns);
        self.values.take(others.values);
        let (since, until) = (self.values.name(range.start_at), self.values.name(range.end_at));
        let _ = write!(
            self.always,
            " AND session_id IN (SELECT session_id FROM facts.event WHERE website_key = $website_key \
             AND created_at BETWEEN {since} AND {until} {predicates})"
        );
    }

    /// The conditions, each beginning with `AND`.
    #[must_use]
    pub fn predicates(&self) -> String {
        let mut predicates = String::new();
        if !self.columns.is_empty() {
            let operator = if self.any { " OR " } else { " AND " };
            let _ = write!(predicates, "AND ({})", self.columns.join(operator));
        }
        predicates.push_str(&self.always);
        if self.exclude_bounce {
            let _ = write!(predicates, " AND {ENGAGED}");
        }
        if self.event_type.is_some() {
            predicates.push_str(" AND event_type = $event_type");
        }
        predicates
    }

    /// The values of the conditions.
    #[must_use]
    pub fn bound(&self) -> Vec<(String, Bind)> {
        let event_type =
            self.event_type.map(|number| ("event_type".to_owned(), Bind::from(number)));
        self.values.bound().iter().cloned().chain(event_type).collect()
    }

    /// The question about the rows that are left.
    #[must_use]
    pub fn apply(&self, question: Question) -> Question {
        question.filters(&self.predicates(), &self.bound())
    }

    /// Completes them with the segment and the cohort of the website that are asked for, and lets the engine look at
    /// the regular expressions.
    ///
    /// # Errors
    /// 400 when there is no such segment or cohort, or the engine does not accept an expression.
    pub async fn check(&mut self, readers: &Readers, website: Website) -> Result<(), ApiError> {
        for (kind, id) in [("segment", self.segment), ("cohort", self.cohort)] {
            let Some(id) = id else { continue };
            let question = Question::new(sql::SAVED)
                .bind("website_key", website.key)
                .bind("id", id.to_string())
                .bind("type", kind);
            let found = readers.ask(question, |row| row.text(0)).await?.pop();
            let message = || ApiError::BadRequest(format!("There is no such {kind}"));
            let parameters = Parameters::parse(&found.ok_or_else(message)?)?;
            if kind == "segment" {
                parameters.add_to(self)?;
            } else {
                let (others, range) = parameters.cohort(&self.timezone)?;
                self.of_sessions(others, range);
            }
        }
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
}

fn id_of(query: &Query, name: &str) -> Result<Option<Uuid>, ApiError> {
    let invalid = |_| ApiError::BadRequest(format!("Invalid {name}: expected a UUID"));
    query.get(name).map(|id| Uuid::try_parse(id).map_err(invalid)).transpose()
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
                filters.values.bound().iter().map(|(_, bind)| bind.clone()).collect::<Vec<_>>(),
                values
            );
        }
    }
}
