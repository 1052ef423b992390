//! `GET /api/websites/{website}/events`: the events of a range one by one, newest first, page by page.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use super::cells::{counted, id, time};
use super::page::{Page, Paged};
use super::scope::Scope;
use crate::error::ApiError;
use crate::store::question::Row;
use crate::store::sql;

/// What a search looks at: the name of a custom event, the path of everything else.
const SEARCHED: &str = "CASE WHEN event_type = 2 THEN event_name ELSE url_path END";

/// One event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    id: String,
    website_id: String,
    session_id: String,
    visit_id: String,
    created_at: String,
    hostname: Option<String>,
    url_path: Option<String>,
    url_query: Option<String>,
    referrer_path: Option<String>,
    referrer_query: Option<String>,
    referrer_domain: Option<String>,
    country: Option<String>,
    region: Option<String>,
    city: Option<String>,
    device: Option<String>,
    os: Option<String>,
    browser: Option<String>,
    page_title: Option<String>,
    /// 1 page view, 2 custom event, 3 link, 4 pixel, 5 performance.
    event_type: i64,
    event_name: Option<String>,
    tag: Option<String>,
    distinct_id: Option<String>,
    has_data: bool,
}

pub async fn events(asked: Asked) -> Result<Json<Paged<Event>>, ApiError> {
    let mut scope = Scope::parse(&asked.query)?.with_bounces();
    let page = Page::from_query(&asked.query)?;
    if let Some(search) = page.searched() {
        scope.filters.search(SEARCHED, search)?;
    }
    let website = scope.website(&asked).await?;
    let question = scope.ask(sql::EVENTS, website).bind("website_id", website.id.to_string());
    Ok(Json(page.ask_steadily(&asked, website, question, |row| counted(row, Event::read)).await?))
}

impl Event {
    fn read(row: &Row<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            id: id(row, 1)?,
            website_id: row.text(2)?,
            session_id: id(row, 3)?,
            visit_id: id(row, 4)?,
            created_at: time(row, 5)?,
            hostname: row.optional_text(6)?,
            url_path: row.optional_text(7)?,
            url_query: row.optional_text(8)?,
            referrer_path: row.optional_text(9)?,
            referrer_query: row.optional_text(10)?,
            referrer_domain: row.optional_text(11)?,
            country: row.optional_text(12)?,
            region: row.optional_text(13)?,
            city: row.optional_text(14)?,
            device: row.optional_text(15)?,
            os: row.optional_text(16)?,
            browser: row.optional_text(17)?,
            page_title: row.optional_text(18)?,
            event_type: row.integer(19)?,
            event_name: row.optional_text(20)?,
            tag: row.optional_text(21)?,
            distinct_id: row.optional_text(22)?,
            has_data: row.boolean(23)?,
        })
    }
}
