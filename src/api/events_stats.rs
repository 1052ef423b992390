//! `GET /api/websites/{website}/events/stats`: the figures of the custom events of a range, and those of the range it
//! is compared with.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use super::params::Compare;
use super::scope::Scope;
use super::timezone::Timezone;
use crate::error::ApiError;
use crate::store::question::{Question, Row};
use crate::store::sql;

/// Custom events, who caused them, and how many names they have.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    events: i64,
    visitors: i64,
    visits: i64,
    unique_events: i64,
}

#[derive(Debug, Serialize)]
pub struct Compared {
    #[serde(flatten)]
    figures: Figures,
    comparison: Figures,
}

#[derive(Debug, Serialize)]
pub struct Response {
    data: Compared,
}

pub async fn stats(asked: Asked) -> Result<Json<Response>, ApiError> {
    let mut scope = Scope::parse(&asked.query)?.with_bounces();
    let timezone = Timezone::from_query(&asked.query)?.unwrap_or_else(Timezone::utc);
    let compare = Compare::from_query(&asked.query)?.unwrap_or(Compare::Previous);
    let compared = scope.range.compared(compare, &timezone);
    let website = scope.website(&asked).await?;
    let figures = figures(&asked, scope.ask(sql::EVENTS_STATS, website)).await?;
    scope.range = compared.since(website.reset_at);
    let comparison = self::figures(&asked, scope.ask(sql::EVENTS_STATS, website)).await?;
    Ok(Json(Response { data: Compared { figures, comparison } }))
}

async fn figures(asked: &Asked, question: Question) -> Result<Figures, ApiError> {
    Ok(asked.readers.ask_one(question, Figures::read).await?)
}

impl Figures {
    fn read(row: &Row<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            events: row.integer(0)?,
            visitors: row.integer(1)?,
            visits: row.integer(2)?,
            unique_events: row.integer(3)?,
        })
    }
}
