//! Segments and cohorts of a website: list, create, show, change, delete. What they mean is in `segment.rs`.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::page::Page;
use super::params::Query;
use super::segment::Parameters;
use crate::auth::{Auth, Bearer};
use crate::error::ApiError;
use crate::store::Store;
use crate::store::saved::{Content, Saved};
use crate::{clock, limits};

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    const SEGMENTS: &str = "/api/websites/{website}/segments";
    cfg.service(web::resource(SEGMENTS).get(list).post(create))
        .service(web::resource(format!("{SEGMENTS}/{{id}}")).get(show).post(change).delete(delete));
}

const KINDS: [&str; 2] = ["segment", "cohort"];

#[derive(Deserialize)]
struct Body {
    r#type: String,
    name: String,
    parameters: Map<String, Value>,
}

impl Body {
    fn content(self) -> Result<Content, ApiError> {
        if !KINDS.contains(&self.r#type.as_str()) {
            return Err(ApiError::bad_request("Invalid type: expected segment or cohort"));
        }
        check_length("name", &self.name, limits::SAVED_NAME_CHARS_MAX)?;
        let parameters = Value::from(self.parameters).to_string();
        Parameters::parse(&parameters)?;
        Ok(Content { kind: self.r#type, name: self.name, description: None, parameters })
    }
}

async fn list(
    website: web::Path<String>,
    query: Query,
    page: Page,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let kind = query.get("type").filter(|kind| KINDS.contains(kind)).map(str::to_owned);
    let kind =
        kind.ok_or_else(|| ApiError::bad_request("Invalid type: expected segment or cohort"))?;
    let website = auth.website(&bearer, &website).await?;
    let (search, limit, offset) = page.window();
    let found = web::block(move || store.list_saved(website.key, &kind, &search, limit, offset));
    let (rows, count) = found.await??;
    let rows: Vec<Value> = rows.iter().map(answer).collect();
    Ok(HttpResponse::Ok().json(page.answer(&rows, count)))
}

async fn create(
    website: web::Path<String>,
    body: web::Json<Body>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let content = body.into_inner().content()?;
    let website = auth.website_to_change(&bearer, &website).await?;
    let user_id = auth.caller(&bearer)?.user_id;
    let saved = web::block(move || store.save(website, user_id, &content)).await??;
    let saved = saved.ok_or_else(|| ApiError::bad_request("The website has too many of them"))?;
    Ok(HttpResponse::Ok().json(answer(&saved)))
}

async fn show(
    ids: web::Path<(String, String)>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let id = saved_id(&ids.1)?;
    let website = auth.website(&bearer, &ids.0).await?;
    let saved = web::block(move || store.saved(website.key, id)).await??;
    Ok(HttpResponse::Ok().json(answer(&of_kind(saved, &KINDS)?)))
}

async fn change(
    ids: web::Path<(String, String)>,
    body: web::Json<Body>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let (content, id) = (body.into_inner().content()?, saved_id(&ids.1)?);
    let website = auth.website_to_change(&bearer, &ids.0).await?;
    let changed = web::block(move || match of_kind(store.saved(website.key, id)?, &KINDS) {
        Ok(_) => store.change_saved(website.key, id, &content),
        Err(_) => Ok(None),
    });
    Ok(HttpResponse::Ok().json(answer(&of_kind(changed.await??, &KINDS)?)))
}

async fn delete(
    ids: web::Path<(String, String)>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let id = saved_id(&ids.1)?;
    let website = auth.website_to_change(&bearer, &ids.0).await?;
    delete_of_kind(store, website.key, id, &KINDS).await
}

/// Deletes one if it is of these kinds.
pub(super) async fn delete_of_kind(
    store: web::Data<Store>,
    website_key: u32,
    id: Uuid,
    kinds: &'static [&'static str],
) -> Result<HttpResponse, ApiError> {
    let deleted = web::block(move || match of_kind(store.saved(website_key, id)?, kinds) {
        Ok(_) => store.delete_saved(website_key, id),
        Err(_) => Ok(false),
    });
    if deleted.await?? {
        Ok(HttpResponse::Ok().json(json!({ "ok": true })))
    } else {
        Err(ApiError::NotFound)
    }
}

/// What was found, if it is of these kinds.
pub(super) fn of_kind(saved: Option<Saved>, kinds: &[&str]) -> Result<Saved, ApiError> {
    saved.filter(|saved| kinds.contains(&saved.kind.as_str())).ok_or(ApiError::NotFound)
}

pub(super) fn saved_id(text: &str) -> Result<Uuid, ApiError> {
    Uuid::try_parse(text).map_err(|_| ApiError::bad_request("The id is not a UUID"))
}

pub(super) fn check_length(field: &str, text: &str, chars_max: usize) -> Result<(), ApiError> {
    if text.chars().count() > chars_max {
        let text = format!("Invalid {field}: expected at most {chars_max} characters");
        return Err(ApiError::BadRequest(text));
    }
    Ok(())
}

/// What segments and reports have in common in answers.
pub(super) fn answer(saved: &Saved) -> Value {
    let parameters: Value = serde_json::from_str(&saved.parameters).unwrap_or_else(|_| json!({}));
    json!({
        "id": saved.id.to_string(),
        "websiteId": saved.website_id.to_string(),
        "type": saved.kind,
        "name": saved.name,
        "parameters": parameters,
        "createdAt": clock::iso(saved.created_at),
        "updatedAt": clock::iso(saved.updated_at),
    })
}
