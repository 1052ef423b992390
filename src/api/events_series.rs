//! `GET /api/websites/{website}/events/series`: how often each custom event happened, by bucket of local time.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use super::params::{Paging, Unit};
use super::scope::{Buckets, Scope};
use crate::error::ApiError;
use crate::limits;
use crate::store::sql;

struct Params {
    scope: Scope,
    buckets: Buckets,
    names_max: i64,
}

impl Params {
    fn parse(asked: &Asked) -> Result<Self, ApiError> {
        if asked.query.get("timezone").or_else(|| asked.query.get("tz")).is_none() {
            return Err(ApiError::bad_request("Invalid timezone: it is missing"));
        }
        let Scope { range, filters } = Scope::parse_strict(&asked.query)?;
        let buckets = Buckets::parse(&asked.query, range)?;
        let names_max = names_max(buckets.unit, Paging::from_query(&asked.query)?);
        Ok(Self { scope: Scope { range, filters: filters.of_custom_events() }, buckets, names_max })
    }
}

/// No more names than the rows of an answer have room for.
pub(super) fn names_max(unit: Unit, paging: Paging) -> i64 {
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
    let Params { mut scope, buckets, names_max } = Params::parse(&asked)?;
    let website = scope.website(&asked).await?;
    scope.shorten(&asked.readers, website).await?;
    let question = buckets
        .bind(scope.ask(sql::EVENTS_SERIES, website), scope.range)
        .bind("names_max", names_max);
    let rows = asked
        .readers
        .ask(question, |row| Ok(Point { x: row.text(0)?, t: row.text(1)?, y: row.integer(2)? }));
    let mut points = rows.await?;
    for point in &mut points {
        point.t = buckets.timezone.label(std::mem::take(&mut point.t));
    }
    Ok(Json(points))
}
