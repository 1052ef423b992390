//! People, for admins: list, add, show, change, delete. Everybody may look at themselves; whoever is no admin changes
//! nothing here (their password: `/api/me/password`, which asks for the current one).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::page::Page;
use super::websites::{check_length, uuid};
use crate::auth::{Auth, Bearer, NewUser, UserChange, password};
use crate::error::ApiError;
use crate::store::Store;
use crate::store::accounts::{Account, Role};
use crate::{clock, limits};

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    cfg.service(web::resource("/api/users").route(web::post().to(create)))
        .service(
            web::resource("/api/users/{id}")
                .route(web::get().to(show))
                .route(web::post().to(change))
                .route(web::delete().to(delete)),
        )
        .service(web::resource("/api/admin/users").route(web::get().to(list)));
}

#[derive(Deserialize)]
struct Creation {
    id: Option<String>,
    username: String,
    password: String,
    role: String,
}

async fn create(
    body: web::Json<Creation>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let Creation { id, username, password, role } = body.into_inner();
    check_username(&username)?;
    password::check_new(&password).map_err(ApiError::BadRequest)?;
    let role = role_of(&role)?;
    let id = id.as_deref().map(|id| uuid("id", id)).transpose()?;
    auth.admin_in_person(&bearer)?;
    let new = NewUser { id: id.unwrap_or_else(Uuid::new_v4), username, password, role };
    let created = Auth::create_user(&auth.into_inner(), new).await?;
    Ok(HttpResponse::Ok().json(json!({
        "id": created.id.to_string(), "username": created.username, "role": created.role.name()
    })))
}

async fn show(
    id: web::Path<String>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let id = uuid("userId", &id)?;
    auth.same_user(&bearer, id)?;
    let account = auth.accounts().by_id(id);
    Ok(HttpResponse::Ok().json(account.map(|account| answer(&account))))
}

#[derive(Deserialize)]
struct Change {
    username: Option<String>,
    password: Option<String>,
    role: Option<String>,
}

async fn change(
    id: web::Path<String>,
    body: web::Json<Change>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let Change { username, password, role } = body.into_inner();
    username.as_deref().map(check_username).transpose()?;
    // A form that leaves the password alone sends it empty.
    let password = password.filter(|password| !password.is_empty());
    password.as_deref().map(password::check_new).transpose().map_err(ApiError::BadRequest)?;
    let role = role.as_deref().map(role_of).transpose()?;
    let id = uuid("userId", &id)?;
    auth.admin_in_person(&bearer)?;
    let change = UserChange { username, password, role };
    let changed = Auth::change_user(&auth.into_inner(), id, change).await?;
    Ok(HttpResponse::Ok().json(answer(&changed)))
}

async fn delete(
    id: web::Path<String>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let id = uuid("userId", &id)?;
    let caller = auth.admin_in_person(&bearer)?;
    if caller.user_id == id {
        return Err(ApiError::bad_request("You cannot delete yourself."));
    }
    Auth::delete_user(&auth.into_inner(), id, caller.user_id).await?;
    Ok(HttpResponse::Ok().json(json!({ "ok": true })))
}

async fn list(
    page: Page,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    auth.admin(&bearer)?;
    let searched = page.searched().map(str::to_lowercase);
    let is_found = |account: &Account| {
        let name = account.username.to_lowercase();
        searched.as_ref().is_none_or(|searched| name.contains(searched))
    };
    let mut found = auth.accounts().all();
    found.retain(|account| is_found(account));
    let websites = web::block(move || store.website_counts()).await??;
    let row = |account: &Arc<Account>| {
        let mut row = answer(account);
        row["updatedAt"] = json!(account.updated_at.map(clock::iso));
        row["deletedAt"] = Value::Null;
        row["_count"] = json!({ "websites": websites.get(&account.id).copied().unwrap_or(0) });
        row
    };
    let rows: Vec<Value> = page.cut(&found).map(row).collect();
    let mut answer = page.answer(&rows, i64::try_from(found.len())?);
    answer["orderBy"] = json!("createdAt");
    Ok(HttpResponse::Ok().json(answer))
}

fn check_username(username: &str) -> Result<(), ApiError> {
    if username.trim().is_empty() {
        return Err(ApiError::bad_request("Invalid username: expected a name"));
    }
    check_length("username", Some(username), limits::USERNAME_CHARS_MAX)
}

fn role_of(name: &str) -> Result<Role, ApiError> {
    let unknown = || ApiError::bad_request("Invalid role: expected admin, user or view-only");
    Role::from_name(name).ok_or_else(unknown)
}

fn answer(account: &Account) -> Value {
    json!({
        "id": account.id.to_string(),
        "username": account.username,
        "role": account.role.name(),
        "createdAt": clock::iso(account.created_at),
    })
}
