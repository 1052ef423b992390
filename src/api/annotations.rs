//! Dated notes beside a website's charts: list, create, show, change, delete. Whoever may see the website may read
//! them, whoever may change it may write them.

use actix_web::HttpResponse;
use actix_web::web::{self, Json};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::page::{Page, Paged};
use super::params::{DateRange, Query, invalid};
use super::segments::{check_length, saved_id};
use super::timezone::{Edge, Timezone};
use crate::auth::{Auth, Bearer};
use crate::error::ApiError;
use crate::store::Store;
use crate::store::annotations::{Annotation, Note, Wanted};
use crate::websites::Website;
use crate::{clock, limits};

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    const BASE: &str = "/api/websites/{website}/annotations";
    cfg.service(web::resource(BASE).get(list).post(create))
        .service(web::resource(format!("{BASE}/{{id}}")).get(show).post(change).delete(delete));
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// An ISO date or time.
    date: String,
    note: String,
    /// Whether the note is about a whole day; so it is when no time is told.
    all_day: Option<bool>,
}

impl Body {
    fn note(self) -> Result<Note, ApiError> {
        let at = Timezone::utc().instant(&self.date, Edge::Start);
        let noted_at = at.ok_or_else(|| invalid("date", "expected an ISO date or time"))?;
        if self.note.trim().is_empty() {
            return Err(invalid("note", "it is empty"));
        }
        check_length("note", &self.note, limits::ANNOTATION_CHARS_MAX)?;
        let all_day = self.all_day.unwrap_or_else(|| !self.date.contains(['T', 't', ':']));
        Ok(Note { noted_at, all_day, text: self.note })
    }
}

/// A note as it is answered.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    id: String,
    website_id: String,
    user_id: String,
    date: String,
    all_day: bool,
    note: String,
    created_at: String,
    updated_at: String,
}

impl Shown {
    fn new(website: Website, annotation: Annotation) -> Self {
        Self {
            id: annotation.id.to_string(),
            website_id: website.id.to_string(),
            user_id: annotation.user_id.to_string(),
            date: clock::iso(annotation.note.noted_at),
            all_day: annotation.note.all_day,
            note: annotation.note.text,
            created_at: clock::iso(annotation.created_at),
            updated_at: clock::iso(annotation.updated_at),
        }
    }
}

/// The range that is asked for, open at an end that is not named.
fn range(query: &Query) -> Result<DateRange, ApiError> {
    let edge = |name| Ok::<_, ApiError>(query.number(name)?.map(|number| number as i64));
    Ok(DateRange {
        start_at: edge("startAt")?.unwrap_or(i64::MIN),
        end_at: edge("endAt")?.unwrap_or(i64::MAX),
    })
}

async fn list(
    website: web::Path<String>,
    query: Query,
    page: Page,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<Json<Paged<Shown>>, ApiError> {
    let range = range(&query)?;
    let website = auth.website(&bearer, &website).await?;
    let (search, limit, offset) = page.window();
    let wanted = Wanted { since: range.start_at, until: range.end_at, search, limit, offset };
    let found = web::block(move || store.annotations(website.key, &wanted)).await?;
    let (rows, count) = found?;
    let data = rows.into_iter().map(|row| Shown::new(website, row)).collect();
    let Page { number, size, search } = page;
    Ok(Json(Paged { data, count, page: number, page_size: size, search }))
}

async fn create(
    website: web::Path<String>,
    body: Json<Body>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<Json<Shown>, ApiError> {
    let note = body.into_inner().note()?;
    let website = auth.website_to_change(&bearer, &website).await?;
    let user_id = auth.caller(&bearer)?.user_id;
    let added = web::block(move || store.annotate(website.key, user_id, &note)).await??;
    let added = added.ok_or_else(|| ApiError::bad_request("The website has too many of them"))?;
    Ok(Json(Shown::new(website, added)))
}

async fn show(
    ids: web::Path<(String, String)>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<Json<Shown>, ApiError> {
    let id = saved_id(&ids.1)?;
    let website = auth.website(&bearer, &ids.0).await?;
    let found = web::block(move || store.annotation(website.key, id)).await??;
    Ok(Json(Shown::new(website, found.ok_or(ApiError::NotFound)?)))
}

async fn change(
    ids: web::Path<(String, String)>,
    body: Json<Body>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<Json<Shown>, ApiError> {
    let (note, id) = (body.into_inner().note()?, saved_id(&ids.1)?);
    let website = auth.website_to_change(&bearer, &ids.0).await?;
    let changed = web::block(move || store.change_annotation(website.key, id, &note)).await??;
    Ok(Json(Shown::new(website, changed.ok_or(ApiError::NotFound)?)))
}

async fn delete(
    ids: web::Path<(String, String)>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let id = saved_id(&ids.1)?;
    let website = auth.website_to_change(&bearer, &ids.0).await?;
    if web::block(move || store.delete_annotation(website.key, id)).await?? {
        Ok(HttpResponse::Ok().json(json!({ "ok": true })))
    } else {
        Err(ApiError::NotFound)
    }
}
