//! `GET /api/websites/{website}/daterange`: the times of a website's first and last event since the year 2000.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use super::pageviews::iso;
use super::params::DateRange;
use crate::error::ApiError;
use crate::store::question::Question;
use crate::store::reader::Readers;
use crate::store::sql;

/// 2000-01-01T00:00:00Z.
const EVENTS_SINCE: i64 = 946_684_800_000;

/// Both are null when there is no event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    start_date: Option<String>,
    end_date: Option<String>,
}

pub async fn daterange(asked: Asked) -> Result<Json<Response>, ApiError> {
    let website = asked.website().await?;
    let all = DateRange { start_at: EVENTS_SINCE, end_at: i64::MAX };
    let found = extent(&asked.readers, website.key, all).await?;
    Ok(Json(Response {
        start_date: found.map(|range| iso(range.start_at)),
        end_date: found.map(|range| iso(range.end_at)),
    }))
}

/// From the first to the last event within a range.
async fn extent(
    readers: &Readers,
    website_key: u32,
    range: DateRange,
) -> Result<Option<DateRange>, ApiError> {
    let question = Question::new(sql::DATERANGE)
        .bind("website_key", website_key)
        .bind("start_at", range.start_at)
        .bind("end_at", range.end_at);
    let ends =
        readers.ask_one(question, |row| Ok((row.optional_integer(0)?, row.optional_integer(1)?)));
    let (first, last) = ends.await?;
    Ok(first.zip(last).map(|(start_at, end_at)| DateRange { start_at, end_at }))
}

impl DateRange {
    /// The part with events of a very long range ("all time"): its zone has fewer clock changes to look at.
    pub(super) async fn with_events(
        self,
        readers: &Readers,
        website_key: u32,
    ) -> Result<Self, ApiError> {
        if !self.is_long() {
            return Ok(self);
        }
        Ok(extent(readers, website_key, self)
            .await?
            .unwrap_or(Self { end_at: self.start_at, ..self }))
    }
}
