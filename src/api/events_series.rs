//! `GET /api/websites/{website}/events/series`: how often each custom event happened, by bucket of local time.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use super::filter::Filters;
use super::params::{DateRange, Paging, Unit};
use super::timezone::Timezone;
use crate::error::ApiError;
use crate::limits;
use crate::store::question::Question;
use crate::store::sql;

struct Params {
    range: DateRange,
    timezone: Timezone,
    unit: Unit,
    names_max: i64,
    filters: Filters,
}

impl Params {
    fn parse(asked: &Asked) -> Result<Self, ApiError> {
        let timezone = Timezone::from_query(&asked.query)?;
        let timezone =
            timezone.ok_or_else(|| ApiError::bad_request("Invalid timezone: it is missing"))?;
        let range = DateRange::from_strict_query(&asked.query, &timezone)?;
        let unit = Unit::from_query(&asked.query, range)?;
        let paging = Paging::from_query(&asked.query)?;
        let filters = Filters::from_query(&asked.query)?.of_custom_events();
        Ok(Self { range, timezone, unit, names_max: names_max(unit, paging), filters })
    }
}

/// No more names than the rows of an answer have room for.
fn names_max(unit: Unit, paging: Paging) -> i64 {
    let buckets_max = match unit {
        Unit::Minute => 62,
        Unit::Hour => 750,
        Unit::Day => 250,
        Unit::Month | Unit::Year => 100,
    };
    paging.limit.min(limits::SERIES_ROWS_MAX / buckets_max)
}

/// One event's figure in one bucket.
#[derive(Debug, Serialize)]
pub struct Point {
    x: String,
    t: String,
    y: i64,
}

pub async fn series(asked: Asked) -> Result<Json<Vec<Point>>, ApiError> {
    let params = Params::parse(&asked)?;
    let website = asked.website().await?;
    params.filters.check(&asked.readers).await?;
    let range =
        params.range.since(website.reset_at).with_events(&asked.readers, website.key).await?;
    let pieces = params.timezone.pieces(range);
    let question = params
        .filters
        .apply(Question::new(sql::EVENTS_SERIES))
        .bind("website_key", website.key)
        .bind("start_at", range.start_at)
        .bind("end_at", range.end_at)
        .bind("unit", params.unit.name())
        .bind("zone_since", pieces.since)
        .bind("zone_until", pieces.until)
        .bind("zone_offset", pieces.offset)
        .bind("names_max", params.names_max);
    let rows = asked
        .readers
        .ask(question, |row| Ok(Point { x: row.text(0)?, t: row.text(1)?, y: row.integer(2)? }));
    let mut points = rows.await?;
    for point in &mut points {
        point.t = params.timezone.label(std::mem::take(&mut point.t));
    }
    Ok(Json(points))
}
