//! `GET /api/websites/{website}/event-data…`: the properties that events carry. One by one with their events
//! (`event-data`, `event-data/{id}`), as a table of one custom event (`event-data-pivot`), and counted: by event, by
//! name, by value. A page is answered with all properties of its events or not at all.

use actix_web::web::{self, Json};
use serde::Serialize;

use super::Asked;
use super::cells::{counted, id, optional_time, time};
use super::column::Column;
use super::page::{Page, Paged};
use super::params::{Query, invalid};
use super::scope::Scope;
use crate::error::ApiError;
use crate::limits;
use crate::store::question::{Question, Row};
use crate::store::sql;

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    const BASE: &str = "/api/websites/{website}/event-data";
    let path = |tail: &str| web::resource(format!("{BASE}{tail}"));
    cfg.service(path("").get(list))
        .service(path("-pivot").get(pivot))
        .service(path("/events").get(events))
        .service(path("/fields").get(fields))
        .service(path("/properties").get(properties))
        .service(path("/stats").get(stats))
        .service(path("/values").get(values))
        .service(path("/{id}").get(one));
}

/// A property as it is read, with what is known of its event.
struct Found {
    event_id: String,
    session_id: String,
    url_path: Option<String>,
    event_name: Option<String>,
    property: Property,
}

/// A property of an event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Property {
    data_key: String,
    string_value: Option<String>,
    number_value: Option<f64>,
    date_value: Option<String>,
    /// 1 string, 2 number, 3 boolean, 4 date, 5 array.
    data_type: i64,
    created_at: String,
}

impl Found {
    fn read(row: &Row<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            event_id: id(row, 1)?,
            session_id: id(row, 2)?,
            url_path: row.optional_text(3)?,
            event_name: row.optional_text(4)?,
            property: Property {
                created_at: time(row, 5)?,
                data_key: row.text(6)?,
                data_type: row.integer(7)?,
                string_value: row.optional_text(8)?,
                number_value: row.optional_number(9)?,
                date_value: optional_time(row, 10)?,
            },
        })
    }
}

/// A value as a cell of a table: of a number without a fraction of zeros, of a date the instant.
pub(super) fn shown(data_type: i64, text: Option<String>, date: Option<String>) -> String {
    let text = text.unwrap_or_default();
    match data_type {
        2 => text.trim_end_matches(".0000").to_owned(),
        4 => date.unwrap_or(text),
        _ => text,
    }
}

impl Property {
    fn shown(self) -> String {
        shown(self.data_type, self.string_value, self.date_value)
    }
}

/// A page of events of a name, or of any, with the properties of each.
async fn page(
    asked: &Asked,
    event_name: Option<&str>,
) -> Result<(Paged<Vec<Found>>, String), ApiError> {
    let mut scope = Scope::parse_strict(&asked.query)?.with_bounces();
    // A search is for other lists: these have none, and clients that send one get all rows, as ever.
    let page = Page { search: None, ..Page::from_query(&asked.query)? };
    let website = scope.website(asked).await?;
    let question = scope
        .ask(sql::EVENT_DATA, website)
        .bind("event_name", event_name.map(str::to_owned))
        .bind("rows_max", limits::PAGE_PROPERTIES_MAX as i64 + 1);
    let found =
        page.ask_steadily(asked, website, question, |row| counted(row, Found::read)).await?;
    let page = found.grouped(|one, other| one.event_id == other.event_id)?;
    Ok((page, website.id.to_string()))
}

/// One event and its properties.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    website_id: String,
    event_id: String,
    event_name: Option<String>,
    event_properties: Vec<Property>,
}

async fn list(asked: Asked) -> Result<Json<Paged<Event>>, ApiError> {
    let (page, website_id) = page(&asked, None).await?;
    Ok(Json(page.map(|found| Event {
        website_id: website_id.clone(),
        event_id: found[0].event_id.clone(),
        event_name: found[0].event_name.clone(),
        event_properties: found.into_iter().map(|found| found.property).collect(),
    })))
}

/// One event as a row of a table whose columns are properties.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    event_id: String,
    event_name: Option<String>,
    session_id: String,
    url_path: String,
    created_at: String,
    property_keys: Vec<String>,
    property_values: Vec<String>,
}

async fn pivot(asked: Asked) -> Result<Json<Paged<Line>>, ApiError> {
    let event_name = asked.query.required("eventName")?.to_owned();
    let (page, _) = page(&asked, Some(&event_name)).await?;
    Ok(Json(page.map(|found| Line {
        event_id: found[0].event_id.clone(),
        event_name: found[0].event_name.clone(),
        session_id: found[0].session_id.clone(),
        url_path: found[0].url_path.clone().unwrap_or_default(),
        created_at: found[0].property.created_at.clone(),
        property_keys: found.iter().map(|found| found.property.data_key.clone()).collect(),
        property_values: found.into_iter().map(|found| found.property.shown()).collect(),
    })))
}

/// A property of the one event, under the names of newer and older clients.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    /// Made of the event and the property's name: the same whenever it is asked for.
    id: String,
    website_id: String,
    event_id: String,
    website_event_id: String,
    event_name: Option<String>,
    #[serde(flatten)]
    property: Property,
}

