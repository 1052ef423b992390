//! Lists that are answered page by page: `page` and `pageSize` count from one, `search` narrows the list down.
//! A page beyond the end is empty, a size beyond the largest page is cut to it, and the answer says what was used.

use actix_web::{FromRequest, HttpRequest, dev::Payload, web};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::limits;

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
        let pairs = web::Query::<Vec<(String, String)>>::from_query(query)
            .map_err(|_| ApiError::bad_request("The query cannot be decoded"))?
            .into_inner();
        let mut page = Self { number: 1, size: limits::PAGE_ROWS_DEFAULT, search: None };
        for (name, value) in pairs {
            match name.as_str() {
                "page" => page.number = from_one(&name, &value)?,
                "pageSize" => page.size = from_one(&name, &value)?.min(limits::PAGE_ROWS_MAX),
                "search" => page.search = Some(value),
                _ => {}
            }
        }
        Ok(page)
    }

    /// Rows before the page.
    #[must_use]
    pub fn offset(&self) -> i64 {
        (self.number - 1).saturating_mul(self.size)
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
