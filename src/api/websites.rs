//! Websites: list, create, show, change, delete, reset. Bodies are checked before the caller is (a bad body is 400
//! even without a token). The answers carry every field that Umami's have; what the recorder in a page does with the
//! settings of recordings is its own business (`replays`).

use actix_web::{HttpResponse, web};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use uuid::{Uuid, Variant};

use super::page::Page;
use super::params::Query;
use crate::auth::{Auth, Bearer, TeamRight};
use crate::error::ApiError;
use crate::store::Store;
use crate::store::websites::{NewWebsite, Refused, WebsiteChange, WebsiteRow, Whose};
use crate::websites::{Directory, Owner};
use crate::{clock, limits};

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    cfg.service(
        web::resource("/api/websites").route(web::get().to(list)).route(web::post().to(create)),
    )
    .service(
        web::resource("/api/websites/{id}")
            .route(web::get().to(show))
            .route(web::post().to(change))
            .route(web::delete().to(delete)),
    )
    .service(web::resource("/api/websites/{id}/reset").route(web::post().to(reset)))
    .service(web::resource("/api/me/websites").route(web::get().to(list)))
    .service(web::resource("/api/websites/{id}/transfer").route(web::post().to(transfer)))
    .service(web::resource("/api/teams/{id}/websites").route(web::get().to(list_of_team)))
    .service(web::resource("/api/users/{id}/websites").route(web::get().to(list_of_user)))
    .service(web::resource("/api/admin/websites").route(web::get().to(list_all)));
}

/// One's own, and with `includeTeams` those of the teams that one owns.
async fn list(
    query: Query,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let page = Page::from_query(&query)?;
    let user_id = auth.caller(&bearer)?.user_id;
    let with_teams =
        query.get("includeTeams").is_some_and(|word| !["", "0", "false"].contains(&word));
    let whose =
        if with_teams { Whose::WithTeams(user_id) } else { Whose::Of(Owner::User(user_id)) };
    answer_page(page, whose, auth, store).await
}

async fn list_of_team(
    id: web::Path<String>,
    page: Page,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let (_, team) = auth.team(&bearer, uuid("teamId", &id)?, TeamRight::See)?;
    answer_page(page, Whose::Of(Owner::Team(team.id)), auth, store).await
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
    answer_page(page, Whose::Of(Owner::User(id)), auth, store).await
}

async fn list_all(
    page: Page,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    auth.admin(&bearer)?;
    answer_page(page, Whose::Everybody, auth, store).await
}

