//! `GET /api/websites/{website}/metrics/expanded`: the values of one column and the five figures of each.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use super::metrics::{Metric, Params};
use super::stats::Figures;
use crate::error::ApiError;
use crate::store::question::Question;
use crate::store::sql;

/// The well-known site of a referrer by whole labels of its host, first match first; what matches none is `Other`.
macro_rules! domain_group {
    ($($label:literal => $site:literal,)+) => {
        concat!(
            "CASE WHEN coalesce(referrer_domain, '') = '' THEN NULL",
            $(" WHEN contains('.' || lower(referrer_domain) || '.', '.", $label, ".') THEN '", $site, "'",)+
            " ELSE 'Other' END"
        )
    };
}

/// By label, so that `notreddit.com` is not Reddit and `netflix.com` does not end in `x.com`.
const DOMAIN: &str = domain_group! {
    "baidu" => "baidu.com",
    "bing" => "bing.com",
    "brave" => "brave.com",
    "chatgpt" => "chatgpt.com",
    "duckduckgo" => "duckduckgo.com",
    "facebook" => "facebook.com",
    "github" => "github.com",
    "google" => "google.com",
    "news.ycombinator.com" => "news.ycombinator.com",
    "instagram" => "instagram.com",
    "ig.com" => "instagram.com",
    "linkedin" => "linkedin.com",
    "pinterest" => "pinterest.com",
    "reddit" => "reddit.com",
    "snapchat" => "snapchat.com",
    "twitter" => "twitter.com",
    "t.co" => "twitter.com",
    "x.com" => "twitter.com",
    "yahoo" => "yahoo.com",
    "yandex" => "yandex.ru",
};

/// One value and its figures.
#[derive(Debug, Serialize)]
pub struct Entry {
    name: String,
    #[serde(flatten)]
    figures: Figures,
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<String>,
    /// Null beside every channel, which clients of Umami have come to see; of no use.
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<()>,
}

pub async fn metrics(asked: Asked) -> Result<Json<Vec<Entry>>, ApiError> {
    let mut params = Params::parse(&asked)?;
    let website = asked.website().await?;
    params.filters.check(&asked.readers, website).await?;
    params.range = params.range.since(website.reset_at);
    let question = match params.metric {
        Metric::Entry => Question::new(sql::METRICS_EXPANDED_EDGE).column("first_at"),
        Metric::Exit => Question::new(sql::METRICS_EXPANDED_EDGE).column("last_at"),
        metric => Question::new(sql::METRICS_EXPANDED)
            .column(if metric == Metric::Domain { DOMAIN } else { metric.sql() })
            .bind("by_country", metric.by_country())
            .bind("custom", metric == Metric::Event),
    };
    let rows = asked.readers.ask(params.bind(question, website.key), |row| {
        let figures = Figures::read_from(row, 2)?;
        Ok(Entry { name: row.text(0)?, country: row.optional_text(1)?, figures, y: None })
    });
    let mut entries = rows.await?;
    if params.metric == Metric::Channel {
        for entry in &mut entries {
            entry.y = Some(());
        }
    }
    Ok(Json(entries))
}
