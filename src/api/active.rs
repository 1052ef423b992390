//! `GET /api/websites/{website}/active`: visitors of the last five minutes.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use crate::error::ApiError;
use crate::store::question::Question;
use crate::store::sql;
use crate::{clock, limits};

#[derive(Debug, Serialize)]
pub struct Response {
    visitors: i64,
}

pub async fn active(asked: Asked) -> Result<Json<Response>, ApiError> {
    let website = asked.website().await?;
    let since = clock::now_ms() - limits::ACTIVE_MS;
    let question = Question::new(sql::ACTIVE)
        .once()
        .bind("website_key", website.key)
        .bind("since", website.reset_at.map_or(since, |reset_at| since.max(reset_at)));
    let visitors = asked.readers.ask_one(question, |row| row.integer(0)).await?;
    Ok(Json(Response { visitors }))
}
