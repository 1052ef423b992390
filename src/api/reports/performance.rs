//! Web vitals: percentiles of what browsers measured. `POST /api/reports/performance` answers all of it,
//! `GET …/performance/chart`, `…/stats` and `…/metrics?type=path` a part each.

use actix_web::HttpResponse;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Answer;
use crate::api::Asked;
use crate::api::params::{Query, invalid};
use crate::api::scope::{Buckets, Scope};
use crate::error::ApiError;
use crate::limits;
use crate::store::question::Row;
use crate::store::sql;
use crate::websites::Website;

/// The vitals in the order of `performance_stats.sql`; also their columns.
const VITALS: [&str; 5] = ["lcp", "inp", "cls", "fcp", "ttfb"];

/// The columns by which a vital is listed: name in a query, in the older shape, in the event table.
const COLUMNS: [(&str, &str, &str); 4] = [
    ("path", "pages", "url_path"),
    ("title", "pageTitles", "page_title"),
    ("device", "devices", "device"),
    ("browser", "browsers", "browser"),
];

#[derive(Debug, Serialize)]
struct Percentiles {
    p50: f64,
    p75: f64,
    p95: f64,
}

impl Percentiles {
    /// From three columns, the first of which is given.
    fn read(row: &Row<'_>, first: usize) -> anyhow::Result<Self> {
        Ok(Self {
            p50: row.number(first)?,
            p75: row.number(first + 1)?,
            p95: row.number(first + 2)?,
        })
    }
}

fn vital(query: &Query) -> Result<&'static str, ApiError> {
    let name = query.get("metric").unwrap_or("lcp");
    let vital = VITALS.into_iter().find(|vital| *vital == name);
    vital.ok_or_else(|| invalid("metric", "expected lcp, inp, cls, fcp or ttfb"))
}

pub async fn chart(asked: Asked) -> Answer {
    let mut scope = Scope::parse(&asked.query)?;
    let (vital, buckets) = (vital(&asked.query)?, Buckets::of_report(&asked.query, scope.range)?);
    let website = scope.website(&asked).await?;
    let chart = series(&asked, &mut scope, website, vital, &buckets).await?;
    Ok(HttpResponse::Ok().json(json!({ "chart": chart })))
}

pub async fn stats(asked: Asked) -> Answer {
    let mut scope = Scope::parse(&asked.query)?;
    let website = scope.website(&asked).await?;
    Ok(HttpResponse::Ok().json(summary(&asked, &scope, website).await?))
}

pub async fn metrics(asked: Asked) -> Answer {
    let mut scope = Scope::parse(&asked.query)?;
    let vital = vital(&asked.query)?;
    let name = asked.query.required("type")?;
    let column = COLUMNS.into_iter().find(|(known, ..)| *known == name);
    let (_, _, column) =
        column.ok_or_else(|| invalid("type", "expected path, title, device or browser"))?;
    let limit = asked.query.number("limit")?.unwrap_or(limits::METRIC_ROWS_DEFAULT as f64);
    if limit < 0.0 {
        return Err(invalid("limit", "expected a number from 0"));
    }
    let limit = (limit as i64).min(limits::METRIC_ROWS_MAX);
    let website = scope.website(&asked).await?;
    let rows = list(&asked, &scope, website, (column, vital, limit), &json!("")).await?;
    Ok(HttpResponse::Ok().json(rows))
}

pub async fn answer(asked: &Asked) -> Result<Value, ApiError> {
    let mut scope = Scope::parse(&asked.query)?;
    let (vital, buckets) = (vital(&asked.query)?, Buckets::of_report(&asked.query, scope.range)?);
    let website = scope.website(asked).await?;
    let mut answer = json!({ "summary": summary(asked, &scope, website).await? });
    for (_, name, column) in COLUMNS {
        let what = (column, vital, limits::METRIC_ROWS_DEFAULT);
        answer[name] = json!(list(asked, &scope, website, what, &Value::Null).await?);
    }
    answer["chart"] = json!(series(asked, &mut scope, website, vital, &buckets).await?);
    Ok(answer)
}

async fn series(
    asked: &Asked,
    scope: &mut Scope,
    website: Website,
    vital: &'static str,
    buckets: &Buckets,
) -> Result<Vec<Value>, ApiError> {
    scope.shorten(&asked.readers, website).await?;
    let question = scope.ask(sql::PERFORMANCE_CHART, website).column(vital);
    let question = buckets.bind(question, scope.range);
    let rows =
        asked.readers.ask(question, |row| Ok((row.text(0)?, Percentiles::read(row, 1)?))).await?;
    let labelled = rows.into_iter().map(|(local, percentiles)| {
        let mut bucket = json!(percentiles);
        bucket["t"] = json!(buckets.timezone.label(local));
        bucket
    });
    Ok(labelled.collect())
}

async fn summary(
    asked: &Asked,
    scope: &Scope,
    website: Website,
) -> Result<Map<String, Value>, ApiError> {
    let question = scope.ask(sql::PERFORMANCE_STATS, website);
    let summary = asked.readers.ask_one(question, |row| {
        let mut summary = Map::new();
        for (vital, first) in VITALS.into_iter().zip((0..).step_by(3)) {
            summary.insert(vital.to_owned(), json!(Percentiles::read(row, first)?));
        }
        summary.insert("count".to_owned(), json!(row.integer(3 * VITALS.len())?));
        Ok(summary)
    });
    Ok(summary.await?)
}

/// A name that is not there is `unknown`.
async fn list(
    asked: &Asked,
    scope: &Scope,
    website: Website,
    (column, vital, limit): (&str, &str, i64),
    unknown: &Value,
) -> Result<Vec<Value>, ApiError> {
    let question = scope
        .ask(sql::PERFORMANCE_METRICS, website)
        .expression(&format!("struct_pack(value := {column}, vital := {vital})"), &[])
        .bind("limit", limit);
    let rows = asked.readers.ask(question, |row| {
        Ok((row.optional_text(0)?, Percentiles::read(row, 1)?, row.integer(4)?))
    });
    let named = rows.await?.into_iter().map(|(name, percentiles, count)| {
        let mut row = json!(percentiles);
        row["name"] = name.map_or_else(|| unknown.clone(), Value::from);
        row["count"] = json!(count);
        row
    });
    Ok(named.collect())
}
