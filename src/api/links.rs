//! Links and pixels: list, create, show, change, delete, and their charts. They are the same but for the address that a
//! link leads to, so the handlers are the same and the routes say which kind is meant. Questions about their visits are
//! those about a website, with their id in its place.

use actix_web::web::{self, Json};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;

use super::charts;
use super::page::Page;
use super::params::Query;
use super::websites::{check_length, uuid};
use crate::auth::{Auth, Bearer, TeamRight};
use crate::error::ApiError;
use crate::store::Store;
use crate::store::links::{LinkChange, LinkRow, NewLink, Refused};
use crate::store::reader::Readers;
use crate::websites::{Directory, LinkKind, Owner};
use crate::{clock, limits};

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    for base in ["/api/links", "/api/pixels"] {
        let resource = |tail: &str| web::resource(format!("{base}{tail}"));
        cfg.service(resource("").get(list).post(create))
            .service(resource("/charts").get(charts))
            .service(resource("/{id}").get(show).post(change).delete(delete));
    }
    for name in ["links", "pixels"] {
        cfg.service(web::resource(format!("/api/teams/{{id}}/{name}")).get(list_of_team));
    }
}

/// Which kind a request is about.
fn kind_of(request: &HttpRequest) -> LinkKind {
    let is_pixel = request.match_pattern().is_some_and(|path| path.contains("/pixels"));
    if is_pixel { LinkKind::Pixel } else { LinkKind::Link }
}

/// Who is asking, and what they may look into.
type Parts = (Bearer, web::Data<Auth>, web::Data<Store>);

async fn list(
    request: HttpRequest,
    page: Page,
    (bearer, auth, store): Parts,
) -> Result<HttpResponse, ApiError> {
    let owner = Owner::User(auth.caller(&bearer)?.user_id);
    answer_page(kind_of(&request), page, owner, store).await
}

async fn list_of_team(
    request: HttpRequest,
    id: web::Path<String>,
    page: Page,
    (bearer, auth, store): Parts,
) -> Result<HttpResponse, ApiError> {
    let (_, team) = auth.team(&bearer, uuid("teamId", &id)?, TeamRight::See)?;
    answer_page(kind_of(&request), page, Owner::Team(team.id), store).await
}

