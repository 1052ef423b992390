//! Teams and who belongs to them: list, add, join, change, delete. What a team has is listed where such things are
//! (`websites.rs`, `links.rs`). Whoever may not see a team cannot tell whether it exists.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::page::Page;
use super::websites::{check_length, uuid};
use crate::auth::{Auth, Bearer, TeamRight, password};
use crate::error::ApiError;
use crate::store::Store;
use crate::store::teams::{Member, Refused, Team, TeamRole};
use crate::websites::Directory;
use crate::{clock, limits};

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    cfg.service(web::resource("/api/teams").get(list).post(create))
        .service(web::resource("/api/teams/join").post(join))
        .service(web::resource("/api/teams/{id}").get(show).post(change).delete(delete))
        .service(web::resource("/api/teams/{id}/users").get(members).post(add))
        .service(
            web::resource("/api/teams/{id}/users/{user}")
                .get(member)
                .post(change_member)
                .delete(remove),
        )
        .service(web::resource("/api/me/teams").get(list))
        .service(web::resource("/api/users/{id}/teams").get(list_of_user))
        .service(web::resource("/api/admin/teams").get(list_all));
}

async fn list(
    page: Page,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let user_id = auth.caller(&bearer)?.user_id;
    answer_page(page, Some(user_id), auth, store).await
}

async fn list_of_user(
    id: web::Path<String>,
    page: Page,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let id = uuid("userId", &id)?;
    auth.same_user(&bearer, id)?;
    answer_page(page, Some(id), auth, store).await
}

async fn list_all(
    page: Page,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    auth.admin(&bearer)?;
    answer_page(page, None, auth, store).await
}

