//! Attribution: where the sessions came from that viewed a page or sent an event. `POST /api/reports/attribution` and
//! `GET …/attribution`. A currency may be named and changes nothing: sessions are counted.

use actix_web::HttpResponse;
use serde::Serialize;

use super::Answer;
use crate::api::Asked;
use crate::api::operator::Values;
use crate::api::params::invalid;
use crate::api::scope::Scope;
use crate::error::ApiError;
use crate::store::sql;

/// A source and its sessions.
#[derive(Debug, Serialize)]
pub struct Source {
    name: String,
    value: i64,
}

/// The rows that are the conversion, their sessions and visits.
#[derive(Debug, Serialize)]
struct Total {
    pageviews: i64,
    visitors: i64,
    visits: i64,
}

#[derive(Debug, Serialize)]
pub struct Sources {
    referrer: Vec<Source>,
    #[serde(rename = "paidAds")]
    paid_ads: Vec<Source>,
    utm_source: Vec<Source>,
    utm_medium: Vec<Source>,
    utm_campaign: Vec<Source>,
    utm_content: Vec<Source>,
    utm_term: Vec<Source>,
    total: Total,
}

pub async fn get(asked: Asked) -> Answer {
    Ok(HttpResponse::Ok().json(answer(&asked).await?))
}

pub async fn answer(asked: &Asked) -> Result<Sources, ApiError> {
    let mut scope = Scope::parse(&asked.query)?;
    let first = match asked.query.required("model")? {
        "first-click" => true,
        "last-click" => false,
        _ => return Err(invalid("model", "expected first-click or last-click")),
    };
    let kind = asked.query.required("type")?;
    if !["path", "event"].contains(&kind) {
        return Err(invalid("type", "expected path or event"));
    }
    let mut values = Values::new('s');
    let step = format!("({})", values.step(kind, asked.query.required("step")?)?);
    let website = scope.website(asked).await?;

    let total = scope.ask(sql::ATTRIBUTION_TOTAL, website).expression(&step, values.bound());
    let total = asked.readers.ask_one(total, |row| {
        Ok(Total { pageviews: row.integer(0)?, visitors: row.integer(1)?, visits: row.integer(2)? })
    });
    let total = total.await?;
    let question =
        scope.ask(sql::ATTRIBUTION, website).expression(&step, values.bound()).bind("first", first);
    let rows = asked.readers.ask(question, |row| {
        Ok((row.text(0)?, Source { name: row.text(1)?, value: row.integer(2)? }))
    });
    let mut sources = Sources {
        referrer: Vec::new(),
        paid_ads: Vec::new(),
        utm_source: Vec::new(),
        utm_medium: Vec::new(),
        utm_campaign: Vec::new(),
        utm_content: Vec::new(),
        utm_term: Vec::new(),
        total,
    };
    for (kind, source) in rows.await? {
        let list = match kind.as_str() {
            "referrer" => &mut sources.referrer,
            "advertiser" => &mut sources.paid_ads,
            "utm_source" => &mut sources.utm_source,
            "utm_medium" => &mut sources.utm_medium,
            "utm_campaign" => &mut sources.utm_campaign,
            "utm_content" => &mut sources.utm_content,
            _ => &mut sources.utm_term,
        };
        list.push(source);
    }
    Ok(sources)
}
