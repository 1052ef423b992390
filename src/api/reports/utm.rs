//! Campaigns: page views by their utm values. `POST /api/reports/utm` answers all five at once,
//! `GET …/utm/metrics?type=utm_source` one of them.

use std::collections::BTreeMap;

use actix_web::HttpResponse;
use serde::Serialize;

use super::Answer;
use crate::api::Asked;
use crate::api::params::invalid;
use crate::api::scope::Scope;
use crate::error::ApiError;
use crate::limits;
use crate::store::sql;
use crate::websites::Website;

const COLUMNS: [&str; 5] = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"];

/// One value and the page views that carry it.
#[derive(Debug, Serialize)]
pub struct Campaign {
    utm: String,
    views: i64,
}

pub async fn get(asked: Asked) -> Answer {
    let mut scope = Scope::parse(&asked.query)?;
    let name = asked.query.required("type")?;
    let column = COLUMNS.into_iter().find(|column| *column == name);
    let column = column.ok_or_else(|| invalid("type", "expected utm_source, utm_medium, …"))?;
    let website = scope.website(&asked).await?;
    Ok(HttpResponse::Ok().json(values(&asked, &scope, website, column).await?))
}

pub async fn answer(asked: &Asked) -> Result<BTreeMap<&'static str, Vec<Campaign>>, ApiError> {
    let mut scope = Scope::parse(&asked.query)?;
    let website = scope.website(asked).await?;
    let mut answer = BTreeMap::new();
    for column in COLUMNS {
        answer.insert(column, values(asked, &scope, website, column).await?);
    }
    Ok(answer)
}

async fn values(
    asked: &Asked,
    scope: &Scope,
    website: Website,
    column: &'static str,
) -> Result<Vec<Campaign>, ApiError> {
    let question = scope.ask(sql::UTM, website).column(column).bind("limit", limits::UTM_ROWS_MAX);
    let rows = asked
        .readers
        .ask(question, |row| Ok(Campaign { utm: row.text(0)?, views: row.integer(1)? }));
    Ok(rows.await?)
}
