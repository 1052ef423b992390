//! Retention: of the sessions first seen on a day, how many came again how many days later.
//! `POST /api/reports/retention` and `GET …/retention`.

use actix_web::HttpResponse;
use serde::Serialize;

use super::Answer;
use crate::api::Asked;
use crate::api::scope::Scope;
use crate::api::timezone::Timezone;
use crate::error::ApiError;
use crate::store::sql;

/// One cohort on one of its days; the percentage is of its sessions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Returned {
    date: String,
    day: i64,
    visitors: i64,
    return_visitors: i64,
    percentage: f64,
}

pub async fn get(asked: Asked) -> Answer {
    Ok(HttpResponse::Ok().json(answer(&asked).await?))
}

pub async fn answer(asked: &Asked) -> Result<Vec<Returned>, ApiError> {
    let mut scope = Scope::parse(&asked.query)?;
    let timezone = Timezone::from_query(&asked.query)?.unwrap_or_else(Timezone::utc);
    let website = scope.website(asked).await?;
    scope.shorten(&asked.readers, website).await?;
    let question = timezone.bind(scope.ask(sql::RETENTION, website), scope.range);
    let rows = asked.readers.ask(question, |row| {
        let (visitors, return_visitors) = (row.integer(2)?, row.integer(3)?);
        let percentage = return_visitors as f64 * 100.0 / visitors as f64;
        Ok(Returned {
            date: row.text(0)?,
            day: row.integer(1)?,
            visitors,
            return_visitors,
            percentage,
        })
    });
    let labelled = rows.await?.into_iter().map(|row| {
        let date = timezone.label(row.date);
        Returned { date, ..row }
    });
    Ok(labelled.collect())
}
