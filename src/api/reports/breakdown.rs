//! Breakdown: the five figures by the values of several columns at once. `POST /api/reports/breakdown` (a value that is
//! not there is null) and `GET …/breakdown?fields=country,city` (it is the empty text).

use actix_web::HttpResponse;
use serde_json::{Value, json};

use super::Answer;
use crate::api::Asked;
use crate::api::column::Column;
use crate::api::params::{Query, invalid};
use crate::api::scope::Scope;
use crate::api::stats::Figures;
use crate::error::ApiError;
use crate::limits;
use crate::store::sql;

pub async fn get(asked: Asked) -> Answer {
    Ok(HttpResponse::Ok().json(breakdown(&asked, &json!("")).await?))
}

pub async fn answer(asked: &Asked) -> Result<Vec<Value>, ApiError> {
    breakdown(asked, &Value::Null).await
}

async fn breakdown(asked: &Asked, unknown: &Value) -> Result<Vec<Value>, ApiError> {
    let mut scope = Scope::parse(&asked.query)?;
    let fields = fields(&asked.query)?;
    let website = scope.website(asked).await?;
    let columns: Vec<&str> = fields.iter().map(|(_, column)| column.sql()).collect();
    let question = scope
        .ask(sql::BREAKDOWN, website)
        .expression(&format!("[{}]", columns.join(", ")), &[])
        .bind("limit", limits::BREAKDOWN_ROWS_MAX);
    let rows = asked.readers.ask(question, |row| {
        let values: Vec<Option<String>> = serde_json::from_str(&row.text(0)?)?;
        Ok((values, Figures::read_from(row, 1)?))
    });
    let named = rows.await?.into_iter().map(|(values, figures)| {
        let mut row = json!({
            "views": figures.pageviews,
            "visitors": figures.visitors,
            "visits": figures.visits,
            "bounces": figures.bounces,
            "totaltime": figures.totaltime,
        });
        for ((name, _), value) in fields.iter().zip(values) {
            row[name] = value.map_or_else(|| unknown.clone(), Value::from);
        }
        row
    });
    Ok(named.collect())
}

/// The columns by their names, between commas or as a JSON list.
fn fields(query: &Query) -> Result<Vec<(String, Column)>, ApiError> {
    let text = query.required("fields")?;
    let names: Vec<String> = serde_json::from_str(text)
        .unwrap_or_else(|_| text.split(',').map(|name| name.trim().to_owned()).collect());
    if !(1..=limits::BREAKDOWN_FIELDS_MAX).contains(&names.len()) {
        return Err(invalid("fields", "expected one or more"));
    }
    let column = |name: String| {
        let known =
            Column::of_name(&name).filter(|_| !name.ends_with(|c: char| c.is_ascii_digit()));
        known
            .map(|column| (name, column))
            .ok_or_else(|| invalid("fields", "there is no such column"))
    };
    names.into_iter().map(column).collect()
}
