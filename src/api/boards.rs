//! Boards, and the dashboard that everybody has one of: list, create, show, change, copy, delete. What is on one is
//! kept as it was sent and means nothing here: its figures are asked for like all others, with the viewer's own rights.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::page::Page;
use super::websites::{check_length, uuid};
use crate::auth::{Auth, Bearer, Right, TeamRight};
use crate::error::ApiError;
use crate::store::Store;
use crate::store::boards::{Board, BoardContent, OPEN};
use crate::websites::Owner;
use crate::{clock, limits};

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    cfg.service(web::resource("/api/boards").get(list).post(create))
        .service(web::resource("/api/boards/{id}").get(show).post(change).delete(delete))
        .service(web::resource("/api/boards/{id}/clone").post(copy))
        .service(web::resource("/api/teams/{id}/boards").get(list_of_team))
        .service(web::resource("/api/dashboard").get(dashboard).post(save_dashboard));
}

/// Who is asking, and where boards are kept.
type Parts = (Bearer, web::Data<Auth>, web::Data<Store>);

type Answer = Result<HttpResponse, ApiError>;

/// What is put on a board. Not all requests take every field; what one does not take is left alone.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    r#type: Option<String>,
    name: Option<String>,
    description: Option<String>,
    parameters: Option<Map<String, Value>>,
    user_id: Option<String>,
    team_id: Option<String>,
}

impl Body {
    /// What is to be kept, if it fits.
    fn content(self) -> Result<BoardContent, ApiError> {
        if self.r#type.is_some_and(|kind| kind != OPEN) {
            return Err(ApiError::bad_request("Invalid type: expected open"));
        }
        let (name, description) = (self.name, self.description);
        check_length("name", name.as_deref(), limits::BOARD_NAME_CHARS_MAX)?;
        let chars_max = limits::BOARD_DESCRIPTION_CHARS_MAX;
        check_length("description", description.as_deref(), chars_max)?;
        for field in ["websiteId", "linkId", "pixelId"] {
            let value = self.parameters.as_ref().and_then(|parameters| parameters.get(field));
            if value.is_some_and(|value| !value.is_string()) {
                let text = format!("Invalid parameters: {field} is no string");
                return Err(ApiError::BadRequest(text));
            }
        }
        let parameters = self.parameters.map(|parameters| Value::from(parameters).to_string());
        if parameters.as_ref().is_some_and(|text| text.len() > limits::BOARD_BYTES_MAX) {
            return Err(ApiError::bad_request("Invalid parameters: too long"));
        }
        Ok(BoardContent { name, description, parameters })
    }
}

async fn list(page: Page, (bearer, auth, store): Parts) -> Answer {
    let owner = Owner::User(auth.caller(&bearer)?.user_id);
    answer_page(page, owner, store).await
}

async fn list_of_team(id: web::Path<String>, page: Page, (bearer, auth, store): Parts) -> Answer {
    let (_, team) = auth.team(&bearer, uuid("teamId", &id)?, TeamRight::See)?;
    answer_page(page, Owner::Team(team.id), store).await
}

/// One page of what an owner has. Permission was asked before.
async fn answer_page(page: Page, owner: Owner, store: web::Data<Store>) -> Answer {
    let (search, limit, offset) = page.window();
    let found = web::block(move || store.boards_of(owner, &search, limit, offset));
    let (rows, count) = found.await??;
    let rows: Vec<Value> = rows.iter().map(answer).collect();
    Ok(HttpResponse::Ok().json(page.answer(&rows, count)))
}

async fn create(body: web::Json<Body>, (bearer, auth, store): Parts) -> Answer {
    let body = body.into_inner();
    if body.r#type.is_none() || body.name.is_none() {
        return Err(ApiError::bad_request("Invalid body: expected a type and a name"));
    }
    let user = body.user_id.as_deref().map(|id| uuid("userId", id)).transpose()?;
    let team = body.team_id.as_deref().map(|id| uuid("teamId", id)).transpose()?;
    let content = body.content()?;
    let (caller, mut owner) = auth.may_create(&bearer, team)?;
    if let (Some(user), None) = (user, team) {
        owner = Owner::User(user);
        if !auth.may(&caller, Right::Change, owner) {
            return Err(ApiError::unauthorized());
        }
        if auth.accounts().by_id(user).is_none() {
            return Err(ApiError::bad_request("Invalid userId: there is no such user"));
        }
    }
    keep(store, owner, content).await
}