/// One page of a user's teams, or of all. Permission was asked before.
async fn answer_page(
    page: Page,
    user_id: Option<Uuid>,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let searched = page.searched().map(str::to_lowercase);
    let is_found = |team: &Arc<Team>| {
        searched.as_ref().is_none_or(|searched| team.name.to_lowercase().contains(searched))
    };
    let found: Vec<_> = auth.accounts().teams(user_id).into_iter().filter(is_found).collect();
    let websites = web::block(move || store.website_counts()).await??;
    let row = |team: &Arc<Team>| {
        let mut row = answer(team);
        let members = team.members.iter().map(|member| with_user(&auth, member));
        row["members"] = members.collect();
        let websites = websites.get(&team.id).copied().unwrap_or(0);
        row["_count"] = json!({ "websites": websites, "members": team.members.len() });
        row
    };
    let rows: Vec<Value> = page.cut(&found).map(row).collect();
    Ok(HttpResponse::Ok().json(page.answer(&rows, i64::try_from(found.len())?)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Creation {
    name: String,
    owner_id: Option<String>,
}

async fn create(
    body: web::Json<Creation>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let Creation { name, owner_id } = body.into_inner();
    check_name(&name)?;
    let owner_id = owner_id.as_deref().map(|id| uuid("ownerId", id)).transpose()?;
    let (caller, _) = auth.may_create(&bearer, None)?;
    let owner = owner_id.unwrap_or(caller.user_id);
    if owner != caller.user_id && !caller.is_admin() {
        return Err(ApiError::unauthorized());
    }
    let auth = auth.into_inner();
    let code = format!("team_{}", password::random_text(limits::ACCESS_CODE_RANDOM_CHARS)?);
    let created = web::block(move || auth.accounts().create_team(&name, &code, owner)).await??;
    let team = created.map_err(refused)?;
    let members = team.members.iter().map(answer_member);
    let rows: Vec<Value> = std::iter::once(answer(&team)).chain(members).collect();
    Ok(HttpResponse::Ok().json(rows))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Joining {
    access_code: String,
}

async fn join(
    body: web::Json<Joining>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let caller = auth.caller(&bearer)?;
    let unknown = || ApiError::Missing("Team not found.", "team-not-found");
    let team = auth.accounts().team_of_code(&body.access_code).ok_or_else(unknown)?;
    if team.member(caller.user_id).is_some() {
        return Err(ApiError::bad_request("User is already a team member."));
    }
    put_member(auth, team.id, caller.user_id, TeamRole::Member).await
}

async fn show(
    id: web::Path<String>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let (_, team) = auth.team(&bearer, uuid("teamId", &id)?, TeamRight::See)?;
    let mut body = answer(&team);
    body["members"] = team.members.iter().map(answer_member).collect();
    Ok(HttpResponse::Ok().json(body))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    name: Option<String>,
    access_code: Option<String>,
}

async fn change(
    id: web::Path<String>,
    body: web::Json<Change>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let Change { name, access_code } = body.into_inner();
    name.as_deref().map(check_name).transpose()?;
    let length = access_code.as_ref().map(|code| code.chars().count());
    let lengths = limits::ACCESS_CODE_CHARS_MIN..=limits::ACCESS_CODE_CHARS_MAX;
    if length.is_some_and(|length| !lengths.contains(&length)) {
        let (min, max) = lengths.into_inner();
        let text = format!("Invalid accessCode: expected {min} to {max} characters");
        return Err(ApiError::BadRequest(text));
    }
    let (_, team) = auth.team(&bearer, uuid("teamId", &id)?, TeamRight::Manage)?;
    let auth = auth.into_inner();
    let changed = web::block(move || {
        auth.accounts().change_team(team.id, name.as_deref(), access_code.as_deref())
    });
    Ok(HttpResponse::Ok().json(answer(&changed.await??.map_err(refused)?)))
}

async fn delete(
    id: web::Path<String>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    directory: web::Data<Directory>,
) -> Result<HttpResponse, ApiError> {
    let (caller, team) = auth.team(&bearer, uuid("teamId", &id)?, TeamRight::Delete)?;
    let auth = auth.into_inner();
    let remove = move || auth.accounts().remove_team(&directory, team.id, caller.user_id);
    web::block(remove).await??.map_err(refused)?;
    Ok(HttpResponse::Ok().json(json!({ "ok": true })))
}

async fn members(
    id: web::Path<String>,
    page: Page,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let (_, team) = auth.team(&bearer, uuid("teamId", &id)?, TeamRight::See)?;
    let searched = page.searched().map(str::to_lowercase);
    let is_found = |member: &&Member| {
        let account = auth.accounts().by_id(member.user_id);
        let name = account.map(|account| account.username.to_lowercase()).unwrap_or_default();
        searched.as_ref().is_none_or(|searched| name.contains(searched))
    };
    let found: Vec<_> = team.members.iter().filter(is_found).collect();
    let rows: Vec<Value> = page.cut(&found).map(|member| with_user(&auth, member)).collect();
    Ok(HttpResponse::Ok().json(page.answer(&rows, i64::try_from(found.len())?)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Addition {
    user_id: String,
    role: String,
}

async fn add(
    id: web::Path<String>,
    body: web::Json<Addition>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let (user_id, role) = (uuid("userId", &body.user_id)?, role_of(&body.role)?);
    let (_, team) = auth.team(&bearer, uuid("teamId", &id)?, TeamRight::Manage)?;
    put_member(auth, team.id, user_id, role).await
}

async fn put_member(
    auth: web::Data<Auth>,
    team_id: Uuid,
    user_id: Uuid,
    role: TeamRole,
) -> Result<HttpResponse, ApiError> {
    let auth = auth.into_inner();
    let added = web::block(move || auth.accounts().add_member(team_id, user_id, role)).await??;
    Ok(HttpResponse::Ok().json(answer_member(&added.map_err(refused)?)))
}

/// A team and somebody, in the path.
type Place = web::Path<(String, String)>;

fn place(path: &Place) -> Result<(Uuid, Uuid), ApiError> {
    Ok((uuid("teamId", &path.0)?, uuid("userId", &path.1)?))
}

async fn member(
    path: Place,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let (team_id, user_id) = place(&path)?;
    let (_, team) = auth.team(&bearer, team_id, TeamRight::See)?;
    Ok(HttpResponse::Ok().json(team.member(user_id).map(answer_member)))
}

#[derive(Deserialize)]
struct NewRole {
    role: String,
}

async fn change_member(
    path: Place,
    body: web::Json<NewRole>,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let ((team_id, user_id), role) = (place(&path)?, role_of(&body.role)?);
    auth.team(&bearer, team_id, TeamRight::Manage)?;
    let auth = auth.into_inner();
    let changed = web::block(move || auth.accounts().change_member(team_id, user_id, role));
    Ok(HttpResponse::Ok().json(answer_member(&changed.await??.map_err(refused)?)))
}

/// Everybody may leave; who manages the team may take others out.
async fn remove(
    path: Place,
    bearer: Bearer,
    auth: web::Data<Auth>,
) -> Result<HttpResponse, ApiError> {
    let (team_id, user_id) = place(&path)?;
    let (caller, _) = auth.team(&bearer, team_id, TeamRight::See)?;
    if caller.user_id != user_id {
        auth.team(&bearer, team_id, TeamRight::Manage)?;
    }
    let auth = auth.into_inner();
    web::block(move || auth.accounts().remove_member(team_id, user_id)).await??.map_err(refused)?;
    Ok(HttpResponse::Ok().json(json!({ "ok": true })))
}

fn check_name(name: &str) -> Result<(), ApiError> {
    if name.trim().is_empty() {
        return Err(ApiError::bad_request("Invalid name: expected a name"));
    }
    check_length("name", Some(name), limits::TEAM_NAME_CHARS_MAX)
}

/// A role that can be given; a team has one owner from its beginning.
fn role_of(name: &str) -> Result<TeamRole, ApiError> {
    let role = TeamRole::from_name(name).filter(|role| *role != TeamRole::Owner);
    role.ok_or_else(|| {
        ApiError::bad_request("Invalid role: expected team-manager, team-member or team-view-only")
    })
}

fn refused(reason: Refused) -> ApiError {
    let text = match reason {
        Refused::UnknownTeam => return ApiError::Missing("Team not found.", "not-found"),
        Refused::UnknownUser => return ApiError::Missing("User not found.", "not-found"),
        Refused::CodeTaken => "This access code is taken",
        Refused::IsMember => "User is already a member of the Team.",
        Refused::NoMember => "The User does not exists on this team.",
        Refused::Owner => "The owner stays: delete the team instead",
        Refused::TooMany => "There are too many teams already, more are not possible",
    };
    ApiError::bad_request(text)
}

fn answer(team: &Arc<Team>) -> Value {
    json!({
        "id": team.id.to_string(),
        "name": team.name,
        "accessCode": team.access_code,
        "logoUrl": null,
        "createdAt": clock::iso(team.created_at),
        "updatedAt": clock::iso(team.updated_at),
        "deletedAt": null,
    })
}

fn answer_member(member: &Member) -> Value {
    json!({
        "id": member.id.to_string(),
        "teamId": member.team_id.to_string(),
        "userId": member.user_id.to_string(),
        "role": member.role.name(),
        "createdAt": clock::iso(member.created_at),
        "updatedAt": clock::iso(member.updated_at),
    })
}

fn with_user(auth: &Auth, member: &Member) -> Value {
    let mut row = answer_member(member);
    let account = auth.accounts().by_id(member.user_id);
    row["user"] = account.map_or(
        Value::Null,
        |account| json!({ "id": account.id.to_string(), "username": account.username }),
    );
    row
}
