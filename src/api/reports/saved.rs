//! Saved reports: `/api/reports` and `/api/reports/{id}` for any type, and in the newer shape `…/goals` and `…/funnels`
//! with the figures of one saved. Parameters are kept as they were sent; what makes no sense is refused when its
//! figures are asked for.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{Answer, KINDS, funnel, goal};
use crate::api::Asked;
use crate::api::page::Page;
use crate::api::params::Query;
use crate::api::scope::Scope;
use crate::api::segments::{self, check_length, delete_of_kind, of_kind, saved_id};
use crate::auth::{Auth, Bearer};
use crate::error::ApiError;
use crate::limits;
use crate::store::Store;
use crate::store::saved::{Content, Saved};

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    let website = |tail: &str| web::resource(format!("/api/websites/{{website}}/{tail}"));
    cfg.service(web::resource("/api/reports").get(list).post(create))
        .service(web::resource("/api/reports/{id}").get(show).post(change).delete(delete))
        .service(website("goals").get(goals).post(create_goal))
        .service(website("goals/stats").get(goal_stats))
        .service(website("goals/{id}").get(show_goal).post(change_goal).delete(delete_goal))
        .service(website("goals/{id}/stats").get(saved_goal_stats))
        .service(website("funnels").get(funnels).post(create_funnel))
        .service(website("funnels/stats").get(funnel_stats))
        .service(website("funnels/{id}").get(show_funnel).post(change_funnel).delete(delete_funnel))
        .service(website("funnels/{id}/stats").get(saved_funnel_stats));
}

const GOAL: &[&str] = &["goal"];
const FUNNEL: &[&str] = &["funnel"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// Of the older shape only.
    website_id: Option<String>,
    r#type: Option<String>,
    name: String,
    description: Option<String>,
    parameters: Map<String, Value>,
}

impl Body {
    fn content(self, kind: &str) -> Result<Content, ApiError> {
        check_length("name", &self.name, limits::SAVED_NAME_CHARS_MAX)?;
        let description = self.description.as_deref().unwrap_or_default();
        check_length("description", description, limits::SAVED_DESCRIPTION_CHARS_MAX)?;
        Ok(Content {
            kind: kind.to_owned(),
            name: self.name,
            description: self.description,
            parameters: Value::from(self.parameters).to_string(),
        })
    }

    /// The website and the content of the older shape.
    fn of_report(mut self) -> Result<(String, Content), ApiError> {
        let kind = self.r#type.take().filter(|kind| KINDS.contains(&kind.as_str()));
        let kind =
            kind.ok_or_else(|| ApiError::bad_request("Invalid type: expected a type of report"))?;
        let website = self.website_id.take();
        let website =
            website.ok_or_else(|| ApiError::bad_request("Invalid websiteId: it is missing"))?;
        Ok((website, self.content(&kind)?))
    }
}

/// Who is asking, and where it is kept.
struct Kept {
    bearer: Bearer,
    auth: web::Data<Auth>,
    store: web::Data<Store>,
}

type Parts = (Bearer, web::Data<Auth>, web::Data<Store>);

impl From<Parts> for Kept {
    fn from((bearer, auth, store): Parts) -> Self {
        Self { bearer, auth, store }
    }
}

impl Kept {
    async fn list(&self, website: &str, kinds: String, page: &Page) -> Answer {
        let website = self.auth.website(&self.bearer, website).await?;
        let (search, limit, offset) = page.window();
        let store = self.store.clone();
        let found =
            web::block(move || store.list_saved(website.key, &kinds, &search, limit, offset));
        let (rows, count) = found.await??;
        let rows: Vec<Value> = rows.iter().map(answer).collect();
        Ok(HttpResponse::Ok().json(page.answer(&rows, count)))
    }

    async fn create(&self, website: &str, content: Content) -> Answer {
        let website = self.auth.website_to_change(&self.bearer, website).await?;
        let user_id = self.auth.caller(&self.bearer)?.user_id;
        let store = self.store.clone();
        let saved = web::block(move || store.save(website, user_id, &content)).await??;
        let saved =
            saved.ok_or_else(|| ApiError::bad_request("The website has too many of them"))?;
        Ok(HttpResponse::Ok().json(answer(&saved)))
    }

    async fn find(&self, website: &str, id: Uuid, kinds: &[&str]) -> Result<Saved, ApiError> {
        let website = self.auth.website(&self.bearer, website).await?;
        let store = self.store.clone();
        of_kind(web::block(move || store.saved(website.key, id)).await??, kinds)
    }

    async fn change(&self, website: &str, id: Uuid, kinds: &[&str], content: Content) -> Answer {
        let key = self.auth.website_to_change(&self.bearer, website).await?.key;
        self.find(website, id, kinds).await?;
        let store = self.store.clone();
        let changed = web::block(move || store.change_saved(key, id, &content)).await??;
        Ok(HttpResponse::Ok().json(answer(&of_kind(changed, &KINDS)?)))
    }

    async fn delete(&self, website: &str, id: Uuid, kinds: &'static [&'static str]) -> Answer {
        let website = self.auth.website_to_change(&self.bearer, website).await?;
        delete_of_kind(self.store.clone(), website.key, id, kinds).await
    }

    /// The website that a report belongs to, for requests that do not name it; only an admin learns that there is none.
    async fn website_of(&self, id: Uuid) -> Result<Option<String>, ApiError> {
        let caller = self.auth.caller(&self.bearer)?;
        let store = self.store.clone();
        let website = web::block(move || store.website_of_saved(id)).await??;
        if website.is_none() && !caller.is_admin() {
            return Err(ApiError::unauthorized());
        }
        Ok(website.map(|website| website.to_string()))
    }
}

