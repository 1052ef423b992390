//! Query parameters, parsed once and valid ever after: [`DateRange`], [`Unit`], [`Compare`], [`Paging`], and in its
//! own file [`Timezone`]. What does not parse is answered 400 with what is wrong, before anybody is asked who they are.
//! Numbers are read as leniently as Umami's clients have learnt to expect; nothing here can overflow or loop.

use actix_web::{FromRequest, HttpRequest, dev::Payload, web};
use jiff::Timestamp;
use jiff::tz::Offset;
use serde_json::{Map, Value};

use super::timezone::{Edge, Timezone};
use crate::error::ApiError;
use crate::limits;

/// The earliest and latest instant a browser's clock can name, ms since 1970: ±100 million days.
const INSTANT_MS_MAX: i64 = 8_640_000_000_000_000;
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// The names and values of a query string. Of a name that is given twice the last one counts.
#[derive(Default)]
pub struct Query(Vec<(String, String)>);

impl FromRequest for Query {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        std::future::ready(Self::parse(request.query_string()))
    }
}

impl Query {
    /// Reads a query string.
    ///
    /// # Errors
    /// When it cannot be decoded.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let pairs = web::Query::<Vec<(String, String)>>::from_query(text);
        let pairs = pairs.map_err(|_| ApiError::bad_request("The query cannot be decoded"))?;
        let mut unique: Vec<(String, String)> = Vec::new();
        for (name, value) in pairs.into_inner() {
            if let Some(known) = unique.iter_mut().find(|(known, _)| *known == name) {
                known.1 = value;
            } else if unique.len() < limits::QUERY_NAMES_MAX {
                unique.push((name, value));
            } else {
                return Err(ApiError::bad_request("Too many query parameters"));
            }
        }
        Ok(Self(unique))
    }

    /// With names and values that came in a body, in the place of those of the same names: texts as they are,
    /// everything else as JSON.
    #[must_use]
    pub fn with_parameters(mut self, parameters: Map<String, Value>) -> Self {
        for (name, value) in parameters {
            let value = match value {
                Value::Null => continue,
                Value::String(text) => text,
                other => other.to_string(),
            };
            self.0.retain(|(known, _)| *known != name);
            self.0.push((name, value));
        }
        self
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// All names with their values, in the order in which they first came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a name that must be there.
    ///
    /// # Errors
    /// When it is not.
    pub fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.get(name).ok_or_else(|| invalid(name, "it is missing"))
    }

    /// A number as JavaScript reads one: an empty text is 0.
    ///
    /// # Errors
    /// When it is no number.
    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, ApiError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let text = text.trim();
        let value = if text.is_empty() { Ok(0.0) } else { text.parse::<f64>() };
        match value {
            Ok(value) if value.is_finite() => Ok(Some(value)),
            _ => Err(invalid(name, "expected a number")),
        }
    }
}

pub(super) fn invalid(name: &str, what: &str) -> ApiError {
    ApiError::bad_request(format!("Invalid {name}: {what}"))
}

/// A stretch of time in ms since 1970 UTC, both ends included. It may be empty (start after end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateRange {
    pub start_at: i64,
    pub end_at: i64,
}

impl DateRange {
    /// From `startAt` and `endAt` (ms), or from `startDate` and `endDate` (ISO dates or times; a date means the
    /// whole day in `timezone`).
    ///
    /// # Errors
    /// When neither pair is complete, or one of them does not parse.
    pub fn from_query(query: &Query, timezone: &Timezone) -> Result<Self, ApiError> {
        if let (Some(start_at), Some(end_at)) = (query.number("startAt")?, query.number("endAt")?) {
            return Ok(Self { start_at: instant(start_at), end_at: instant(end_at) });
        }
        let (Some(start), Some(end)) = (query.get("startDate"), query.get("endDate")) else {
            return Err(ApiError::bad_request(
                "Either startAt+endAt or startDate+endDate must be provided",
            ));
        };
        let start_at = timezone.instant(start, Edge::Start);
        let end_at = timezone.instant(end, Edge::End);
        Ok(Self {
            start_at: start_at.ok_or_else(|| invalid("startDate", "expected an ISO date"))?,
            end_at: end_at.ok_or_else(|| invalid("endDate", "expected an ISO date"))?,
        })
    }

    /// As [`DateRange::from_query`], for the questions that take whole milliseconds only.
    ///
    /// # Errors
    /// Also when a number has a fraction.
    pub fn from_strict_query(query: &Query, timezone: &Timezone) -> Result<Self, ApiError> {
        for name in ["startAt", "endAt"] {
            if query.number(name)?.is_some_and(|value| value.fract() != 0.0) {
                return Err(invalid(name, "expected a whole number"));
            }
        }
        Self::from_query(query, timezone)
    }

    /// An instant, or the end of the calendar that it lies beyond.
    #[must_use]
    pub fn within_calendar(instant_ms: i64) -> i64 {
        instant_ms.clamp(-INSTANT_MS_MAX, INSTANT_MS_MAX)
    }

