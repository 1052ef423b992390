//! `GET /api/websites/{website}/session-data…`: what `identify` told about sessions. A property is what it was last
//! set to, and a session belongs to a range when it has an event there (web vitals aside) that the filters let
//! through. As a table (`session-data-pivot`), and counted by name, by value, and with what these sessions did.

use actix_web::web::{self, Json};
use serde::Serialize;

use super::Asked;
use super::cells::{counted, id, optional_time, time};
use super::event_data::{Value, data_type, shown};
use super::page::{Page, Paged};
use super::scope::Scope;
use crate::error::ApiError;
use crate::limits;
use crate::store::question::{Question, Row};
use crate::store::sql;

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    const BASE: &str = "/api/websites/{website}/session-data";
    let path = |tail: &str| web::resource(format!("{BASE}{tail}"));
    cfg.service(path("-pivot").get(pivot))
        .service(path("/properties").get(properties))
        .service(path("/stats").get(stats))
        .service(path("/values").get(values));
}

/// The question about the sessions in a scope.
async fn about(asked: &Asked, sql: &'static str) -> Result<Question, ApiError> {
    let mut scope = Scope::parse_strict(&asked.query)?.with_bounces();
    let website = scope.website(asked).await?;
    Ok(scope.ask(sql, website))
}

/// One property of one session as it is read.
struct Found {
    session_id: String,
    distinct_id: Option<String>,
    created_at: String,
    key: String,
    value: String,
}

impl Found {
    fn read(row: &Row<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            session_id: id(row, 1)?,
            distinct_id: row.optional_text(2)?,
            created_at: time(row, 3)?,
            key: row.text(4)?,
            value: shown(row.integer(5)?, row.optional_text(6)?, optional_time(row, 7)?),
        })
    }
}

/// One session as a row of a table whose columns are properties.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    session_id: String,
    distinct_id: String,
    /// When the property that was asked for was set.
    created_at: String,
    property_keys: Vec<String>,
    property_values: Vec<String>,
}

async fn pivot(asked: Asked) -> Result<Json<Paged<Line>>, ApiError> {
    let property_name = asked.query.required("propertyName")?.to_owned();
    let page = Page { search: None, ..Page::from_query(&asked.query)? };
    let question = about(&asked, sql::SESSION_DATA_PIVOT)
        .await?
        .bind("property_name", property_name)
        .bind("rows_max", limits::PAGE_PROPERTIES_MAX as i64 + 1);
    let found = page.ask(&asked.readers, question, |row| counted(row, Found::read)).await?;
    let sessions = found.grouped(|one, other| one.session_id == other.session_id)?;
    Ok(Json(sessions.map(|found| Line {
        session_id: found[0].session_id.clone(),
        distinct_id: found[0].distinct_id.clone().unwrap_or_default(),
        created_at: found[0].created_at.clone(),
        property_keys: found.iter().map(|found| found.key.clone()).collect(),
        property_values: found.into_iter().map(|found| found.value).collect(),
    })))
}

/// A property, and how many sessions have it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    property_name: String,
    data_type: i64,
    total: i64,
}

async fn properties(asked: Asked) -> Result<Json<Vec<Counted>>, ApiError> {
    let property_name = asked.query.get("propertyName").map(str::to_owned);
    let question = about(&asked, sql::SESSION_DATA_PROPERTIES)
        .await?
        .bind("property_name", property_name)
        .bind("limit", limits::PROPERTY_NAMES_MAX);
    let rows = asked.readers.ask(question, |row| {
        Ok(Counted {
            property_name: row.text(0)?,
            data_type: row.integer(1)?,
            total: row.integer(2)?,
        })
    });
    Ok(Json(rows.await?))
}

/// What the sessions with one value did.
#[derive(Debug, Serialize)]
struct Stats {
    label: Option<String>,
    activity: i64,
    sessions: i64,
    visits: i64,
    views: i64,
    events: i64,
}

async fn stats(asked: Asked) -> Result<Json<Vec<Stats>>, ApiError> {
    let property_name = asked.query.required("propertyName")?.to_owned();
    let question = about(&asked, sql::SESSION_DATA_STATS)
        .await?
        .bind("property_name", property_name)
        .bind("limit", limits::PROPERTY_VALUES_MAX);
    let rows = asked.readers.ask(question, |row| {
        Ok(Stats {
            label: row.optional_text(0)?,
            activity: row.integer(1)?,
            sessions: row.integer(2)?,
            visits: row.integer(3)?,
            views: row.integer(4)?,
            events: row.integer(5)?,
        })
    });
    Ok(Json(rows.await?))
}

async fn values(asked: Asked) -> Result<Json<Vec<Value>>, ApiError> {
    // Without a name there is no property, and clients expect no values rather than an error.
    let property_name = asked.query.get("propertyName").unwrap_or_default().to_owned();
    let data_type = data_type(&asked.query)?;
    let question = about(&asked, sql::SESSION_DATA_VALUES)
        .await?
        .bind("property_name", property_name)
        .bind("data_type", data_type)
        .bind("limit", limits::PROPERTY_VALUES_MAX);
    let rows = asked
        .readers
        .ask(question, |row| Ok(Value { value: row.optional_text(0)?, total: row.integer(1)? }));
    Ok(Json(rows.await?))
}
