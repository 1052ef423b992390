//! One's API keys: list, create, delete. A key is shown once, when it is made; afterwards only how it begins.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use serde_json::{Value, json};

use super::websites::{check_length, uuid};
use crate::auth::{Auth, Bearer};
use crate::error::ApiError;
use crate::store::api_keys::ApiKey;
use crate::{clock, limits};

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    cfg.service(web::resource("/api/me/api-keys").get(list).post(create))
        .service(web::resource("/api/me/api-keys/{id}").delete(delete));
}

async fn list(bearer: Bearer, auth: web::Data<Auth>) -> Result<HttpResponse, ApiError> {
    let keys = auth.api_keys(&bearer)?;
    let rows: Vec<Value> = keys.iter().map(|key| answer(key)).collect();
    Ok(HttpResponse::Ok().json(rows))
}

#[derive(Deserialize)]
struct Creation {
    name: String,
    /// What the key may do: `read`, or `write` for all that its user may; without it, the latter, as in Umami.
    scope: Option<String>,
}

async fn create(
    body: web::Json<Creation>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let Creation { name, scope } = body.into_inner();
    if name.trim().is_empty() {
        return Err(ApiError::bad_request("Invalid name: expected a name"));
    }
    check_length("name", Some(&name), limits::API_KEY_NAME_CHARS_MAX)?;
    let may_write = match scope.as_deref() {
        None | Some("write") => true,
        Some("read") => false,
        Some(_) => return Err(ApiError::bad_request("Invalid scope: expected read or write")),
    };
    let auth: Arc<Auth> = auth.into_inner();
    let (key, made) = Auth::create_api_key(&auth, &bearer, name, may_write).await?;
    let mut answer = answer(&made);
    answer["key"] = json!(key);
    Ok(HttpResponse::Ok().json(answer))
}

async fn delete(
    id: web::Path<String>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let id = uuid("keyId", &id)?;
    Auth::delete_api_key(&auth.into_inner(), &bearer, id).await?;
    Ok(HttpResponse::Ok().json(json!({ "ok": true })))
}

fn answer(key: &ApiKey) -> Value {
    json!({
        "id": key.id.to_string(),
        "name": key.name,
        "keyPrefix": key.prefix,
        "scope": if key.may_write { "write" } else { "read" },
        "createdAt": clock::iso(key.created_at),
        "lastUsedAt": key.last_used_at().map(clock::iso),
    })
}
