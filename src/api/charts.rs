//! `GET /api/websites/charts`: the small picture beside each website of a list, and the same for links and pixels
//! (`links.rs`). Visitors by half day of local time, the empty ones included, and the visitors of the whole range. What
//! the caller may not see is left out.

use std::collections::BTreeMap;

use actix_web::web::{self, Json};
use serde::Serialize;
use uuid::Uuid;

use super::params::{DateRange, Query};
use super::timezone::Timezone;
use crate::auth::{Auth, Bearer};
use crate::error::ApiError;
use crate::store::question::Question;
use crate::store::reader::Readers;
use crate::store::sql;
use crate::websites::{LinkKind, Website};
use crate::{clock, limits};

const HALF_DAY_MS: i64 = 12 * 3_600_000;

struct Params {
    ids: Vec<Uuid>,
    timezone: Timezone,
    range: DateRange,
}

impl Params {
    fn parse(query: &Query) -> Result<Self, ApiError> {
        let invalid = || {
            let text = format!("Invalid ids: expected 1 to {} UUIDs", limits::CHARTS_MAX);
            ApiError::BadRequest(text)
        };
        let list = query.get("ids").ok_or_else(invalid)?;
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names: Vec<&str> = names.take(limits::CHARTS_MAX + 1).collect();
        if names.is_empty() || names.len() > limits::CHARTS_MAX {
            return Err(invalid());
        }
        let ids: Result<_, _> = names.into_iter().map(Uuid::try_parse).collect();
        let timezone = Timezone::from_query(query)?.unwrap_or_else(Timezone::utc);
        let range = if query.get("startAt").is_some() && query.get("endAt").is_some() {
            DateRange::from_strict_query(query, &timezone)?
        } else {
            timezone.last_days(clock::now_ms(), limits::CHART_DAYS_DEFAULT)
        };
        if range.end_at - range.start_at > limits::CHART_MS_MAX {
            return Err(ApiError::bad_request("A chart covers at most a year"));
        }
        Ok(Self { ids: ids.map_err(|_| invalid())?, timezone, range })
    }
}

#[derive(Debug, Serialize)]
pub struct Chart {
    values: Vec<i64>,
    total: i64,
}

#[derive(Debug, Serialize)]
pub struct Response {
    data: BTreeMap<String, Chart>,
}

pub async fn charts(
    query: Query,
    bearer: Bearer,
    auth: web::Data<Auth>,
    readers: web::Data<Readers>,
) -> Result<Json<Response>, ApiError> {
    answer(None, query, bearer, auth, readers).await
}

/// The charts of websites, or of links or pixels.
pub(super) async fn answer(
    kind: Option<LinkKind>,
    query: Query,
    bearer: Bearer,
    auth: web::Data<Auth>,
    readers: web::Data<Readers>,
) -> Result<Json<Response>, ApiError> {
    let params = Params::parse(&query)?;
    auth.caller(&bearer)?;
    let mut data = BTreeMap::new();
    for id in &params.ids {
        let id = id.to_string();
        let found = match kind {
            None => auth.website(&bearer, &id).await.map(Some),
            Some(kind) => auth.link(&bearer, kind, &id).await,
        };
        match found {
            Ok(Some(website)) if website.key > 0 => {
                data.insert(website.id.to_string(), chart(&readers, website, &params).await?);
            }
            Ok(_) | Err(ApiError::Unauthorized(..)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Json(Response { data }))
}

async fn chart(readers: &Readers, website: Website, params: &Params) -> Result<Chart, ApiError> {
    let half_day = |at| params.timezone.local_ms(at).div_euclid(HALF_DAY_MS);
    let (first, last) = (half_day(params.range.start_at), half_day(params.range.end_at));
    let buckets = usize::try_from(last - first + 1).unwrap_or(0);
    let range = params.range.since(website.reset_at);
    let pieces = params.timezone.pieces(range);
    let question = Question::new(sql::CHARTS)
        .bind("website_key", website.key)
        .bind("start_at", range.start_at)
        .bind("end_at", range.end_at)
        .bind("zone_since", pieces.since)
        .bind("zone_until", pieces.until)
        .bind("zone_offset", pieces.offset);
    let rows = readers.ask(question, |row| Ok((row.optional_integer(0)?, row.integer(1)?))).await?;
    let mut chart = Chart { values: vec![0; buckets], total: 0 };
    for (half_day, visitors) in rows {
        let index = half_day.map(|half_day| usize::try_from(half_day - first));
        match index {
            None => chart.total = visitors,
            Some(index) => {
                if let Some(value) = index.ok().and_then(|index| chart.values.get_mut(index)) {
                    *value = visitors;
                }
            }
        }
    }
    Ok(chart)
}
