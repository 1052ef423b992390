//! `GET /api/websites/{website}/event-data-pivot/…`: one property of one custom event over time: its texts, the
//! elements of its arrays, its dates, its numbers, and these summed up. The same of sessions under `session-data/…`,
//! each where it set the property last. Buckets are those of every other series.

use std::collections::BTreeMap;

use actix_web::web::{self, Json};
use jiff::Timestamp;
use serde::Serialize;

use super::Asked;
use super::events_series::names_max;
use super::params::{Paging, Query, invalid};
use super::scope::{Buckets, Scope};
use crate::error::ApiError;
use crate::limits;
use crate::store::question::Question;
use crate::store::sql;

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    const BASE: &str = "/api/websites/{website}";
    let path = |tail: &str| web::resource(format!("{BASE}/event-data-pivot/{tail}"));
    let of_sessions = |tail: &str| web::resource(format!("{BASE}/session-data/{tail}"));
    cfg.service(path("property-series").get(async |asked| texts(asked, &EVENTS, false).await))
        .service(path("array-series").get(async |asked| texts(asked, &EVENTS, true).await))
        .service(path("date-series").get(async |asked| dates(asked, &EVENTS).await))
        .service(path("numeric-series").get(async |asked| numbers(asked, &EVENTS).await))
        .service(path("numeric-stats").get(async |asked| summary(asked, &EVENTS).await));
    cfg.service(
        of_sessions("property-series").get(async |asked| texts(asked, &SESSIONS, false).await),
    )
    .service(of_sessions("array-series").get(async |asked| texts(asked, &SESSIONS, true).await))
    .service(of_sessions("date-series").get(async |asked| dates(asked, &SESSIONS).await))
    .service(of_sessions("numeric-series").get(async |asked| numbers(asked, &SESSIONS).await))
    .service(of_sessions("numeric-stats").get(async |asked| summary(asked, &SESSIONS).await));
}

/// Whose properties, and the files that know them.
struct Owner {
    of_events: bool,
    texts: &'static str,
    dates: &'static str,
    numbers: &'static str,
    summary: &'static str,
}

const EVENTS: Owner = Owner {
    of_events: true,
    texts: sql::EVENT_DATA_TEXTS,
    dates: sql::EVENT_DATA_DATES,
    numbers: sql::EVENT_DATA_NUMBERS,
    summary: sql::EVENT_DATA_SUMMARY,
};

const SESSIONS: Owner = Owner {
    of_events: false,
    texts: sql::SESSION_DATA_TEXTS,
    dates: sql::SESSION_DATA_DATES,
    numbers: sql::SESSION_DATA_NUMBERS,
    summary: sql::SESSION_DATA_SUMMARY,
};

/// Which property is asked about, and when.
struct Params {
    scope: Scope,
    buckets: Buckets,
    property_name: String,
    event_name: Option<String>,
}

impl Params {
    fn parse(query: &Query, owner: &Owner) -> Result<Self, ApiError> {
        let scope = Scope::parse_strict(query)?.with_bounces();
        let buckets = Buckets::of_report(query, scope.range)?;
        let property_name = query.required("propertyName")?.to_owned();
        let event_name = owner.of_events.then(|| query.required("eventName").map(str::to_owned));
        Ok(Self { scope, buckets, property_name, event_name: event_name.transpose()? })
    }

    /// The question, with what all of them are told.
    async fn ask(&mut self, asked: &Asked, question: Question) -> Result<Question, ApiError> {
        let website = self.scope.website(asked).await?;
        self.scope.shorten(&asked.readers, website).await?;
        let question = self
            .scope
            .narrow(question, website)
            .bind("property_name", std::mem::take(&mut self.property_name));
        Ok(match self.event_name.take() {
            Some(event_name) => question.bind("event_name", event_name),
            None => question,
        })
    }
}

/// How often a value was there in one bucket.
#[derive(Debug, Serialize)]
struct Counted {
    x: String,
    t: String,
    y: i64,
}