    /// Without what lies before the website's last reset.
    #[must_use]
    pub fn since(self, reset_at: Option<i64>) -> Self {
        let start_at = reset_at.map_or(self.start_at, |reset_at| self.start_at.max(reset_at));
        Self { start_at, ..self }
    }

    /// The range to compare with.
    #[must_use]
    pub fn compared(self, compare: Compare, timezone: &Timezone) -> Self {
        match compare {
            // Both ends are included, so a range is one millisecond longer than the difference of its ends;
            // moved by that, it ends just before the other begins.
            Compare::Previous => {
                let length_ms = self.end_at - self.start_at + 1;
                Self { start_at: self.start_at - length_ms, end_at: self.end_at - length_ms }
            }
            Compare::YearAgo => Self {
                start_at: timezone.year_before(self.start_at),
                end_at: timezone.year_before(self.end_at),
            },
        }
    }

    /// The finest unit that still gives a readable number of buckets.
    fn finest_unit(self) -> Unit {
        let length_ms = self.end_at - self.start_at;
        let months = calendar_month(self.end_at) - calendar_month(self.start_at);
        if length_ms / MINUTE_MS <= 60 {
            Unit::Minute
        } else if length_ms / DAY_MS <= 30 {
            Unit::Hour
        } else if months <= 7 {
            Unit::Day
        } else if months <= 24 {
            Unit::Month
        } else {
            Unit::Year
        }
    }

    /// Whether it is so long that its zone has more than a handful of offsets.
    #[must_use]
    pub fn is_long(self) -> bool {
        self.finest_unit() == Unit::Year
    }
}

/// Months since the year 0 in UTC; months of 30.4 days beyond the calendar.
fn calendar_month(instant_ms: i64) -> i64 {
    Timestamp::from_millisecond(instant_ms).map_or(instant_ms / (DAY_MS * 365 / 12), |instant| {
        let date = Offset::UTC.to_datetime(instant).date();
        i64::from(date.year()) * 12 + i64::from(date.month()) - 1
    })
}

fn instant(number: f64) -> i64 {
    (number as i64).clamp(-INSTANT_MS_MAX, INSTANT_MS_MAX)
}

/// Which range the figures are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// The range of the same length just before.
    Previous,
    /// The same dates a year earlier.
    YearAgo,
}

impl Compare {
    /// From `compare`; `None` when it is not asked for.
    ///
    /// # Errors
    /// When it is neither `prev` nor `yoy`.
    pub fn from_query(query: &Query) -> Result<Option<Self>, ApiError> {
        match query.get("compare") {
            None => Ok(None),
            Some("prev") => Ok(Some(Self::Previous)),
            Some("yoy") => Ok(Some(Self::YearAgo)),
            Some(_) => Err(invalid("compare", "expected prev or yoy")),
        }
    }
}

/// The size of a bucket, finest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    Minute,
    Hour,
    Day,
    Month,
    Year,
}

impl Unit {
    /// From `unit`, but not finer than the range allows, so that nobody can ask for a million buckets.
    ///
    /// # Errors
    /// When it is not a unit.
    pub fn from_query(query: &Query, range: DateRange) -> Result<Self, ApiError> {
        let finest = range.finest_unit();
        let Some(name) = query.get("unit") else { return Ok(finest) };
        let all = [Self::Minute, Self::Hour, Self::Day, Self::Month, Self::Year];
        let asked = all.into_iter().find(|unit| unit.name() == name);
        match asked.ok_or_else(|| ApiError::bad_request("Invalid unit"))? {
            // Years are a poor picture of three years: months may be asked for however long the range.
            Self::Month => Ok(Self::Month),
            asked => Ok(asked.max(finest)),
        }
    }

    /// As [`Unit::from_query`], by the day where it is not asked for.
    ///
    /// # Errors
    /// When it is not a unit.
    pub fn of_report(query: &Query, range: DateRange) -> Result<Self, ApiError> {
        match query.get("unit") {
            Some(_) => Self::from_query(query, range),
            None => Ok(Self::Day.max(range.finest_unit())),
        }
    }

    /// Its name, in parameters and in the engine.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

/// Which rows of a long answer are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    pub limit: i64,
    pub offset: i64,
}

impl Paging {
    /// Everything, for answers that are short by nature.
    #[must_use]
    pub fn whole() -> Self {
        Self { limit: limits::METRIC_ROWS_MAX, offset: 0 }
    }