/// One page of what an owner has. Permission was asked before.
async fn answer_page(
    kind: LinkKind,
    page: Page,
    owner: Owner,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let (search, limit, offset) = page.window();
    let found = web::block(move || store.links_of(kind, owner, &search, limit, offset));
    let (rows, count) = found.await??;
    let rows: Vec<Value> = rows.iter().map(answer).collect();
    Ok(HttpResponse::Ok().json(page.answer(&rows, count)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Creation {
    id: Option<String>,
    name: String,
    slug: String,
    url: Option<String>,
    team_id: Option<String>,
}

async fn create(
    request: HttpRequest,
    body: Json<Creation>,
    (bearer, auth, store): Parts,
    directory: web::Data<Directory>,
) -> Result<HttpResponse, ApiError> {
    let Creation { id, name, slug, url, team_id } = body.into_inner();
    let kind = kind_of(&request);
    let url = url.filter(|_| kind == LinkKind::Link);
    if kind == LinkKind::Link && url.is_none() {
        return Err(ApiError::bad_request("Invalid url: it is missing"));
    }
    check(Some(&name), Some(&slug), url.as_deref())?;
    let id = id.as_deref().map(|id| uuid("id", id)).transpose()?;
    let team_id = team_id.as_deref().map(|id| uuid("teamId", id)).transpose()?;
    let (_, owner) = auth.may_create(&bearer, team_id)?;
    let id = id.unwrap_or_else(Uuid::new_v4);
    let new = NewLink { id, kind, name, slug, url, owner };
    let created = web::block(move || store.create_link(&directory, &new)).await??;
    Ok(HttpResponse::Ok().json(answer(&created.map_err(refused)?)))
}

/// One that does not exist is null for an admin, as with websites.
async fn show(
    request: HttpRequest,
    id: web::Path<String>,
    (bearer, auth, store): Parts,
) -> Result<HttpResponse, ApiError> {
    let kind = kind_of(&request);
    let Some(subject) = auth.link(&bearer, kind, &id).await? else {
        return Ok(HttpResponse::Ok().json(Value::Null));
    };
    let row = web::block(move || store.link(kind, subject.id)).await??;
    Ok(HttpResponse::Ok().json(row.as_ref().map(answer)))
}

#[derive(Deserialize)]
struct Change {
    name: Option<String>,
    slug: Option<String>,
    url: Option<String>,
}

async fn change(
    request: HttpRequest,
    id: web::Path<String>,
    body: Json<Change>,
    (bearer, auth, store): Parts,
    directory: web::Data<Directory>,
) -> Result<HttpResponse, ApiError> {
    let Change { name, slug, url } = body.into_inner();
    let kind = kind_of(&request);
    let url = url.filter(|_| kind == LinkKind::Link);
    check(name.as_deref(), slug.as_deref(), url.as_deref())?;
    let subject = auth.link_to_change(&bearer, kind, &id).await?;
    let change = LinkChange { name, slug, url };
    let changed = web::block(move || store.change_link(&directory, kind, subject.id, &change));
    Ok(HttpResponse::Ok().json(answer(&changed.await??.map_err(refused)?)))
}

async fn delete(
    request: HttpRequest,
    id: web::Path<String>,
    (bearer, auth, store): Parts,
    directory: web::Data<Directory>,
) -> Result<HttpResponse, ApiError> {
    let kind = kind_of(&request);
    let subject = auth.link_to_change(&bearer, kind, &id).await?;
    if web::block(move || store.delete_link(&directory, kind, subject.id)).await?? {
        Ok(HttpResponse::Ok().json(json!({ "ok": true })))
    } else {
        Err(ApiError::NotFound)
    }
}

async fn charts(
    request: HttpRequest,
    query: Query,
    bearer: Bearer,
    auth: web::Data<Auth>,
    readers: web::Data<Readers>,
) -> Result<Json<charts::Response>, ApiError> {
    charts::answer(Some(kind_of(&request)), query, bearer, auth, readers).await
}

fn check(name: Option<&str>, slug: Option<&str>, url: Option<&str>) -> Result<(), ApiError> {
    check_length("name", name, limits::LINK_NAME_CHARS_MAX)?;
    check_length("slug", slug, limits::LINK_SLUG_CHARS_MAX)?;
    if slug.is_some_and(|slug| !is_slug(slug)) {
        let text = "Invalid slug: expected letters, digits and any of - _ . ~";
        return Err(ApiError::bad_request(text));
    }
    if url.is_some_and(|url| !is_target(url)) {
        let text = format!(
            "Invalid url: expected http:// or https:// and at most {} bytes",
            limits::LINK_URL_BYTES_MAX
        );
        return Err(ApiError::BadRequest(text));
    }
    Ok(())
}

/// What can stand as one part of an address and still mean itself.
pub(super) fn is_slug(slug: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.~".contains(letter);
    !slug.trim_matches('.').is_empty() && slug.chars().all(is_plain)
}

/// Whether somebody may be sent there: to a page on the web, and nowhere else (no `javascript:`, no `data:`).
fn is_target(url: &str) -> bool {
    let parsed = Url::parse(url).ok().filter(|_| url.len() <= limits::LINK_URL_BYTES_MAX);
    parsed.is_some_and(|parsed| matches!(parsed.scheme(), "http" | "https") && parsed.has_host())
}

fn refused(reason: Refused) -> ApiError {
    match reason {
        Refused::IdTaken => ApiError::bad_request("This id is taken"),
        Refused::SlugTaken => ApiError::bad_request("This slug is taken"),
        Refused::TooMany => ApiError::bad_request(format!(
            "There are {} links and pixels already, more are not possible",
            limits::LINKS_MAX
        )),
        Refused::Unknown => ApiError::NotFound,
    }
}

fn answer(row: &LinkRow) -> Value {
    let text = |id: Option<Uuid>| id.map(|id| id.to_string());
    let mut answer = json!({
        "id": row.id.to_string(),
        "name": row.name,
        "slug": row.slug,
        "userId": text(row.user_id),
        "teamId": text(row.team_id),
        "createdAt": clock::iso(row.created_at),
        "updatedAt": clock::iso(row.updated_at),
        "deletedAt": null,
    });
    if row.kind == LinkKind::Link {
        answer["url"] = json!(row.url);
    }
    answer
}