/// One page of somebody's websites, each with the names of its owner and its creator. Permission was asked before.
async fn answer_page(
    page: Page,
    whose: Whose,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let (search, limit, offset) = page.window();
    let found = web::block(move || store.websites_of(whose, &search, limit, offset));
    let (rows, count) = found.await??;
    let with_user = |row: &WebsiteRow| {
        let (user_id, created_by) = (row.user_id, row.created_by);
        let mut row = answer(row);
        let person = |id: Option<Uuid>| {
            let account = id.and_then(|id| auth.accounts().by_id(id));
            account.map(
                |account| json!({ "id": account.id.to_string(), "username": account.username }),
            )
        };
        row["user"] = json!(person(user_id));
        row["createUser"] = json!(person(created_by));
        row
    };
    let rows: Vec<Value> = rows.iter().map(with_user).collect();
    Ok(HttpResponse::Ok().json(page.answer(&rows, count)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Creation {
    name: String,
    domain: String,
    id: Option<String>,
    team_id: Option<String>,
    share_id: Option<String>,
}

async fn create(
    body: web::Json<Creation>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
    directory: web::Data<Directory>,
) -> Result<HttpResponse, ApiError> {
    let Creation { name, domain, id, team_id, share_id } = body.into_inner();
    check_length("name", Some(&name), limits::WEBSITE_NAME_CHARS_MAX)?;
    check_length("domain", Some(&domain), limits::WEBSITE_DOMAIN_CHARS_MAX)?;
    check_length("shareId", share_id.as_deref(), limits::SHARE_ID_CHARS_MAX)?;
    let id = id.as_deref().map(|id| uuid("id", id)).transpose()?;
    let team_id = team_id.as_deref().map(|id| uuid("teamId", id)).transpose()?;
    let (caller, owner) = auth.may_create(&bearer, team_id)?;
    let new = NewWebsite {
        id: id.unwrap_or_else(Uuid::new_v4),
        name,
        domain,
        share_id: share_id.filter(|share_id| !share_id.is_empty()),
        owner,
        created_by: caller.user_id,
    };
    let created = web::block(move || store.create_website(&directory, &new));
    let row = created.await??.map_err(refused)?;
    Ok(HttpResponse::Ok().json(answer(&row)))
}

async fn show(
    id: web::Path<String>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let website = auth.website(&bearer, &id).await?;
    let row = web::block(move || store.website(website.id)).await??;
    Ok(HttpResponse::Ok().json(row.as_ref().map(answer)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::option_option, reason = "absent, null and a value mean three things")]
struct Change {
    #[serde(default, deserialize_with = "present")]
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    domain: Option<String>,
    #[serde(default, deserialize_with = "present")]
    share_id: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    replay_enabled: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    replay_config: Option<Option<Map<String, Value>>>,
}

/// Tells a field that is null from one that is absent.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

async fn change(
    id: web::Path<String>,
    body: web::Json<Change>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
    directory: web::Data<Directory>,
) -> Result<HttpResponse, ApiError> {
    let body = body.into_inner();
    check_length("name", body.name.as_deref(), limits::WEBSITE_NAME_CHARS_MAX)?;
    check_length("domain", body.domain.as_deref(), limits::WEBSITE_DOMAIN_CHARS_MAX)?;
    let share_id = body.share_id.as_ref().and_then(Option::as_deref);
    check_length("shareId", share_id, limits::SHARE_ID_CHARS_MAX)?;
    let replay_config =
        body.replay_config.map(|config| config.map(|map| Value::from(map).to_string()));
    let is_long = |text: &String| text.len() > limits::REPLAY_CONFIG_BYTES_MAX;
    if replay_config.as_ref().and_then(Option::as_ref).is_some_and(is_long) {
        return Err(ApiError::bad_request("Invalid replayConfig: too long"));
    }
    let website = auth.website_to_change(&bearer, &id).await?;
    let change = WebsiteChange {
        name: body.name,
        domain: body.domain,
        share_id: body.share_id.filter(|share_id| share_id.as_deref() != Some("")),
        replay_enabled: body.replay_enabled,
        replay_config,
    };
    let changed = web::block(move || store.change_website(&directory, website.id, &change));
    let row = changed.await??.map_err(refused)?;
    Ok(HttpResponse::Ok().json(answer(&row)))
}

async fn delete(
    id: web::Path<String>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
    directory: web::Data<Directory>,
) -> Result<HttpResponse, ApiError> {
    let website = auth.website_to_change(&bearer, &id).await?;
    done(web::block(move || store.delete_website(&directory, website.id)).await??)
}

async fn reset(
    id: web::Path<String>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
    directory: web::Data<Directory>,
) -> Result<HttpResponse, ApiError> {
    let website = auth.website_to_change(&bearer, &id).await?;
    done(web::block(move || store.reset_website(&directory, website.id)).await??)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Transfer {
    user_id: Option<String>,
    team_id: Option<String>,
}

async fn transfer(
    id: web::Path<String>,
    body: web::Json<Transfer>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
    directory: web::Data<Directory>,
) -> Result<HttpResponse, ApiError> {
    let to = match (&body.user_id, &body.team_id) {
        (Some(id), None) => Owner::User(uuid("userId", id)?),
        (None, Some(id)) => Owner::Team(uuid("teamId", id)?),
        _ => return Err(ApiError::bad_request("Expected either userId or teamId")),
    };
    let website = auth.website_to_give(&bearer, &id, to).await?;
    let given = web::block(move || store.give_website(&directory, website.id, to));
    Ok(HttpResponse::Ok().json(answer(&given.await??.ok_or(ApiError::NotFound)?)))
}

/// `false` when somebody else was faster to delete the website.
fn done(is_done: bool) -> Result<HttpResponse, ApiError> {
    if is_done {
        Ok(HttpResponse::Ok().json(json!({ "ok": true })))
    } else {
        Err(ApiError::NotFound)
    }
}

fn refused(reason: Refused) -> ApiError {
    match reason {
        Refused::IdTaken => ApiError::bad_request("There is a website with this id already"),
        Refused::ShareIdTaken => ApiError::bad_request("This share id is taken"),
        Refused::TooMany => ApiError::bad_request(format!(
            "There are {} websites already, more are not possible",
            limits::WEBSITES_MAX
        )),
        Refused::Unknown => ApiError::NotFound,
    }
}

pub(super) fn check_length(
    field: &str,
    value: Option<&str>,
    chars_max: usize,
) -> Result<(), ApiError> {
    if value.is_some_and(|value| value.chars().count() > chars_max) {
        let text = format!("Invalid {field}: expected at most {chars_max} characters");
        return Err(ApiError::bad_request(text));
    }
    Ok(())
}

/// A UUID as the tracker accepts it for a website, and as ids of people are:
/// with hyphens, of a known version and the usual variant.
pub(super) fn uuid(field: &str, text: &str) -> Result<Uuid, ApiError> {
    let is_strict = |id: &Uuid| {
        let known = (1..=8).contains(&id.get_version_num());
        text.len() == 36 && (id.is_nil() || (known && id.get_variant() == Variant::RFC4122))
    };
    let id = Uuid::try_parse(text).ok().filter(is_strict);
    id.ok_or_else(|| ApiError::bad_request(format!("Invalid {field}: expected a UUID")))
}

fn answer(row: &WebsiteRow) -> Value {
    let config: Option<Value> =
        row.replay_config.as_deref().and_then(|config| serde_json::from_str(config).ok());
    let text = |id: Option<Uuid>| id.map(|id| id.to_string());
    json!({
        "id": row.id.to_string(),
        "name": row.name,
        "domain": row.domain,
        "resetAt": row.reset_at.map(clock::iso),
        "userId": text(row.user_id),
        "teamId": text(row.team_id),
        "createdBy": text(row.created_by),
        "createdAt": clock::iso(row.created_at),
        "updatedAt": row.updated_at.map(clock::iso),
        "deletedAt": null,
        "replayEnabled": row.replay_enabled,
        "recorderEnabled": row.is_recorded(),
        "replayConfig": config,
        "shareId": row.share_id,
    })
}
