//! Journeys: the first steps of visits, and how many visits took them. `POST /api/reports/journey` and
//! `GET …/journeys`. Equal steps in a row are one, and visits that differ in nothing else are counted together.
//!
//! The older shape fills up with nulls: one when the visit was shorter than asked for, one when fewer than seven steps
//! were asked for. Clients that know it count on them.

use actix_web::HttpResponse;
use serde::Serialize;

use super::Answer;
use crate::api::Asked;
use crate::api::params::invalid;
use crate::api::scope::Scope;
use crate::error::ApiError;
use crate::limits;
use crate::store::sql;

/// One journey and the visits that took it.
#[derive(Debug, Serialize)]
pub struct Journey {
    items: Vec<Option<String>>,
    count: i64,
}

/// The newer shape.
pub async fn get(asked: Asked) -> Answer {
    Ok(HttpResponse::Ok().json(journeys(&asked, false).await?))
}

/// The older shape.
pub async fn answer(asked: &Asked) -> Result<Vec<Journey>, ApiError> {
    journeys(asked, true).await
}

async fn journeys(asked: &Asked, filled_up: bool) -> Result<Vec<Journey>, ApiError> {
    let mut scope = Scope::parse(&asked.query)?;
    let steps = asked.query.number("steps")?.ok_or_else(|| invalid("steps", "it is missing"))?;
    if !(2.0..=7.0).contains(&steps) {
        return Err(invalid("steps", "expected 2 to 7"));
    }
    let steps = steps as i64;
    let step = |name| asked.query.get(name).filter(|step| !step.is_empty());
    let website = scope.website(asked).await?;
    let question = scope
        .ask(sql::JOURNEY, website)
        .bind("steps", steps)
        .bind("start_step", step("startStep"))
        .bind("end_step", step("endStep"))
        .bind("by_length", filled_up)
        .bind("limit", limits::JOURNEYS_MAX);
    let rows = asked.readers.ask(question, |row| {
        let items: Vec<Option<String>> = serde_json::from_str(&row.text(0)?)?;
        Ok((Journey { items, count: row.integer(2)? }, row.optional_boolean(1)?))
    });
    let filled = rows.await?.into_iter().map(|(mut journey, is_short)| {
        let nulls = usize::from(is_short == Some(true)) + usize::from(filled_up && steps < 7);
        journey.items.extend(std::iter::repeat_n(None, nulls));
        journey
    });
    Ok(filled.collect())
}