async fn texts(
    asked: Asked,
    owner: &Owner,
    is_array: bool,
) -> Result<Json<Vec<Counted>>, ApiError> {
    let mut params = Params::parse(&asked.query, owner)?;
    let paging = Paging { limit: limits::METRIC_ROWS_DEFAULT, offset: 0 };
    let names_max = names_max(params.buckets.unit, paging);
    let question = params.ask(&asked, Question::new(owner.texts)).await?;
    let Params { buckets, scope, .. } = params;
    let question =
        buckets.bind(question, scope.range).bind("is_array", is_array).bind("names_max", names_max);
    let rows = asked
        .readers
        .ask(question, |row| Ok(Counted { x: row.text(0)?, t: row.text(1)?, y: row.integer(2)? }));
    let mut rows = rows.await?;
    for row in &mut rows {
        row.t = buckets.timezone.label(std::mem::take(&mut row.t));
    }
    Ok(Json(rows))
}

/// A figure at a time.
#[derive(Debug, Serialize)]
struct Point<T> {
    t: String,
    y: T,
}

async fn dates(asked: Asked, owner: &Owner) -> Result<Json<Vec<Point<i64>>>, ApiError> {
    let mut params = Params::parse(&asked.query, owner)?;
    let question = params.ask(&asked, Question::new(owner.dates)).await?;
    let question = question.bind("limit", limits::METRIC_ROWS_MAX);
    let rows = asked.readers.ask(question, |row| Ok((row.integer(0)?, row.integer(1)?))).await?;
    // Dates lie anywhere, so their zone's offset is looked up for each; two instants can be one local time.
    let mut by_local = BTreeMap::new();
    for (date_at, total) in rows {
        let Ok(instant) = Timestamp::from_millisecond(date_at) else { continue };
        *by_local.entry(params.buckets.timezone.local(instant)).or_default() += total;
    }
    let point = |(local, y): (jiff::civil::DateTime, i64)| Point {
        t: params.buckets.timezone.label(local.strftime("%Y-%m-%d %H:%M:%S").to_string()),
        y,
    };
    Ok(Json(by_local.into_iter().map(point).collect()))
}

async fn numbers(asked: Asked, owner: &Owner) -> Result<Json<Vec<Point<f64>>>, ApiError> {
    let figure = match asked.query.get("metric").unwrap_or("sum") {
        "sum" => "sum(number_value)",
        "avg" => "avg(number_value)",
        "count" => "count(number_value)",
        _ => return Err(invalid("metric", "expected sum, avg or count")),
    };
    let mut params = Params::parse(&asked.query, owner)?;
    let question = params.ask(&asked, Question::new(owner.numbers).column(figure)).await?;
    let Params { buckets, scope, .. } = params;
    let question = buckets.bind(question, scope.range);
    let rows = asked.readers.ask(question, |row| Ok(Point { t: row.text(0)?, y: row.number(1)? }));
    let mut rows = rows.await?;
    for row in &mut rows {
        row.t = buckets.timezone.label(std::mem::take(&mut row.t));
    }
    Ok(Json(rows))
}

/// Numbers summed up; of none they are 0.
#[derive(Debug, Default, Serialize)]
struct Summary {
    total: f64,
    average: f64,
    median: f64,
    min: f64,
    max: f64,
}

async fn summary(asked: Asked, owner: &Owner) -> Result<Json<Summary>, ApiError> {
    let mut params = Params::parse(&asked.query, owner)?;
    let question = params.ask(&asked, Question::new(owner.summary)).await?;
    let rows = asked.readers.ask(question, |row| {
        let figure = |column| Ok(row.optional_number(column)?.unwrap_or_default());
        let figure: &dyn Fn(usize) -> anyhow::Result<f64> = &figure;
        Ok(Summary {
            total: figure(0)?,
            average: figure(1)?,
            median: figure(2)?,
            min: figure(3)?,
            max: figure(4)?,
        })
    });
    Ok(Json(rows.await?.pop().unwrap_or_default()))
}
