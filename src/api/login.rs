//! Signing in and out, and who is asking: `/api/auth/…` and `/api/me…`.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use serde_json::{Value, json};

use super::shares;
use crate::auth::{Auth, Bearer, Caller, password};
use crate::clock;
use crate::error::ApiError;
use crate::store::Store;
use crate::store::teams::Team;

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    cfg.service(web::resource("/api/auth/login").route(web::post().to(log_in)))
        .service(web::resource("/api/auth/logout").route(web::post().to(log_out)))
        .service(web::resource("/api/auth/verify").route(web::post().to(verify)))
        .service(web::resource("/api/me").route(web::get().to(me)))
        .service(web::resource("/api/me/password").route(web::post().to(change_password)));
}

#[derive(Deserialize)]
struct Credentials {
    username: String,
    password: String,
}

async fn log_in(
    request: HttpRequest,
    body: web::Json<Credentials>,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let Credentials { username, password } = body.into_inner();
    // The peer itself and no header, since anybody can write one; behind a proxy all share its count.
    let address = request.peer_addr().map(|peer| peer.ip());
    let (token, caller) =
        Auth::log_in(&auth.clone().into_inner(), &username, password, address).await?;
    Ok(HttpResponse::Ok().json(json!({ "token": token, "user": with_teams(&auth, &caller) })))
}

async fn log_out(bearer: Bearer, auth: web::Data<Auth>) -> Result<HttpResponse, ApiError> {
    Auth::log_out(&auth, &bearer).await?;
    Ok(HttpResponse::Ok().json(json!({ "ok": true })))
}

async fn verify(bearer: Bearer, auth: web::Data<Auth>) -> Result<HttpResponse, ApiError> {
    Ok(HttpResponse::Ok().json(with_teams(&auth, &auth.caller(&bearer)?)))
}

/// Who is asking, and the share that is being looked at; one of both at least.
async fn me(
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let (caller, shown) = (auth.caller(&bearer), auth.share(&bearer));
    let is_signed_in = auth.is_signed_in(&bearer);
    let auth_type = if is_signed_in { "session" } else { "api-key" };
    // A key is not told again.
    let token = bearer.token.filter(|_| is_signed_in);
    let Some(shown) = shown else {
        return Ok(HttpResponse::Ok().json(json!({
            "token": token, "shareToken": null, "authType": auth_type, "user": user(&caller?)
        })));
    };
    let share = web::block(move || store.share(shown.share_id)).await??;
    let mut share = shares::shown(&share.ok_or_else(ApiError::unauthorized)?);
    share["iat"] = json!(shown.issued_at / 1_000);
    let user = caller.ok().as_ref().map(user);
    Ok(HttpResponse::Ok().json(json!({
        "token": token, "shareToken": share, "authType": "share", "user": user
    })))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewPassword {
    current_password: String,
    new_password: String,
}

async fn change_password(
    body: web::Json<NewPassword>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let NewPassword { current_password, new_password } = body.into_inner();
    password::check_new(&new_password).map_err(ApiError::BadRequest)?;
    let auth: Arc<Auth> = auth.into_inner();
    let caller = Auth::change_password(&auth, &bearer, current_password, new_password).await?;
    Ok(HttpResponse::Ok().json(user(&caller)))
}

fn user(caller: &Caller) -> Value {
    json!({
        "id": caller.user_id.to_string(),
        "username": caller.username,
        "role": caller.role.name(),
        "createdAt": clock::iso(caller.created_at),
        "isAdmin": caller.is_admin(),
    })
}

/// As [`user`], with the teams.
fn with_teams(auth: &Auth, caller: &Caller) -> Value {
    let mut user = user(caller);
    let teams = auth.accounts().teams(Some(caller.user_id));
    let team =
        |team: &Arc<Team>| json!({ "id": team.id.to_string(), "name": team.name, "logoUrl": null });
    user["teams"] = teams.iter().map(team).collect();
    user
}
