//! One session: `GET` and `DELETE /api/websites/{website}/sessions/{id}`, what it did (`…/activity`) and what is
//! known of it (`…/properties`). A session that does not exist is an empty object, as clients expect.

use std::sync::Arc;

use actix_web::web::{self, Json};
use serde::Serialize;
use serde_json::{Value, json};

use super::Asked;
use super::cells::{id, optional_time, time};
use super::params::DateRange;
use super::timezone::Timezone;
use crate::error::ApiError;
use crate::limits;
use crate::store::Store;
use crate::store::question::{Question, Row};
use crate::store::sql;

/// Who the session is by its first event, and all it did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    id: String,
    distinct_id: Option<String>,
    website_id: String,
    browser: Option<String>,
    os: Option<String>,
    device: Option<String>,
    screen: Option<String>,
    language: Option<String>,
    country: Option<String>,
    region: Option<String>,
    city: Option<String>,
    first_at: String,
    last_at: String,
    visits: i64,
    views: i64,
    events: i64,
    /// Seconds between the first and the last event of each visit, summed.
    totaltime: i64,
    can_delete: bool,
    /// Sessions that are shown as this one.
    stitched_session_count: i64,
}

pub async fn session(asked: Asked) -> Result<Json<Value>, ApiError> {
    let session_id = asked.fact_id()?;
    let website = asked.website().await?;
    let Some(session_id) = session_id else { return Ok(Json(json!({}))) };
    let question = Question::new(sql::SESSION)
        .bind("website_key", website.key)
        .bind("website_id", website.id.to_string())
        .bind("session_id", session_id)
        .bind("start_at", website.reset_at.unwrap_or(i64::MIN));
    let found = asked.readers.ask(question, Session::read).await?.pop();
    let Some(mut session) = found else { return Ok(Json(json!({}))) };
    session.can_delete = asked.website_to_change().await.is_ok();
    Ok(Json(serde_json::to_value(session)?))
}

pub async fn delete(asked: Asked, store: web::Data<Store>) -> Result<Json<Value>, ApiError> {
    let session_id = asked.fact_id()?;
    let website = asked.website_to_change().await?;
    let session_id = session_id.ok_or(ApiError::NotFound)?;
    let store = Arc::clone(&store);
    let deleted = web::block(move || store.delete_session(website.key, session_id)).await??;
    if deleted { Ok(Json(json!({ "ok": true }))) } else { Err(ApiError::NotFound) }
}

/// One event of the session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    created_at: String,
    url_path: Option<String>,
    url_query: Option<String>,
    referrer_domain: Option<String>,
    event_id: String,
    event_type: i64,
    event_name: Option<String>,
    visit_id: String,
    hostname: Option<String>,
    has_data: bool,
}

pub async fn activity(asked: Asked) -> Result<Json<Vec<Activity>>, ApiError> {
    let range = DateRange::from_strict_query(&asked.query, &Timezone::utc())?;
    let session_id = asked.fact_id()?;
    let website = asked.website().await?;
    let Some(session_id) = session_id else { return Ok(Json(Vec::new())) };
    let range = range.since(website.reset_at);
    let question = Question::new(sql::SESSION_ACTIVITY)
        .bind("website_key", website.key)
        .bind("session_id", session_id)
        .bind("start_at", range.start_at)
        .bind("end_at", range.end_at)
        .bind("limit", limits::ACTIVITY_ROWS_MAX);
    Ok(Json(asked.readers.ask(question, Activity::read).await?))
}

/// The latest value of one property of the session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Property {
    website_id: String,
    session_id: String,
    data_key: String,
    /// 1 string, 2 number, 3 boolean, 4 date, 5 array.
    data_type: i64,
    string_value: Option<String>,
    number_value: Option<f64>,
    date_value: Option<String>,
    created_at: String,
}

pub async fn properties(asked: Asked) -> Result<Json<Vec<Property>>, ApiError> {
    let session_id = asked.fact_id()?;
    let website = asked.website().await?;
    let Some(session_id) = session_id else { return Ok(Json(Vec::new())) };
    let question = Question::new(sql::SESSION_PROPERTIES)
        .bind("website_key", website.key)
        .bind("website_id", website.id.to_string())
        .bind("session_id", session_id)
        .bind("limit", limits::PROPERTY_ROWS_MAX);
    Ok(Json(asked.readers.ask(question, Property::read).await?))
}

impl Session {
    fn read(row: &Row<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            id: id(row, 0)?,
            distinct_id: row.optional_text(1)?,
            website_id: row.text(2)?,
            browser: row.optional_text(3)?,
            os: row.optional_text(4)?,
            device: row.optional_text(5)?,
            screen: row.optional_text(6)?,
            language: row.optional_text(7)?,
            country: row.optional_text(8)?,
            region: row.optional_text(9)?,
            city: row.optional_text(10)?,
            first_at: time(row, 11)?,
            last_at: time(row, 12)?,
            visits: row.integer(13)?,
            views: row.integer(14)?,
            events: row.integer(15)?,
            totaltime: row.integer(16)?,
            can_delete: false,
            stitched_session_count: 1,
        })
    }
}

impl Activity {
    fn read(row: &Row<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            created_at: time(row, 0)?,
            url_path: row.optional_text(1)?,
            url_query: row.optional_text(2)?,
            referrer_domain: row.optional_text(3)?,
            event_id: id(row, 4)?,
            event_type: row.integer(5)?,
            event_name: row.optional_text(6)?,
            visit_id: id(row, 7)?,
            hostname: row.optional_text(8)?,
            has_data: row.boolean(9)?,
        })
    }
}

impl Property {
    fn read(row: &Row<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            website_id: row.text(0)?,
            session_id: id(row, 1)?,
            data_key: row.text(2)?,
            data_type: row.integer(3)?,
            string_value: row.optional_text(4)?,
            number_value: row.optional_number(5)?,
            date_value: optional_time(row, 6)?,
            created_at: time(row, 7)?,
        })
    }
}
