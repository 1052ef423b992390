//! `GET /api/websites/{website}/sessions`: the sessions of a range, the one that was seen last first, page by page.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use super::cells::{counted, id, time};
use super::page::{Page, Paged};
use super::scope::Scope;
use crate::error::ApiError;
use crate::store::question::Row;
use crate::store::sql;

/// What a search looks at.
const SEARCHED: &str = "concat_ws(chr(10), distinct_id, city, browser, os, device)";

/// One session: who it is by its first event, and what it did in the range.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    id: String,
    website_id: String,
    hostname: Option<String>,
    browser: Option<String>,
    os: Option<String>,
    device: Option<String>,
    screen: Option<String>,
    language: Option<String>,
    country: Option<String>,
    region: Option<String>,
    city: Option<String>,
    distinct_id: Option<String>,
    first_at: String,
    last_at: String,
    visits: i64,
    views: i64,
    events: i64,
    /// The same as `last_at`, as clients know it.
    created_at: String,
}

pub async fn sessions(asked: Asked) -> Result<Json<Paged<Session>>, ApiError> {
    let mut scope = Scope::parse(&asked.query)?.with_bounces();
    let page = Page::from_query(&asked.query)?;
    if let Some(search) = page.searched() {
        scope.filters.search(SEARCHED, search)?;
    }
    let website = scope.website(&asked).await?;
    let question = scope.ask(sql::SESSIONS, website).bind("website_id", website.id.to_string());
    Ok(Json(page.ask_steadily(&asked, website, question, |row| counted(row, Session::read)).await?))
}

impl Session {
    fn read(row: &Row<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            id: id(row, 1)?,
            website_id: row.text(2)?,
            hostname: row.optional_text(3)?,
            browser: row.optional_text(4)?,
            os: row.optional_text(5)?,
            device: row.optional_text(6)?,
            screen: row.optional_text(7)?,
            language: row.optional_text(8)?,
            country: row.optional_text(9)?,
            region: row.optional_text(10)?,
            city: row.optional_text(11)?,
            distinct_id: row.optional_text(12)?,
            first_at: time(row, 13)?,
            last_at: time(row, 14)?,
            visits: row.integer(15)?,
            views: row.integer(16)?,
            events: row.integer(17)?,
            created_at: time(row, 14)?,
        })
    }
}