async fn show(id: web::Path<String>, (bearer, auth, store): Parts) -> Answer {
    let caller = auth.caller(&bearer)?;
    let board = find(&store, &id).await?;
    match board {
        Some(board) if auth.may(&caller, Right::See, owner(&board)) => {
            Ok(HttpResponse::Ok().json(answer(&board)))
        }
        // As with websites: null for an admin, and no sign of its existence for others.
        None if caller.is_admin() => Ok(HttpResponse::Ok().json(Value::Null)),
        _ => Err(ApiError::unauthorized()),
    }
}

async fn change(id: web::Path<String>, body: web::Json<Body>, parts: Parts) -> Answer {
    let content = body.into_inner().content()?;
    let board = find_for(&parts, &id, Right::Change).await?;
    let store = parts.2;
    let changed = web::block(move || store.change_board(board.id, &content)).await??;
    Ok(HttpResponse::Ok().json(answer(&changed.ok_or(ApiError::NotFound)?)))
}

async fn delete(id: web::Path<String>, parts: Parts) -> Answer {
    let board = find_for(&parts, &id, Right::Change).await?;
    let store = parts.2;
    if web::block(move || store.delete_board(board.id)).await?? {
        Ok(HttpResponse::Ok().json(json!({ "ok": true })))
    } else {
        Err(ApiError::NotFound)
    }
}

/// The copy belongs to whoever makes it, who needs no right to change the first one.
async fn copy(id: web::Path<String>, body: web::Json<Body>, parts: Parts) -> Answer {
    let content = body.into_inner().content()?;
    let board = find_for(&parts, &id, Right::See).await?;
    let (_, owner) = parts.1.may_create(&parts.0, None)?;
    let content = BoardContent {
        name: content.name.or(Some(board.name)),
        description: content.description.or(Some(board.description)),
        parameters: content.parameters.or(Some(board.parameters)),
    };
    keep(parts.2, owner, content).await
}

async fn dashboard((bearer, auth, store): Parts) -> Answer {
    let user_id = auth.caller(&bearer)?.user_id;
    let board = web::block(move || store.dashboard(user_id)).await??;
    Ok(HttpResponse::Ok().json(board.as_ref().map(answer)))
}

/// Everybody arranges their own, also who may only look.
async fn save_dashboard(body: web::Json<Body>, (bearer, auth, store): Parts) -> Answer {
    let content = body.into_inner().content()?;
    let user_id = auth.caller(&bearer)?.user_id;
    let board = web::block(move || store.save_dashboard(user_id, &content)).await??;
    Ok(HttpResponse::Ok().json(answer(&board)))
}

async fn keep(store: web::Data<Store>, owner: Owner, content: BoardContent) -> Answer {
    let created = web::block(move || store.create_board(owner, &content)).await??;
    let text = "There are too many boards already: delete one first";
    let created = created.ok_or_else(|| ApiError::bad_request(text))?;
    Ok(HttpResponse::Ok().json(answer(&created)))
}

async fn find(store: &web::Data<Store>, id: &str) -> Result<Option<Board>, ApiError> {
    let id = uuid("boardId", id)?;
    let store = store.clone();
    Ok(web::block(move || store.board(id)).await??)
}

/// A board, if whoever asks may do this with it.
async fn find_for(
    (bearer, auth, store): &Parts,
    id: &str,
    right: Right,
) -> Result<Board, ApiError> {
    let caller = auth.caller(bearer)?;
    match find(store, id).await? {
        Some(board) if auth.may(&caller, right, owner(&board)) => Ok(board),
        None if caller.is_admin() => Err(ApiError::NotFound),
        _ => Err(ApiError::unauthorized()),
    }
}

fn owner(board: &Board) -> Owner {
    Owner::of(board.user_id, board.team_id)
}

fn answer(board: &Board) -> Value {
    let text = |id: Option<Uuid>| id.map(|id| id.to_string());
    let parameters: Value = serde_json::from_str(&board.parameters).unwrap_or_else(|_| json!({}));
    json!({
        "id": board.id.to_string(),
        "type": board.kind,
        "name": board.name,
        "description": board.description,
        "parameters": parameters,
        "userId": text(board.user_id),
        "teamId": text(board.team_id),
        "createdAt": clock::iso(board.created_at),
        "updatedAt": clock::iso(board.updated_at),
    })
}
