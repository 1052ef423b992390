//! Shares: addresses under which anybody may look at a website, link or pixel. Whoever may see the thing sees its
//! shares, whoever may change it makes and ends them. What a share says that it shows is the client's business: its
//! token reads everything about that one thing, and changes nothing.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::links::is_slug;
use super::page::Page;
use super::websites::{check_length, uuid};
use crate::auth::{Auth, Bearer, password};
use crate::error::ApiError;
use crate::store::Store;
use crate::store::shares::{NewShare, Refused, Share, ShareChange};
use crate::websites::{Directory, LinkKind};
use crate::{clock, limits};

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    for things in ["websites", "links", "pixels"] {
        let path = format!("/api/{things}/{{id}}/shares");
        cfg.service(web::resource(path).get(list).post(create));
    }
    cfg.service(web::resource("/api/share").post(create_as))
        .service(web::resource("/api/share/id/{id}").get(show).post(change).delete(delete))
        .service(web::resource("/api/share/{slug}").get(open));
}

/// Who is asking, and where shares are kept.
type Parts = (Bearer, web::Data<Auth>, web::Data<Store>, web::Data<Directory>);

type Answer = Result<HttpResponse, ApiError>;

/// The number that stands for each kind of thing.
fn type_of(directory: &Directory, entity_id: Uuid) -> u8 {
    match () {
        () if directory.link(LinkKind::Link, entity_id).is_some() => 2,
        () if directory.link(LinkKind::Pixel, entity_id).is_some() => 3,
        () => 1,
    }
}

async fn list(id: web::Path<String>, page: Page, parts: Parts) -> Answer {
    let (bearer, auth, store, _) = parts;
    // Who looks at a share does not see the others.
    auth.caller(&bearer)?;
    let entity = auth.website(&bearer, &id).await?;
    let (search, limit, offset) = page.window();
    let found = web::block(move || store.shares_of(entity.id, &search, limit, offset));
    let (rows, count) = found.await??;
    let rows: Vec<Value> = rows.iter().map(answer).collect();
    Ok(HttpResponse::Ok().json(page.answer(&rows, count)))
}

#[derive(Deserialize)]
struct Creation {
    name: String,
    parameters: Option<Map<String, Value>>,
}

