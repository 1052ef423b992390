//! Revenue in one currency. `POST /api/reports/revenue` answers all of it, `GET …/revenue/chart`, `…/stats` and
//! `…/metrics?type=country` a part each. Sums are exact in the store and become numbers here.

use actix_web::HttpResponse;
use serde::Serialize;
use serde_json::{Value, json};

use super::Answer;
use crate::api::Asked;
use crate::api::params::{Compare, DateRange, invalid};
use crate::api::scope::{Buckets, Scope};
use crate::error::ApiError;
use crate::limits;
use crate::store::question::Question;
use crate::store::sql;
use crate::websites::Website;

/// One event in one bucket of time.
#[derive(Debug, Serialize)]
struct Bucket {
    x: String,
    t: String,
    y: f64,
    count: i64,
}

#[derive(Debug, Serialize)]
struct Figures {
    sum: Option<f64>,
    count: i64,
    unique_count: i64,
    total_sessions: i64,
    average: f64,
    arpu: f64,
}

/// The column of a part by its name: its expression, and whether it is that of the page on which the session began.
const METRICS: [(&str, &str, bool); 4] = [
    ("country", "country", false),
    ("region", "region", false),
    (
        "referrer",
        "CASE WHEN referrer_domain IS DISTINCT FROM CASE WHEN starts_with(hostname, 'www.') \
         THEN substr(hostname, 5) ELSE hostname END THEN nullif(referrer_domain, '') END",
        true,
    ),
    ("channel", "coalesce(channel, 'Unknown')", true),
];

/// What all parts ask.
struct Sales {
    scope: Scope,
    compared: DateRange,
    currency: String,
    buckets: Buckets,
}

impl Sales {
    fn parse(asked: &Asked) -> Result<Self, ApiError> {
        let scope = Scope::parse(&asked.query)?;
        let currency = asked.query.required("currency")?;
        if currency.chars().count() > limits::CURRENCY_CHARS_MAX {
            return Err(invalid("currency", "too long"));
        }
        let buckets = Buckets::of_report(&asked.query, scope.range)?;
        let compare = Compare::from_query(&asked.query)?.unwrap_or(Compare::Previous);
        Ok(Self {
            compared: scope.range.compared(compare, &buckets.timezone),
            buckets,
            currency: currency.to_uppercase(),
            scope,
        })
    }

    async fn chart(&mut self, asked: &Asked, website: Website) -> Result<Vec<Bucket>, ApiError> {
        self.scope.shorten(&asked.readers, website).await?;
        let question = self.scope.ask(sql::REVENUE_CHART, website);
        let question = self
            .buckets
            .bind(question, self.scope.range)
            .bind("currency", self.currency.as_str())
            .bind("limit", limits::SERIES_ROWS_MAX);
        let rows = asked.readers.ask(question, |row| {
            Ok(Bucket {
                x: row.text(0)?,
                t: row.text(1)?,
                y: row.number(2)?,
                count: row.integer(3)?,
            })
        });
        let timezone = &self.buckets.timezone;
        let labelled = |bucket: Bucket| Bucket { t: timezone.label(bucket.t), ..bucket };
        Ok(rows.await?.into_iter().map(labelled).collect())
    }

    async fn figures(
        &self,
        asked: &Asked,
        website: Website,
        range: DateRange,
    ) -> Result<Figures, ApiError> {
        let question = self
            .scope
            .filters
            .apply(Question::new(sql::REVENUE_STATS))
            .bind("website_key", website.key)
            .bind("currency", self.currency.as_str());
        let figures = asked.readers.ask_one(range.bind(question), |row| {
            let (sum, count, sessions) =
                (row.optional_number(0)?, row.integer(1)?, row.integer(3)?);
            let per = |whole: i64| {
                if whole > 0 { sum.unwrap_or_default() / whole as f64 } else { 0.0 }
            };
            Ok(Figures {
                sum,
                count,
                unique_count: row.integer(2)?,
                total_sessions: sessions,
                average: per(count),
                arpu: per(sessions),
            })
        });
        Ok(figures.await?)
    }

    /// The figures, and those of the range before.
    async fn total(&self, asked: &Asked, website: Website) -> Result<Value, ApiError> {
        let mut total = json!(self.figures(asked, website, self.scope.range).await?);
        let before = self.compared.since(website.reset_at);
        total["comparison"] = json!(self.figures(asked, website, before).await?);
        Ok(total)
    }

    /// A name that is not there is `unknown`.
    async fn metric(
        &self,
        asked: &Asked,
        website: Website,
        metric: (&str, &'static str, bool),
        unknown: &Value,
    ) -> Result<Vec<Value>, ApiError> {
        let (name, column, of_landing) = metric;
        let by_country = name == "region";
        let text = if of_landing { sql::REVENUE_SOURCES } else { sql::REVENUE_METRICS };
        let mut question = self
            .scope
            .ask(text, website)
            .column(column)
            .bind("currency", self.currency.as_str())
            .bind("limit", limits::METRIC_ROWS_DEFAULT);
        if !of_landing {
            question = question.bind("by_country", by_country);
        }
        let rows = asked.readers.ask(question, |row| {
            Ok((row.optional_text(0)?, row.optional_text(1)?, row.number(2)?))
        });
        let text = |text: Option<String>| text.map_or_else(|| unknown.clone(), Value::from);
        let named = rows.await?.into_iter().map(|(name, country, value)| {
            let mut row = json!({ "name": text(name), "value": value });
            if by_country {
                row["country"] = text(country);
            }
            row
        });
        Ok(named.collect())
    }
}

pub async fn chart(asked: Asked) -> Answer {
    let mut sales = Sales::parse(&asked)?;
    let website = sales.scope.website(&asked).await?;
    Ok(HttpResponse::Ok().json(json!({ "chart": sales.chart(&asked, website).await? })))
}

pub async fn stats(asked: Asked) -> Answer {
    let mut sales = Sales::parse(&asked)?;
    let website = sales.scope.website(&asked).await?;
    Ok(HttpResponse::Ok().json(sales.total(&asked, website).await?))
}

pub async fn metrics(asked: Asked) -> Answer {
    let mut sales = Sales::parse(&asked)?;
    let name = asked.query.required("type")?;
    let metric = METRICS.into_iter().find(|(known, ..)| *known == name);
    let metric =
        metric.ok_or_else(|| invalid("type", "expected country, region, referrer or channel"))?;
    let website = sales.scope.website(&asked).await?;
    Ok(HttpResponse::Ok().json(sales.metric(&asked, website, metric, &json!("")).await?))
}

pub async fn answer(asked: &Asked) -> Result<Value, ApiError> {
    let mut sales = Sales::parse(asked)?;
    let website = sales.scope.website(asked).await?;
    let mut answer = json!({ "total": sales.total(asked, website).await? });
    for metric in METRICS {
        answer[metric.0] = json!(sales.metric(asked, website, metric, &Value::Null).await?);
    }
    answer["chart"] = json!(sales.chart(asked, website).await?);
    Ok(answer)
}
