//! Lists that are answered page by page: `page` and `pageSize` count from one, `search` narrows the list down.
//! A page beyond the end is empty, a size beyond the largest page is cut to it, and the answer says what was used.

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use serde::Serialize;
use serde_json::{Value, json};

use super::Asked;
use super::params::Query;
use crate::error::ApiError;
use crate::limits;
use crate::store::question::{Question, Read};
use crate::store::reader::Readers;
use crate::store::sql;
use crate::websites::Website;

/// Which page is wanted.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    pub number: i64,
    pub size: i64,
    pub search: Option<String>,
}

impl FromRequest for Page {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        std::future::ready(Self::parse(request.query_string()))
    }
}

impl Page {
    /// From a query string; of a name that is given twice the last one counts, other names are left alone.
    ///
    /// # Errors
    /// When it cannot be decoded, or a number is not a whole one from 1.
    pub fn parse(query: &str) -> Result<Self, ApiError> {
        Self::from_query(&Query::parse(query)?)
    }

    /// As [`Page::parse`], from what is read already.
    ///
    /// # Errors
    /// When a number is not a whole one from 1.
    pub fn from_query(query: &Query) -> Result<Self, ApiError> {
        let number = |name| query.get(name).map(|value| from_one(name, value)).transpose();
        let size = number("pageSize")?.unwrap_or(limits::PAGE_ROWS_DEFAULT);
        Ok(Self {
            number: number("page")?.unwrap_or(1),
            size: size.min(limits::PAGE_ROWS_MAX),
            search: query.get("search").map(str::to_owned),
        })
    }

    /// What is searched for, if anything.
    #[must_use]
    pub fn searched(&self) -> Option<&str> {
        self.search.as_deref().filter(|search| !search.is_empty())
    }

    /// Asks for the page. Every row of the answer begins with how many there are on all pages ([`super::cells`]).
    ///
    /// # Errors
    /// As [`Readers::ask`].
    pub async fn ask<T: Send + 'static>(
        self,
        readers: &Readers,
        question: Question,
        read: Read<(i64, Option<T>)>,
    ) -> Result<Paged<T>, ApiError> {
        let question = question.bind("limit", self.size).bind("offset", self.offset());
        let rows = readers.ask(question, read).await?;
        Ok(Paged {
            count: rows.first().map_or(0, |(count, _)| *count),
            data: rows.into_iter().filter_map(|(_, row)| row).collect(),
            page: self.number,
            page_size: self.size,
            search: self.search,
        })
    }

    /// As [`Page::ask`], of a list that stays as it was when its first page was asked for, while new events come in.
    ///
    /// # Errors
    /// As [`Readers::ask`].
    pub async fn ask_steadily<T: Send + 'static>(
        self,
        asked: &Asked,
        website: Website,
        question: Question,
        read: Read<(i64, Option<T>)>,
    ) -> Result<Paged<T>, ApiError> {
        let key = asked.list_key(&question);
        // The question knows neither page nor size yet: they are no part of what the list is.
        let known = if self.number > 1 { asked.readers.horizons().of(key) } else { None };
        let horizon = match known {
            Some(horizon) => horizon,
            None => {
                let question = Question::new(sql::HORIZON).bind("website_key", website.key);
                let horizon = asked.readers.ask_one(question, |row| row.integer(0)).await?;
                asked.readers.horizons().remember(key, horizon);
                horizon
            }
        };
        self.ask(&asked.readers, question.bind("horizon", horizon), read).await
    }

    /// Rows before the page.
    #[must_use]
    pub fn offset(&self) -> i64 {
        (self.number - 1).saturating_mul(self.size)
    }

    /// The rows of the page out of all there are.
    pub fn cut<'r, T>(&self, all: &'r [T]) -> impl Iterator<Item = &'r T> + use<'r, T> {
        let count = |rows: i64| usize::try_from(rows).unwrap_or(usize::MAX);
        all.iter().skip(count(self.offset())).take(count(self.size))
    }

    /// What is searched for, rows of the page, rows before it.
    #[must_use]
    pub fn window(&self) -> (String, i64, i64) {
        (self.search.clone().unwrap_or_default(), self.size, self.offset())
    }

    /// The answer: the page's rows, and how many there are on all pages.
    #[must_use]
    pub fn answer(&self, rows: &[Value], count: i64) -> Value {
        let mut answer =
            json!({ "data": rows, "count": count, "page": self.number, "pageSize": self.size });
        if let Some(search) = &self.search {
            answer["search"] = json!(search);
        }
        answer
    }
}

/// One page of a list, and how many rows there are on all pages.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Paged<T> {
    pub data: Vec<T>,
    pub count: i64,
    pub page: i64,
    pub page_size: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
}

impl<T> Paged<T> {
    /// A page of things that were read in rows, one row a property: what is next to each other and the same is one.
    ///
    /// # Errors
    /// When there are more rows than an answer may have.
    pub fn grouped(self, same: fn(&T, &T) -> bool) -> Result<Paged<Vec<T>>, ApiError> {
        let Self { data, count, page, page_size, search } = self;
        if data.len() > limits::PAGE_PROPERTIES_MAX {
            let message = "The page has too many properties: ask for a smaller one";
            return Err(ApiError::bad_request(message));
        }
        let mut groups: Vec<Vec<T>> = Vec::new();
        for row in data {
            match groups.last_mut() {
                Some(group) if same(&group[0], &row) => group.push(row),
                _ => groups.push(vec![row]),
            }
        }
        Ok(Paged { data: groups, count, page, page_size, search })
    }

    /// The same page of other rows.
    #[must_use]
    pub fn map<U>(self, other: impl FnMut(T) -> U) -> Paged<U> {
        let Self { data, count, page, page_size, search } = self;
        let data = data.into_iter().map(other).collect();
        Paged { data, count, page, page_size, search }
    }
}

fn from_one(name: &str, value: &str) -> Result<i64, ApiError> {
    match value.trim().parse() {
        Ok(number) if number >= 1 => Ok(number),
        _ => Err(ApiError::bad_request(format!("Invalid {name}: expected a whole number from 1"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_cut_and_refused() {
        let read = |query| Page::parse(query).ok().map(|page| (page.number, page.size));
        let cases = [
            ("", Some((1, 20))),
            ("page=3&pageSize=1000", Some((3, 1_000))),
            ("pageSize=1000000000", Some((1, limits::PAGE_ROWS_MAX))),
            ("page=2&page=7&orderBy=name&x=%F0%9F%A6%8A", Some((7, 20))),
            ("page=0", None),
            ("page=-1", None),
            ("pageSize=abc", None),
            ("pageSize=", None),
            ("page=1.5", None),
            ("page=99999999999999999999", None),
        ];
        for (query, expected) in cases {
            assert_eq!(read(query), expected, "{query}");
        }
        let last = Page::parse("page=9223372036854775807&pageSize=1000").expect("a page");
        assert_eq!(last.offset(), i64::MAX);
        assert_eq!(Page::parse("search=%C3%A9").expect("a page").search.as_deref(), Some("é"));
    }
}
