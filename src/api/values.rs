//! `GET /api/websites/{website}/values`: the most frequent values of one column in a range, for the box in which a
//! filter is typed. Events of every type count, and so do those without a value.

use actix_web::web::Json;
use serde::Serialize;

use super::Asked;
use super::column::Column;
use super::filter::{FOREIGN_REFERRER, Filters};
use super::operator::Operator;
use super::params::DateRange;
use super::timezone::Timezone;
use crate::error::ApiError;
use crate::limits;
use crate::store::question::Question;
use crate::store::sql;

/// What can be looked up, by its name in `type`.
const COLUMNS: [(&str, Column); 20] = [
    ("path", Column::Path),
    ("referrer", Column::Referrer),
    ("title", Column::Title),
    ("query", Column::Query),
    ("os", Column::Os),
    ("browser", Column::Browser),
    ("device", Column::Device),
    ("country", Column::Country),
    ("region", Column::Region),
    ("city", Column::City),
    ("tag", Column::Tag),
    ("hostname", Column::Hostname),
    ("distinctId", Column::DistinctId),
    ("language", Column::Language),
    ("event", Column::Event),
    ("utmSource", Column::UtmSource),
    ("utmMedium", Column::UtmMedium),
    ("utmCampaign", Column::UtmCampaign),
    ("utmContent", Column::UtmContent),
    ("utmTerm", Column::UtmTerm),
];

struct Params {
    column: Column,
    range: DateRange,
    filters: Filters,
}

impl Params {
    fn parse(asked: &Asked) -> Result<Self, ApiError> {
        let timezone = Timezone::from_query(&asked.query)?.unwrap_or_else(Timezone::utc);
        let range = DateRange::from_query(&asked.query, &timezone)?;
        let name = asked.query.get("type").unwrap_or_default();
        let found = COLUMNS.into_iter().find(|(known, _)| *known == name);
        let (_, column) = found.ok_or_else(|| ApiError::bad_request("Invalid type"))?;
        let mut filters = Filters::new('f');
        match asked.query.get("search") {
            None | Some("") => {}
            // Between commas stand whole values, otherwise it is a part of one.
            Some(list) if list.contains(',') => {
                let first = list.splitn(limits::VALUES_SEARCHED_MAX + 1, ',');
                let first: Vec<&str> = first.take(limits::VALUES_SEARCHED_MAX).collect();
                filters.add(column, Operator::Equal, false, &first.join(","))?;
            }
            Some(text) => filters.search(column.sql(), text)?,
        }
        if column == Column::Referrer {
            filters.require(FOREIGN_REFERRER);
            filters.require("referrer_domain <> ''");
        }
        Ok(Self { column, range, filters })
    }
}

/// One value, and the events that have it.
#[derive(Debug, Serialize)]
pub struct Value {
    value: Option<String>,
    count: i64,
}

pub async fn values(asked: Asked) -> Result<Json<Vec<Value>>, ApiError> {
    let Params { column, range, filters } = Params::parse(&asked)?;
    let website = asked.website().await?;
    let range = range.since(website.reset_at);
    let question = filters
        .apply(Question::new(sql::VALUES).column(column.sql()))
        .bind("website_key", website.key)
        .bind("start_at", range.start_at)
        .bind("end_at", range.end_at)
        .bind("limit", limits::VALUES_ROWS_MAX);
    let rows = asked
        .readers
        .ask(question, |row| Ok(Value { value: row.optional_text(0)?, count: row.integer(1)? }));
    Ok(Json(rows.await?))
}