    /// From `limit` and `offset`; fractions are rounded, a limit beyond the largest answer is cut to it.
    ///
    /// # Errors
    /// When one of them is not a number or negative.
    pub fn from_query(query: &Query) -> Result<Self, ApiError> {
        let whole = |name: &str, default: i64, max: i64| match query.number(name)? {
            None => Ok(default),
            Some(value) if value < 0.0 => Err(invalid(name, "expected a number from 0")),
            Some(value) => Ok((value.round() as i64).min(max)),
        };
        Ok(Self {
            limit: whole("limit", limits::METRIC_ROWS_DEFAULT, limits::METRIC_ROWS_MAX)?,
            offset: whole("offset", 0, i64::MAX)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::parse(text).expect("decodes")
    }

    fn range(text: &str) -> Result<(i64, i64), String> {
        DateRange::from_query(&query(text), &Timezone::utc())
            .map(|range| (range.start_at, range.end_at))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn ranges_are_read_as_numbers_or_as_dates() {
        let cases = [
            ("startAt=1772323200000&endAt=1775001599999", 1_772_323_200_000, 1_775_001_599_999),
            ("startAt=1772323200000.5&endAt=1.5e12", 1_772_323_200_000, 1_500_000_000_000),
            ("startAt=&endAt=", 0, 0),
            ("startAt=-1&endAt=0&endAt=7", -1, 7),
            ("startAt=9e15&endAt=-9e300", INSTANT_MS_MAX, -INSTANT_MS_MAX),
            ("startDate=2026-03-01&endDate=2026-03-31", 1_772_323_200_000, 1_775_001_599_999),
            (
                "startDate=2026-03-01T00:00:00.000Z&endDate=2026-03-01T01:00:00+01:00",
                1_772_323_200_000,
                1_772_323_200_000,
            ),
            (
                "startDate=2026-03-01T00:00&endDate=2026-03-01T00:00:01",
                1_772_323_200_000,
                1_772_323_201_000,
            ),
        ];
        for (text, start_at, end_at) in cases {
            assert_eq!(range(text), Ok((start_at, end_at)), "{text}");
        }
    }

    #[test]
    fn ranges_that_are_not_whole_or_not_numbers_are_bad_requests() {
        let cases = [
            "",
            "startAt=1",
            "endAt=1",
            "startAt=abc&endAt=def",
            "startAt=NaN&endAt=1",
            "startAt=inf&endAt=1",
            "startDate=2026-03-01",
            "startDate=bad&endDate=bad",
            "startDate=2026-13-01&endDate=2026-01-01",
            "startDate=2026-03-01T25:00&endDate=2026-03-02",
            "startAt=1&endDate=2026-03-02",
        ];
        for text in cases {
            assert!(range(text).is_err(), "{text}");
        }
        let strict = |text| DateRange::from_strict_query(&query(text), &Timezone::utc()).is_ok();
        assert!(strict("startAt=1&endAt=2"));
        assert!(!strict("startAt=1.5&endAt=2"));
    }

    #[test]
    fn the_previous_range_has_the_same_length_and_does_not_overlap() {
        for (start_at, end_at) in [(1_772_323_200_000, 1_775_001_599_999), (5, 5), (0, 86_400_000)]
        {
            let range = DateRange { start_at, end_at };
            let previous = range.compared(Compare::Previous, &Timezone::utc());
            assert_eq!(previous.end_at, range.start_at - 1);
            assert_eq!(previous.end_at - previous.start_at, range.end_at - range.start_at);
        }
    }

    #[test]
    fn a_unit_is_never_finer_than_the_range_allows() {
        const HOUR_MS: i64 = 3_600_000;
        let year = 365 * DAY_MS;
        let cases = [
            (0, "", Unit::Minute),
            (HOUR_MS + 59_999, "minute", Unit::Minute),
            (HOUR_MS + 60_000, "minute", Unit::Hour),
            (31 * DAY_MS - 1, "minute", Unit::Hour),
            (31 * DAY_MS, "", Unit::Day),
            (31 * DAY_MS, "year", Unit::Year),
            (240 * DAY_MS, "hour", Unit::Day),
            (year, "day", Unit::Month),
            (3 * year, "day", Unit::Year),
            (3 * year, "month", Unit::Month),
            (2 * INSTANT_MS_MAX, "minute", Unit::Year),
            (-5, "day", Unit::Day),
        ];
        for (length_ms, unit, expected) in cases {
            let start_at = if length_ms > INSTANT_MS_MAX { -INSTANT_MS_MAX } else { 0 };
            let range = DateRange { start_at, end_at: start_at + length_ms };
            let text = if unit.is_empty() { String::new() } else { format!("unit={unit}") };
            let got = Unit::from_query(&query(&text), range).expect("a unit");
            assert_eq!(got, expected, "{length_ms} {unit}");
        }
        assert!(
            Unit::from_query(&query("unit=week"), DateRange { start_at: 0, end_at: 1 }).is_err()
        );
    }

    #[test]
    fn paging_rounds_cuts_and_refuses() {
        let paging =
            |text| Paging::from_query(&query(text)).map(|page| (page.limit, page.offset)).ok();
        assert_eq!(paging(""), Some((500, 0)));
        assert_eq!(paging("limit=2.5&offset=1"), Some((3, 1)));
        assert_eq!(paging("limit=&offset="), Some((0, 0)));
        assert_eq!(paging("limit=1e9"), Some((limits::METRIC_ROWS_MAX, 0)));
        assert_eq!(paging("limit=-1"), None);
        assert_eq!(paging("offset=-1"), None);
        assert_eq!(paging("limit=abc"), None);
    }
}
