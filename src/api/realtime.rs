//! `GET /api/realtime/{website}`: the last half hour. Series and totals are of the whole window; lists and counts by
//! country, page and referrer are those of its latest events, which come newest first, the first one of a session
//! followed by an entry for the session itself.

use std::collections::{HashMap, HashSet};

use actix_web::web::Json;
use serde::{Serialize, Serializer};

use super::Asked;
use super::filter::Filters;
use super::pageviews::{self, Cut};
use super::params::{DateRange, Unit};
use super::timezone::Timezone;
use crate::error::ApiError;
use crate::identity::uuid_of;
use crate::store::question::{Question, Row};
use crate::store::sql;
use crate::{clock, limits};

/// One event as it happened.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Happened {
    session_id: String,
    event_name: Option<String>,
    created_at: String,
    browser: Option<String>,
    os: Option<String>,
    device: Option<String>,
    country: Option<String>,
    url_path: Option<String>,
    referrer_domain: Option<String>,
    hostname: Option<String>,
}

/// An entry of the list: an event, or the beginning of a session.
#[derive(Debug, Serialize)]
pub struct Entry {
    #[serde(rename = "__type")]
    kind: &'static str,
    #[serde(flatten)]
    happened: Happened,
}

/// Names and how often each came, most frequent first.
#[derive(Debug, Default)]
pub struct Counts(HashMap<String, i64>);

/// A minute under both names that clients know.
#[derive(Debug, Serialize)]
pub struct Point {
    x: String,
    t: String,
    y: i64,
}

#[derive(Debug, Serialize)]
pub struct Series {
    views: Vec<Point>,
    visitors: Vec<Point>,
}

/// `visitors` is the sum of the minutes' visitors, as clients draw it.
#[derive(Debug, Serialize)]
pub struct Totals {
    views: i64,
    visitors: i64,
    events: usize,
    countries: usize,
}

#[derive(Debug, Serialize)]
pub struct Response {
    countries: Counts,
    urls: Counts,
    referrers: Counts,
    events: Vec<Entry>,
    series: Series,
    totals: Totals,
    /// ms since 1970 UTC.
    timestamp: i64,
}

pub async fn realtime(asked: Asked) -> Result<Json<Response>, ApiError> {
    let timezone = Timezone::from_query(&asked.query)?.unwrap_or_else(Timezone::utc);
    let mut filters = Filters::from_query(&asked.query)?;
    let website = asked.website().await?;
    filters.check(&asked.readers, website).await?;
    let now = clock::now_ms();
    let minute = now - now.rem_euclid(60_000);
    let range = DateRange { start_at: minute - limits::REALTIME_MS, end_at: now };
    let question = filters
        .apply(Question::new(sql::REALTIME).once())
        .bind("website_key", website.key)
        .bind("start_at", range.since(website.reset_at).start_at)
        .bind("end_at", range.end_at)
        .bind("limit", limits::REALTIME_ROWS_MAX);
    let newest_first = asked.readers.ask(question, Happened::read).await?;
    let cut = Cut { timezone, unit: Unit::Minute, filters };
    let series = pageviews::series(&asked.readers, website, range, &cut).await?;
    let point = |point: pageviews::Point| Point { t: point.x.clone(), x: point.x, y: point.y };
    let series = Series {
        views: series.pageviews.into_iter().map(point).collect(),
        visitors: series.sessions.into_iter().map(point).collect(),
    };
    Ok(Json(Response::of(newest_first, series, now)))
}

impl Response {
    fn of(newest_first: Vec<Happened>, series: Series, timestamp: i64) -> Self {
        let (mut countries, mut urls, mut referrers) =
            (Counts::default(), Counts::default(), Counts::default());
        let custom_events = newest_first.iter().filter(|one| one.event_name.is_some()).count();
        let mut seen = HashSet::new();
        let mut events = Vec::with_capacity(newest_first.len() * 2);
        for happened in newest_first.into_iter().rev() {
            if seen.insert(happened.session_id.clone()) {
                countries.add(happened.country.as_deref());
                events.push(Entry { kind: "session", happened: happened.clone() });
            }
            urls.add(happened.url_path.as_deref());
            referrers.add(happened.referrer_domain.as_deref());
            let kind = if happened.event_name.is_some() { "event" } else { "pageview" };
            events.push(Entry { kind, happened });
        }
        events.reverse();
        let totals = Totals {
            views: series.views.iter().map(|point| point.y).sum(),
            visitors: series.visitors.iter().map(|point| point.y).sum(),
            events: custom_events,
            countries: countries.0.len(),
        };
        Self { countries, urls, referrers, events, series, totals, timestamp }
    }
}

impl Counts {
    /// Counts a name; none and the empty one are no names.
    fn add(&mut self, name: Option<&str>) {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            *self.0.entry(name.to_owned()).or_default() += 1;
        }
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sorted: Vec<(&String, &i64)> = self.0.iter().collect();
        sorted.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        serializer.collect_map(sorted)
    }
}

impl Happened {
    fn read(row: &Row<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            session_id: uuid_of(row.id(0)?).to_string(),
            event_name: row.optional_text(1)?,
            created_at: clock::iso(row.integer(2)?),
            browser: row.optional_text(3)?,
            os: row.optional_text(4)?,
            device: row.optional_text(5)?,
            country: row.optional_text(6)?,
            url_path: row.optional_text(7)?,
            referrer_domain: row.optional_text(8)?,
            hostname: row.optional_text(9)?,
        })
    }
}