/// `ok` is what the newer contract promises, the rest is what its clients read.
fn answer(saved: &Saved) -> Value {
    let mut answer = segments::answer(saved);
    answer["userId"] = json!(saved.user_id.to_string());
    answer["description"] = json!(saved.description);
    answer["ok"] = json!(true);
    answer
}

async fn list(query: Query, page: Page, parts: Parts) -> Answer {
    let website = query.required("websiteId")?;
    let kinds = match query.get("type") {
        Some(kind) if KINDS.contains(&kind) => kind.to_owned(),
        Some(_) => return Err(ApiError::bad_request("Invalid type: expected a type of report")),
        None => KINDS.join(","),
    };
    Kept::from(parts).list(website, kinds, &page).await
}

async fn create(body: web::Json<Body>, parts: Parts) -> Answer {
    let (website, content) = body.into_inner().of_report()?;
    Kept::from(parts).create(&website, content).await
}

/// One that does not exist is null for an admin, as in Umami.
async fn show(id: web::Path<String>, parts: Parts) -> Answer {
    let (id, kept) = (saved_id(&id)?, Kept::from(parts));
    let Some(website) = kept.website_of(id).await? else {
        return Ok(HttpResponse::Ok().json(Value::Null));
    };
    let saved = kept.find(&website, id, &KINDS).await?;
    Ok(HttpResponse::Ok().json(answer(&saved)))
}

async fn change(id: web::Path<String>, body: web::Json<Body>, parts: Parts) -> Answer {
    let (id, kept) = (saved_id(&id)?, Kept::from(parts));
    let (_, content) = body.into_inner().of_report()?;
    let website = kept.website_of(id).await?.ok_or(ApiError::NotFound)?;
    kept.change(&website, id, &KINDS, content).await
}

async fn delete(id: web::Path<String>, parts: Parts) -> Answer {
    let (id, kept) = (saved_id(&id)?, Kept::from(parts));
    let website = kept.website_of(id).await?.ok_or(ApiError::NotFound)?;
    kept.delete(&website, id, &KINDS).await
}

async fn goals(website: web::Path<String>, page: Page, parts: Parts) -> Answer {
    Kept::from(parts).list(&website, "goal".to_owned(), &page).await
}

async fn funnels(website: web::Path<String>, page: Page, parts: Parts) -> Answer {
    Kept::from(parts).list(&website, "funnel".to_owned(), &page).await
}

async fn create_goal(website: web::Path<String>, body: web::Json<Body>, parts: Parts) -> Answer {
    let content = body.into_inner().content("goal")?;
    Kept::from(parts).create(&website, content).await
}

async fn create_funnel(website: web::Path<String>, body: web::Json<Body>, parts: Parts) -> Answer {
    let content = body.into_inner().content("funnel")?;
    Kept::from(parts).create(&website, content).await
}

/// Website and id of the path.
type Ids = web::Path<(String, String)>;

async fn show_goal(ids: Ids, parts: Parts) -> Answer {
    let saved = Kept::from(parts).find(&ids.0, saved_id(&ids.1)?, GOAL).await?;
    Ok(HttpResponse::Ok().json(answer(&saved)))
}

async fn show_funnel(ids: Ids, parts: Parts) -> Answer {
    let saved = Kept::from(parts).find(&ids.0, saved_id(&ids.1)?, FUNNEL).await?;
    Ok(HttpResponse::Ok().json(answer(&saved)))
}

async fn change_goal(ids: Ids, body: web::Json<Body>, parts: Parts) -> Answer {
    let content = body.into_inner().content("goal")?;
    Kept::from(parts).change(&ids.0, saved_id(&ids.1)?, GOAL, content).await
}

async fn change_funnel(ids: Ids, body: web::Json<Body>, parts: Parts) -> Answer {
    let content = body.into_inner().content("funnel")?;
    Kept::from(parts).change(&ids.0, saved_id(&ids.1)?, FUNNEL, content).await
}

async fn delete_goal(ids: Ids, parts: Parts) -> Answer {
    Kept::from(parts).delete(&ids.0, saved_id(&ids.1)?, GOAL).await
}

async fn delete_funnel(ids: Ids, parts: Parts) -> Answer {
    Kept::from(parts).delete(&ids.0, saved_id(&ids.1)?, FUNNEL).await
}

async fn goal_stats(asked: Asked) -> Answer {
    Ok(HttpResponse::Ok().json(goal::answer(&asked).await?))
}

async fn funnel_stats(asked: Asked) -> Answer {
    Ok(HttpResponse::Ok().json(funnel::answer(&asked).await?))
}

async fn saved_goal_stats(ids: Ids, asked: Asked, parts: Parts) -> Answer {
    let asked = with_saved(&ids, asked, parts, GOAL).await?;
    Ok(HttpResponse::Ok().json(goal::answer(&asked).await?))
}

async fn saved_funnel_stats(ids: Ids, asked: Asked, parts: Parts) -> Answer {
    let asked = with_saved(&ids, asked, parts, FUNNEL).await?;
    Ok(HttpResponse::Ok().json(funnel::answer(&asked).await?))
}

/// The question with the parameters that were saved.
async fn with_saved(
    ids: &Ids,
    mut asked: Asked,
    parts: Parts,
    kinds: &[&str],
) -> Result<Asked, ApiError> {
    Scope::parse(&asked.query)?;
    let saved = Kept::from(parts).find(&ids.0, saved_id(&ids.1)?, kinds).await?;
    asked.query =
        std::mem::take(&mut asked.query).with_parameters(serde_json::from_str(&saved.parameters)?);
    Ok(asked)
}
