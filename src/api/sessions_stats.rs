//! `GET /api/websites/{website}/sessions/stats`: how many events, visitors, visits and countries a range has.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use super::scope::Scope;
use crate::error::ApiError;
use crate::store::sql;

/// A figure in the shape in which clients expect it.
#[derive(Debug, Serialize)]
pub struct Figure {
    value: i64,
}

/// `pageviews` are events of any type, which is what clients of this question have come to know.
#[derive(Debug, Serialize)]
pub struct Response {
    pageviews: Figure,
    visitors: Figure,
    visits: Figure,
    countries: Figure,
    events: Figure,
}

pub async fn stats(asked: Asked) -> Result<Json<Response>, ApiError> {
    let mut scope = Scope::parse_strict(&asked.query)?.with_bounces();
    let website = scope.website(&asked).await?;
    let question = scope.ask(sql::SESSIONS_STATS, website);
    let response = asked.readers.ask_one(question, |row| {
        let figure = |column| row.integer(column).map(|value| Figure { value });
        Ok(Response {
            pageviews: figure(0)?,
            visitors: figure(1)?,
            visits: figure(2)?,
            countries: figure(3)?,
            events: figure(4)?,
        })
    });
    Ok(Json(response.await?))
}
