//! `GET /api/websites/{website}/pageviews`: views and sessions by bucket of local time, and those of the range they
//! are compared with, if asked for. Buckets without rows are left out.

use actix_web::web::Json;
use jiff::Timestamp;
use serde::Serialize;

use super::Asked;
use super::filter::Filters;
use super::params::{Compare, DateRange, Unit};
use super::timezone::Timezone;
use crate::error::ApiError;
use crate::store::question::Question;
use crate::store::reader::Readers;
use crate::store::sql;
use crate::websites::Website;

struct Params {
    range: DateRange,
    compared: Option<DateRange>,
    cut: Cut,
}

/// Which rows a series counts, and how it is cut into buckets.
pub(super) struct Cut {
    pub timezone: Timezone,
    pub unit: Unit,
    pub filters: Filters,
}

impl Params {
    fn parse(asked: &Asked) -> Result<Self, ApiError> {
        let timezone = Timezone::from_query(&asked.query)?.unwrap_or_else(Timezone::utc);
        let range = DateRange::from_query(&asked.query, &timezone)?;
        let compare = Compare::from_query(&asked.query)?;
        Ok(Self {
            range,
            compared: compare.map(|compare| range.compared(compare, &timezone)),
            cut: Cut {
                unit: Unit::from_query(&asked.query, range)?,
                filters: Filters::from_query(&asked.query)?,
                timezone,
            },
        })
    }
}

/// One bucket: its label and its figure.
#[derive(Debug, Serialize)]
pub struct Point {
    pub(super) x: String,
    pub(super) y: i64,
}

#[derive(Debug, Serialize)]
pub struct Series {
    pub(super) pageviews: Vec<Point>,
    pub(super) sessions: Vec<Point>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dated {
    #[serde(flatten)]
    series: Series,
    start_date: String,
    end_date: String,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Response {
    Alone(Series),
    Compared {
        #[serde(flatten)]
        now: Dated,
        compare: Dated,
    },
}

pub async fn pageviews(asked: Asked) -> Result<Json<Response>, ApiError> {
    let Params { range, compared, mut cut } = Params::parse(&asked)?;
    let website = asked.website().await?;
    cut.filters.check(&asked.readers, website).await?;
    let now = series(&asked.readers, website, range, &cut).await?;
    let Some(compared) = compared else { return Ok(Json(Response::Alone(now))) };
    let before = series(&asked.readers, website, compared, &cut).await?;
    Ok(Json(Response::Compared {
        now: Dated::new(now, range),
        compare: Dated::new(before, compared),
    }))
}

/// Views and sessions by bucket, without what the website hides.
pub(super) async fn series(
    readers: &Readers,
    website: Website,
    range: DateRange,
    cut: &Cut,
) -> Result<Series, ApiError> {
    let range = range.since(website.reset_at).with_events(readers, website.key).await?;
    let pieces = cut.timezone.pieces(range);
    let question = cut
        .filters
        .apply(Question::new(sql::PAGEVIEWS))
        .bind("website_key", website.key)
        .bind("start_at", range.start_at)
        .bind("end_at", range.end_at)
        .bind("unit", cut.unit.name())
        .bind("zone_since", pieces.since)
        .bind("zone_until", pieces.until)
        .bind("zone_offset", pieces.offset);
    let rows = readers.ask(question, |row| Ok((row.text(0)?, row.integer(1)?, row.integer(2)?)));
    let mut series = Series { pageviews: Vec::new(), sessions: Vec::new() };
    for (local, views, sessions) in rows.await? {
        let label = cut.timezone.label(local);
        series.pageviews.push(Point { x: label.clone(), y: views });
        series.sessions.push(Point { x: label, y: sessions });
    }
    Ok(series)
}

impl Dated {
    fn new(series: Series, range: DateRange) -> Self {
        Self { series, start_date: iso(range.start_at), end_date: iso(range.end_at) }
    }
}

/// `2026-03-01T00:00:00.000Z`; at the ends of the calendar for what lies beyond it.
pub(super) fn iso(instant_ms: i64) -> String {
    let instant = Timestamp::from_millisecond(instant_ms).unwrap_or(if instant_ms < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    });
    format!("{instant:.3}")
}
