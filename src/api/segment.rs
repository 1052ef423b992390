//! What a segment or a cohort says: filters that were given a name. A segment's filters are added to those of the
//! question, and its `match` holds for all of them. A cohort is the sessions that, in a range of its own, have one
//! event that meets its filters and is its action.

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use serde::Deserialize;
use serde_json::Value;

use super::column::Column;
use super::filter::Filters;
use super::operator::Operator;
use super::params::DateRange;
use super::timezone::{Edge, Timezone};
use crate::clock;
use crate::error::ApiError;

/// The parameters as they are kept. What is not here is kept too, and means nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Parameters {
    filters: Vec<Filter>,
    r#match: Option<String>,
    date_range: Option<String>,
    action: Option<Action>,
}

#[derive(Debug, Deserialize)]
struct Filter {
    name: String,
    #[serde(default = "equal")]
    operator: String,
    #[serde(default)]
    value: Value,
}

#[derive(Debug, Deserialize)]
struct Action {
    r#type: String,
    value: String,
}

fn equal() -> String {
    "eq".to_owned()
}

impl Parameters {
    /// From a JSON object.
    ///
    /// # Errors
    /// When a field has another type, or an operator or `match` does not exist.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let parameters: Self = serde_json::from_str(text)
            .map_err(|error| ApiError::BadRequest(format!("Invalid parameters: {error}")))?;
        for filter in &parameters.filters {
            if Operator::of_name(&filter.operator).is_none() {
                return Err(ApiError::bad_request("Invalid parameters: unknown operator"));
            }
        }
        if let Some(name) = &parameters.r#match {
            Filters::new('f').set_match(name)?;
        }
        Ok(parameters)
    }

    /// Adds the filters.
    ///
    /// # Errors
    /// When one has no known name, or there are too many.
    pub fn add_to(&self, filters: &mut Filters) -> Result<(), ApiError> {
        if let Some(name) = &self.r#match {
            filters.set_match(name)?;
        }
        for filter in &self.filters {
            let column = Column::of_name(&filter.name).ok_or_else(|| {
                ApiError::bad_request("The segment filters by a column that does not exist")
            })?;
            let operator = Operator::of_name(&filter.operator);
            let (operator, negated) = operator.unwrap_or((Operator::Equal, false));
            filters.add(column, operator, negated, &text(&filter.value))?;
        }
        Ok(())
    }

    /// The cohort: what one of a session's rows must be, and in which range. Days are those of the zone.
    ///
    /// # Errors
    /// As [`Parameters::add_to`], or when the range means nothing.
    pub fn cohort(&self, timezone: &Timezone) -> Result<(Filters, DateRange), ApiError> {
        let mut filters = Filters::new('c');
        self.add_to(&mut filters)?;
        if let Some(action) = &self.action {
            let column = if action.r#type == "path" { Column::Path } else { Column::Event };
            filters.require_value(column, &action.value);
        }
        let name = self.date_range.as_deref().unwrap_or("all");
        let range = named_range(name, timezone, clock::now_ms());
        let message = || ApiError::bad_request("The cohort has a range that means nothing");
        Ok((filters, range.ok_or_else(message)?))
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// `range:START:END` in ms; `0day` (today), `7day` (today and the seven days before), the same with `hour`, `week`
/// (from Sunday), `month` and `year`; `all`.
fn named_range(name: &str, timezone: &Timezone, now_ms: i64) -> Option<DateRange> {
    if let Some((start, end)) = name.strip_prefix("range:").and_then(|ends| ends.split_once(':')) {
        let instant = |text: &str| text.parse().ok().map(DateRange::within_calendar);
        return Some(DateRange { start_at: instant(start)?, end_at: instant(end)? });
    }
    if name == "all" {
        return Some(DateRange { start_at: 0, end_at: now_ms });
    }
    let digits = name.find(|letter: char| !letter.is_ascii_digit())?;
    let count: i32 = name[..digits].parse().ok().filter(|count| *count <= 10_000)?;
    if &name[digits..] == "hour" {
        let hour_ms = 3_600_000;
        let start_at = now_ms.div_euclid(hour_ms) * hour_ms - i64::from(count) * hour_ms;
        return Some(DateRange {
            start_at,
            end_at: now_ms.div_euclid(hour_ms) * hour_ms + hour_ms - 1,
        });
    }
    let today: Date = timezone.local(Timestamp::from_millisecond(now_ms).ok()?).date();
    let days_into_week = i32::from(today.weekday().to_sunday_zero_offset());
    let (start, end) = match &name[digits..] {
        "day" => (today.checked_sub(count.days()).ok()?, today),
        "week" => {
            let sunday = today.checked_sub(days_into_week.days()).ok()?;
            (sunday.checked_sub(count.weeks()).ok()?, sunday.checked_add(6.days()).ok()?)
        }
        "month" => {
            let start = today.first_of_month().checked_sub(count.months()).ok()?;
            (start, today.last_of_month())
        }
        "year" => (today.first_of_year().checked_sub(count.years()).ok()?, today.last_of_year()),
        _ => return None,
    };
    Some(DateRange {
        start_at: timezone.instant(&start.to_string(), Edge::Start)?,
        end_at: timezone.instant(&end.to_string(), Edge::End)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::params::Query;

    #[test]
    fn a_range_has_a_name_or_two_ends() {
        let at = |text: &str| text.parse::<Timestamp>().expect("a time").as_millisecond();
        let now = at("2026-03-11T20:30:00Z"); // a Wednesday; already Thursday in Auckland
        let query = Query::parse("timezone=Pacific/Auckland").expect("decodes");
        let auckland = Timezone::from_query(&query).expect("a zone").expect("asked for");
        let cases = [
            ("range:5:9", "1970-01-01T00:00:00.005Z", "1970-01-01T00:00:00.009Z"),
            ("all", "1970-01-01T00:00:00Z", "2026-03-11T20:30:00Z"),
            ("2hour", "2026-03-11T18:00:00Z", "2026-03-11T20:59:59.999Z"),
            ("0day", "2026-03-11T11:00:00Z", "2026-03-12T10:59:59.999Z"),
            ("7day", "2026-03-04T11:00:00Z", "2026-03-12T10:59:59.999Z"),
            ("0week", "2026-03-07T11:00:00Z", "2026-03-14T10:59:59.999Z"),
            ("1month", "2026-01-31T11:00:00Z", "2026-03-31T10:59:59.999Z"),
            ("0year", "2025-12-31T11:00:00Z", "2026-12-31T10:59:59.999Z"),
        ];
        for (name, start, end) in cases {
            let expected = DateRange { start_at: at(start), end_at: at(end) };
            assert_eq!(named_range(name, &auckland, now), Some(expected), "{name}");
        }
        for name in
            ["", "day", "7", "7moon", "-1day", "99999999999day", "range:1", "range:a:b", "7d"]
        {
            assert_eq!(named_range(name, &auckland, now), None, "{name}");
        }
    }

    #[test]
    fn parameters_are_checked_when_they_are_kept() {
        for good in ["{}", r#"{"filters":[],"x":1}"#, r#"{"filters":[{"name":"os","value":3}]}"#] {
            assert!(Parameters::parse(good).is_ok(), "{good}");
        }
        for bad in [
            r#"{"filters":{}}"#,
            r#"{"filters":[{"name":"os","operator":"zz","value":"1"}]}"#,
            r#"{"match":"some"}"#,
            r#"{"action":"x"}"#,
        ] {
            assert!(Parameters::parse(bad).is_err(), "{bad}");
        }
    }
}