async fn create(id: web::Path<String>, body: web::Json<Creation>, parts: Parts) -> Answer {
    let Creation { name, parameters } = body.into_inner();
    let parameters = checked(&name, parameters.unwrap_or_default())?;
    let entity = parts.1.website_to_change(&parts.0, &id).await?;
    let share_type = type_of(&parts.3, entity.id);
    let slug = password::random_text(limits::SHARE_SLUG_RANDOM_CHARS)?;
    keep(parts, NewShare { entity_id: entity.id, share_type, name, slug, parameters }).await
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreationAs {
    entity_id: String,
    share_type: u8,
    name: String,
    slug: Option<String>,
    parameters: Map<String, Value>,
}

async fn create_as(body: web::Json<CreationAs>, parts: Parts) -> Answer {
    let CreationAs { entity_id, share_type, name, slug, parameters } = body.into_inner();
    let parameters = checked(&name, parameters)?;
    slug.as_deref().map(check_slug).transpose()?;
    uuid("entityId", &entity_id)?;
    let entity = parts.1.website_to_change(&parts.0, &entity_id).await?;
    if share_type != type_of(&parts.3, entity.id) {
        let text = "Invalid shareType: expected 1 for a website, 2 for a link, 3 for a pixel";
        return Err(ApiError::bad_request(text));
    }
    let slug = match slug {
        Some(slug) => slug,
        None => password::random_text(limits::SHARE_SLUG_RANDOM_CHARS)?,
    };
    keep(parts, NewShare { entity_id: entity.id, share_type, name, slug, parameters }).await
}

async fn keep((_, _, store, directory): Parts, new: NewShare) -> Answer {
    let created = web::block(move || store.create_share(&directory, &new)).await??;
    Ok(HttpResponse::Ok().json(answer(&created.map_err(refused)?)))
}

async fn show(id: web::Path<String>, parts: Parts) -> Answer {
    let share = find(&id, &parts).await?;
    parts.1.website(&parts.0, &share.entity_id.to_string()).await?;
    Ok(HttpResponse::Ok().json(answer(&share)))
}

#[derive(Deserialize)]
struct Change {
    name: Option<String>,
    slug: Option<String>,
    parameters: Option<Map<String, Value>>,
}

async fn change(id: web::Path<String>, body: web::Json<Change>, parts: Parts) -> Answer {
    let Change { name, slug, parameters } = body.into_inner();
    let name_or_any = name.as_deref().unwrap_or("any");
    let parameters = parameters.map(|parameters| checked(name_or_any, parameters)).transpose()?;
    checked(name_or_any, Map::new())?;
    slug.as_deref().map(check_slug).transpose()?;
    let share = find(&id, &parts).await?;
    parts.1.website_to_change(&parts.0, &share.entity_id.to_string()).await?;
    let change = ShareChange { name, slug, parameters };
    let store = parts.2;
    let changed = web::block(move || store.change_share(share.id, &change)).await??;
    Ok(HttpResponse::Ok().json(answer(&changed.map_err(refused)?)))
}

async fn delete(id: web::Path<String>, parts: Parts) -> Answer {
    let share = find(&id, &parts).await?;
    let (bearer, auth, store, directory) = parts;
    auth.website_to_change(&bearer, &share.entity_id.to_string()).await?;
    if web::block(move || store.delete_share(&directory, share.id)).await?? {
        Ok(HttpResponse::Ok().json(json!({ "ok": true })))
    } else {
        Err(ApiError::NotFound)
    }
}

/// What a page needs to show a share: which thing, and the token to ask about it.
async fn open(slug: web::Path<String>, auth: web::Data<Auth>, store: web::Data<Store>) -> Answer {
    let found = web::block(move || store.share_of_slug(&slug)).await??;
    let share = found.ok_or(ApiError::NotFound)?;
    let mut body = shown(&share);
    body["token"] = json!(auth.share_token(share.id));
    Ok(HttpResponse::Ok().json(body))
}

/// What the token of a share says of it.
pub(super) fn shown(share: &Share) -> Value {
    let mut body = json!({
        "shareId": share.id.to_string(),
        "shareType": share.share_type,
        "parameters": parameters(share),
    });
    let field = ["websiteId", "linkId", "pixelId"][usize::from(share.share_type.clamp(1, 3)) - 1];
    body[field] = json!(share.entity_id.to_string());
    body
}

/// The share of an id in the path. Asked by people who are signed in; only an admin learns that there is none.
async fn find(id: &str, (bearer, auth, store, _): &Parts) -> Result<Share, ApiError> {
    let id = uuid("shareId", id)?;
    let caller = auth.caller(bearer)?;
    let store = store.clone();
    let found = web::block(move || store.share(id)).await??;
    let unknown = || if caller.is_admin() { ApiError::NotFound } else { ApiError::unauthorized() };
    found.ok_or_else(unknown)
}

/// The parameters as they are kept, if they and the name fit.
fn checked(name: &str, parameters: Map<String, Value>) -> Result<String, ApiError> {
    if name.trim().is_empty() {
        return Err(ApiError::bad_request("Invalid name: expected a name"));
    }
    check_length("name", Some(name), limits::SHARE_NAME_CHARS_MAX)?;
    let text = Value::from(parameters).to_string();
    let is_long = text.len() > limits::SHARE_BYTES_MAX;
    if is_long { Err(ApiError::bad_request("Invalid parameters: too long")) } else { Ok(text) }
}

fn check_slug(slug: &str) -> Result<(), ApiError> {
    check_length("slug", Some(slug), limits::SHARE_SLUG_CHARS_MAX)?;
    let text = "Invalid slug: expected letters, digits and any of - _ . ~";
    if is_slug(slug) { Ok(()) } else { Err(ApiError::bad_request(text)) }
}

fn refused(reason: Refused) -> ApiError {
    match reason {
        Refused::SlugTaken => ApiError::bad_request("This slug is taken"),
        Refused::TooMany => ApiError::bad_request(format!(
            "There are {} shares already, more are not possible",
            limits::SHARES_MAX
        )),
        Refused::Unknown => ApiError::NotFound,
    }
}

fn parameters(share: &Share) -> Value {
    serde_json::from_str(&share.parameters).unwrap_or_else(|_| json!({}))
}

fn answer(share: &Share) -> Value {
    json!({
        "id": share.id.to_string(),
        "entityId": share.entity_id.to_string(),
        "name": share.name,
        "shareType": share.share_type,
        "slug": share.slug,
        "parameters": parameters(share),
        "createdAt": clock::iso(share.created_at),
        "updatedAt": clock::iso(share.updated_at),
    })
}