async fn one(asked: Asked) -> Result<Json<Vec<Detail>>, ApiError> {
    let event_id = asked.fact_id()?;
    let website = asked.website().await?;
    let Some(event_id) = event_id else { return Ok(Json(Vec::new())) };
    let question = Question::new(sql::EVENT_DATA_ONE)
        .bind("website_key", website.key)
        .bind("event_id", event_id)
        .bind("start_at", website.reset_at.unwrap_or(i64::MIN))
        .bind("limit", limits::PROPERTY_ROWS_MAX);
    let found = asked.readers.ask(question, Found::read).await?;
    let event = asked.id()?;
    let detail = |found: Found| Detail {
        id: uuid::Uuid::new_v5(&event, found.property.data_key.as_bytes()).to_string(),
        website_id: website.id.to_string(),
        event_id: found.event_id.clone(),
        website_event_id: found.event_id,
        event_name: found.event_name,
        property: found.property,
    };
    Ok(Json(found.into_iter().map(detail).collect()))
}

/// The question about the properties of the events in a scope.
async fn counted_in(asked: &Asked, sql: &'static str) -> Result<Question, ApiError> {
    let mut scope = Scope::parse_strict(&asked.query)?.with_bounces();
    let website = scope.website(asked).await?;
    Ok(scope.ask(sql, website))
}

/// A property, or one of its values, and how often it was sent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    #[serde(skip_serializing_if = "Option::is_none")]
    event_name: Option<Option<String>>,
    property_name: String,
    data_type: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    property_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    total: i64,
}

async fn events(asked: Asked) -> Result<Json<Vec<Counted>>, ApiError> {
    let is_event = |(name, _): (&str, &str)| Column::of_parameter(name) == Some(Column::Event);
    let by_value = asked.query.iter().any(is_event);
    let question = counted_in(&asked, sql::EVENT_DATA_EVENTS)
        .await?
        .bind("by_value", by_value)
        .bind("limit", limits::PROPERTY_NAMES_MAX);
    let rows = asked.readers.ask(question, |row| {
        Ok(Counted {
            event_name: Some(row.optional_text(0)?),
            property_name: row.text(1)?,
            data_type: row.integer(2)?,
            property_value: row.optional_text(3)?,
            value: None,
            total: row.integer(4)?,
        })
    });
    Ok(Json(rows.await?))
}

async fn fields(asked: Asked) -> Result<Json<Vec<Counted>>, ApiError> {
    // Clients that know `eventName` want names; those that do not want every value.
    let event_name = asked.query.get("eventName").map(str::to_owned);
    let question = counted_in(&asked, sql::EVENT_DATA_FIELDS)
        .await?
        .bind("by_value", event_name.is_none())
        .bind("event_name", event_name)
        .bind("limit", limits::PROPERTY_VALUES_MAX);
    let rows = asked.readers.ask(question, |row| {
        Ok(Counted {
            event_name: None,
            property_name: row.text(0)?,
            data_type: row.integer(1)?,
            property_value: None,
            value: row.optional_text(2)?,
            total: row.integer(3)?,
        })
    });
    Ok(Json(rows.await?))
}

async fn properties(asked: Asked) -> Result<Json<Vec<Counted>>, ApiError> {
    let question = counted_in(&asked, sql::EVENT_DATA_PROPERTIES)
        .await?
        .bind("limit", limits::PROPERTY_NAMES_MAX);
    let rows = asked.readers.ask(question, |row| {
        Ok(Counted {
            event_name: Some(row.optional_text(0)?),
            property_name: row.text(1)?,
            data_type: row.integer(2)?,
            property_value: None,
            value: None,
            total: row.integer(3)?,
        })
    });
    Ok(Json(rows.await?))
}

/// How much there is of properties.
#[derive(Debug, Default, Serialize)]
struct Stats {
    events: i64,
    properties: i64,
    records: i64,
}

async fn stats(asked: Asked) -> Result<Json<Stats>, ApiError> {
    let question = counted_in(&asked, sql::EVENT_DATA_STATS).await?;
    let rows = asked.readers.ask(question, |row| {
        Ok(Stats { events: row.integer(0)?, properties: row.integer(1)?, records: row.integer(2)? })
    });
    Ok(Json(rows.await?.pop().unwrap_or_default()))
}

/// A value of a property, and how often it was sent.
#[derive(Debug, Serialize)]
pub(super) struct Value {
    pub value: Option<String>,
    pub total: i64,
}

async fn values(asked: Asked) -> Result<Json<Vec<Value>>, ApiError> {
    let property_name = asked.query.required("propertyName")?.to_owned();
    let data_type = data_type(&asked.query)?;
    let event_name = asked.query.get("eventName").map(str::to_owned);
    let question = counted_in(&asked, sql::EVENT_DATA_VALUES)
        .await?
        .bind("property_name", property_name)
        .bind("event_name", event_name)
        .bind("data_type", data_type)
        .bind("limit", limits::PROPERTY_VALUES_MAX);
    let rows = asked
        .readers
        .ask(question, |row| Ok(Value { value: row.optional_text(0)?, total: row.integer(1)? }));
    Ok(Json(rows.await?))
}

/// The type of properties that is asked for.
pub(super) fn data_type(query: &Query) -> Result<Option<i64>, ApiError> {
    let Some(text) = query.get("dataType") else { return Ok(None) };
    let known = text.trim().parse().ok().filter(|number| (1..=5).contains(number));
    known.map(Some).ok_or_else(|| invalid("dataType", "expected a number from 1 to 5"))
}
