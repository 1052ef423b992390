//! `GET /api/websites/{website}/metrics`: the values of one column and the visitors of each. The columns that can be
//! asked for are the closed enum [`Metric`], which `metrics_expanded` shares.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use super::column::Column;
use super::filter::{FOREIGN_REFERRER, Filters};
use super::params::{DateRange, Paging, Query};
use super::timezone::Timezone;
use crate::error::ApiError;
use crate::limits;
use crate::store::question::Question;
use crate::store::reader::Readers;
use crate::store::sql;
use crate::websites::Website;

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// A column of the event.
    Of(Column),
    /// The referrer's host; in the expanded form the well-known sites are one each.
    Domain,
    /// The first two letters.
    Language,
    Channel,
    /// The first and last pages of visits.
    Entry,
    Exit,
    /// Custom events by name.
    Event,
}

/// The names of metrics that are a column as it is.
const COLUMNS: [(&str, Column); 18] = [
    ("path", Column::Path),
    ("title", Column::Title),
    ("query", Column::Query),
    ("referrer", Column::Referrer),
    ("hostname", Column::Hostname),
    ("tag", Column::Tag),
    ("utmSource", Column::UtmSource),
    ("utmMedium", Column::UtmMedium),
    ("utmCampaign", Column::UtmCampaign),
    ("utmContent", Column::UtmContent),
    ("utmTerm", Column::UtmTerm),
    ("browser", Column::Browser),
    ("os", Column::Os),
    ("device", Column::Device),
    ("screen", Column::Screen),
    ("country", Column::Country),
    ("region", Column::Region),
    ("city", Column::City),
];

impl Metric {
    /// From `type`.
    ///
    /// # Errors
    /// When it is missing or unknown.
    pub fn from_query(query: &Query) -> Result<Self, ApiError> {
        let name = query
            .get("type")
            .ok_or_else(|| ApiError::bad_request("Invalid type: it is missing"))?;
        let column = COLUMNS.into_iter().find(|(known, _)| *known == name);
        Ok(match (column, name) {
            (Some((_, column)), _) => Self::Of(column),
            (None, "distinctId") => Self::Of(Column::DistinctId),
            (None, "domain") => Self::Domain,
            (None, "language") => Self::Language,
            (None, "channel") => Self::Channel,
            (None, "entry") => Self::Entry,
            (None, "exit") => Self::Exit,
            (None, "event") => Self::Event,
            _ => return Err(ApiError::bad_request("Bad request")),
        })
    }

    /// Its expression in the event table.
    #[must_use]
    pub fn sql(self) -> &'static str {
        match self {
            Self::Language => "lower(left(language, 2))",
            Self::Channel => "channel",
            _ => self.column().map_or("url_path", Column::sql),
        }
    }

    /// The column that is searched; a channel is not.
    fn column(self) -> Option<Column> {
        match self {
            Self::Of(column) => Some(column),
            Self::Domain => Some(Column::Referrer),
            Self::Language => Some(Column::Language),
            Self::Entry | Self::Exit => Some(Column::Path),
            Self::Event => Some(Column::Event),
            Self::Channel => None,
        }
    }

    /// Whether two places of one name in two countries are two.
    #[must_use]
    pub fn by_country(self) -> bool {
        matches!(self, Self::Of(Column::Region | Column::City))
    }
}

/// The parameters of both forms.
pub struct Params {
    pub metric: Metric,
    pub range: DateRange,
    pub filters: Filters,
    pub paging: Paging,
}

impl Params {
    /// Reads them.
    ///
    /// # Errors
    /// 400 with what is wrong.
    pub fn parse(asked: &Asked) -> Result<Self, ApiError> {
        let range = Self::range(&asked.query)?;
        let metric = Metric::from_query(&asked.query)?;
        let mut params = Self::of(&asked.query, range, metric)?;
        params.paging = Paging::from_query(&asked.query)?;
        match (metric.column(), asked.query.get("search")) {
            (Some(column), Some(search)) if !search.is_empty() => {
                params.filters.search(column.sql(), search)?;
            }
            // There are a dozen channels: they always come whole.
            (None, _) => params.paging = Paging::whole(),
            _ => {}
        }
        Ok(params)
    }

    /// Those of a metric that the query string does not choose, and of its first rows.
    ///
    /// # Errors
    /// 400 with what is wrong.
    pub fn of_first_rows(query: &Query, metric: Metric) -> Result<Self, ApiError> {
        Self::of(query, Self::range(query)?, metric)
    }

    fn range(query: &Query) -> Result<DateRange, ApiError> {
        let timezone = Timezone::from_query(query)?.unwrap_or_else(Timezone::utc);
        DateRange::from_query(query, &timezone)
    }

    fn of(query: &Query, range: DateRange, metric: Metric) -> Result<Self, ApiError> {
        let mut filters = Filters::from_query(query)?;
        match metric {
            Metric::Of(Column::Referrer) | Metric::Domain => filters.require(FOREIGN_REFERRER),
            Metric::Event => filters = filters.of_custom_events(),
            _ => {}
        }
        let paging = Paging { limit: limits::METRIC_ROWS_DEFAULT, offset: 0 };
        Ok(Self { metric, range, filters, paging })
    }

    /// Asks for the values and their figures.
    ///
    /// # Errors
    /// 400 for an expression that the engine does not accept; as [`Readers::ask`].
    pub async fn ask(
        &mut self,
        readers: &Readers,
        website: Website,
    ) -> Result<Vec<Point>, ApiError> {
        self.filters.check(readers, website).await?;
        self.range = self.range.since(website.reset_at);
        let question = match self.metric {
            Metric::Event => Question::new(sql::METRICS_EVENT),
            Metric::Entry => Question::new(sql::METRICS_EDGE).column("first_path"),
            Metric::Exit => Question::new(sql::METRICS_EDGE).column("last_path"),
            metric => Question::new(sql::METRICS)
                .column(metric.sql())
                .bind("by_country", metric.by_country()),
        };
        let rows = readers.ask(self.bind(question, website.key), |row| {
            Ok(Point { x: row.text(0)?, country: row.optional_text(1)?, y: row.integer(2)? })
        });
        Ok(rows.await?)
    }

    /// Binds what all metrics have in common.
    #[must_use]
    pub fn bind(&self, question: Question, website_key: u32) -> Question {
        self.filters
            .apply(question)
            .bind("website_key", website_key)
            .bind("start_at", self.range.start_at)
            .bind("end_at", self.range.end_at)
            .bind("limit", self.paging.limit)
            .bind("offset", self.paging.offset)
    }
}

/// One value and its figure: visitors, or events.
#[derive(Debug, Serialize)]
pub struct Point {
    pub x: String,
    pub y: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<String>,
}

pub async fn metrics(asked: Asked) -> Result<Json<Vec<Point>>, ApiError> {
    let mut params = Params::parse(&asked)?;
    let website = asked.website().await?;
    Ok(Json(params.ask(&asked.readers, website).await?))
}
