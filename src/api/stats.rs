//! `GET /api/websites/{website}/stats`: the five figures of a range, and those of the range it is compared with.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use super::filter::Filters;
use super::params::{Compare, DateRange};
use super::timezone::Timezone;
use crate::error::ApiError;
use crate::store::question::{Question, Row};
use crate::store::reader::Readers;
use crate::store::sql;

struct Params {
    range: DateRange,
    compared: DateRange,
    filters: Filters,
}

impl Params {
    fn parse(asked: &Asked) -> Result<Self, ApiError> {
        let timezone = Timezone::from_query(&asked.query)?.unwrap_or_else(Timezone::utc);
        let range = DateRange::from_query(&asked.query, &timezone)?;
        let compare = Compare::from_query(&asked.query)?.unwrap_or(Compare::Previous);
        let compared = range.compared(compare, &timezone);
        Ok(Self { range, compared, filters: Filters::from_query(&asked.query)? })
    }
}

/// Bounces are visits of one page row; the time is in seconds.
#[derive(Debug, Serialize)]
pub struct Figures {
    pub pageviews: i64,
    pub visitors: i64,
    pub visits: i64,
    pub bounces: i64,
    pub totaltime: i64,
}

#[derive(Debug, Serialize)]
pub struct Response {
    #[serde(flatten)]
    figures: Figures,
    comparison: Figures,
}

pub async fn stats(asked: Asked) -> Result<Json<Response>, ApiError> {
    let Params { range, compared, mut filters } = Params::parse(&asked)?;
    let website = asked.website().await?;
    filters.check(&asked.readers, website).await?;
    let figures = |range: DateRange| {
        figures(&asked.readers, website.key, range.since(website.reset_at), &filters)
    };
    Ok(Json(Response { figures: figures(range).await?, comparison: figures(compared).await? }))
}

async fn figures(
    readers: &Readers,
    website_key: u32,
    range: DateRange,
    filters: &Filters,
) -> Result<Figures, ApiError> {
    let question = filters
        .apply(Question::new(sql::STATS))
        .bind("website_key", website_key)
        .bind("start_at", range.start_at)
        .bind("end_at", range.end_at);
    let mut figures = readers.ask_one(question, Figures::read).await?;
    if filters.exclude_bounce() {
        // Of a visit that was kept, the filters may have left one row.
        figures.bounces = 0;
    }
    Ok(figures)
}

impl Figures {
    fn read(row: &Row<'_>) -> anyhow::Result<Self> {
        Self::read_from(row, 0)
    }

    /// From five columns, the first of which is given.
    pub(super) fn read_from(row: &Row<'_>, first: usize) -> anyhow::Result<Self> {
        Ok(Self {
            pageviews: row.integer(first)?,
            visitors: row.integer(first + 1)?,
            visits: row.integer(first + 2)?,
            bounces: row.integer(first + 3)?,
            totaltime: row.integer(first + 4)?,
        })
    }
}
