//! Recordings of visits: taken in (`record.rs`), listed, given back as they came, saved beyond their time. There is no
//! player here; who has one asks for the events. Questions about recordings are asked anew each time. Who only looks at
//! a shared website is shown figures, never a recording: each question here asks for somebody who is signed in.

mod record;

use std::sync::atomic::{AtomicI64, Ordering};

use actix_web::http::header;
use actix_web::web::{self, Json};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::Asked;
use super::cells::{counted, id, time};
use super::long_answer::{Asker, LongAnswer, Pieces};
use super::page::{Page, Paged};
use super::params::invalid;
use super::scope::Scope;
use super::segments::check_length;
use crate::auth::{Auth, Bearer};
use crate::error::ApiError;
use crate::identity::{CacheKey, id_of, uuid_of};
use crate::store::Store;
use crate::store::question::{Question, Row};
use crate::store::reader::Readers;
use crate::store::replays::SavedReplay;
use crate::store::sql;
use crate::websites::{Directory, Website};
use crate::{clock, limits};

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    let website = |tail: &str| web::resource(format!("/api/websites/{{website}}/{tail}"));
    cfg.service(web::resource("/api/record").post(record::record))
        .service(website("recorder").get(recorder))
        .service(website("replays").get(of_website))
        .service(website("replays/saved").get(saved))
        .service(website("replays/saved/{id}").get(is_saved).post(save))
        .service(website("replays/{id}").get(replay))
        .service(website("sessions/{id}/replays").get(of_session));
}

/// Takes recordings in, a few at a time, and forgets them when their time has come.
pub struct Recorder {
    key: CacheKey,
    places: Semaphore,
    days: u32,
    swept_at: AtomicI64,
}

impl Recorder {
    /// `secret`: that of the tokens which trackers get; `days`: how long recordings are kept.
    #[must_use]
    pub fn new(secret: &str, days: u32) -> Self {
        let places = Semaphore::new(limits::RECORDINGS_MAX);
        let key = CacheKey::new(secret.as_bytes());
        Self { key, places, days, swept_at: AtomicI64::new(0) }
    }

    /// Forgets what has been kept long enough, now and then.
    async fn sweep(&self, store: &web::Data<Store>) -> Result<(), ApiError> {
        let (now, last) = (clock::now_ms(), self.swept_at.load(Ordering::Relaxed));
        let is_early = (0..limits::REPLAY_SWEEP_MS).contains(&(now - last));
        let order = Ordering::Relaxed;
        if is_early || self.swept_at.compare_exchange(last, now, order, order).is_err() {
            return Ok(());
        }
        let store = web::Data::clone(store);
        let before = now - i64::from(self.days) * 24 * 3_600_000;
        web::block(move || store.forget_chunks(before)).await??;
        Ok(())
    }
}

/// What a recorder in the browser asks before it begins, without a token.
async fn recorder(
    website: web::Path<String>,
    directory: web::Data<Directory>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let known = Uuid::try_parse(&website).ok().filter(|id| directory.get(*id).is_some());
    let off = json!({ "enabled": false });
    let Some(id) = known else { return Ok(HttpResponse::Ok().json(off)) };
    let row = web::block(move || store.website(id)).await??;
    let Some(row) = row.filter(crate::store::websites::WebsiteRow::is_recorded) else {
        return Ok(HttpResponse::Ok().json(off));
    };
    let mut answer = json!({
        "enabled": true,
        "replayEnabled": true,
        "heatmapEnabled": false,
        "heatmapSampleRate": 0,
        "sampleRate": 1,
        "maskLevel": "strict",
        "maxDuration": limits::VISIT_IDLE_MS,
        "blockSelector": "",
    });
    let config: Option<Value> =
        row.replay_config.as_deref().and_then(|config| serde_json::from_str(config).ok());
    for name in ["sampleRate", "maskLevel", "maxDuration", "blockSelector"] {
        let set = config.as_ref().map(|config| &config[name]).filter(|value| !value.is_null());
        if let Some(set) = set {
            answer[name] = set.clone();
        }
    }
    Ok(HttpResponse::Ok().json(answer))
}

/// A recording in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Replay {
    /// That of the visit.
    id: String,
    website_id: String,
    session_id: String,
    browser: Option<String>,
    os: Option<String>,
    device: Option<String>,
    country: Option<String>,
    city: Option<String>,
    chunk_count: i64,
    event_count: i64,
    started_at: String,
    ended_at: String,
    created_at: String,
    /// In ms.
    duration: i64,
}

impl Replay {
    fn read(row: &Row<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            id: id(row, 1)?,
            website_id: row.text(2)?,
            session_id: id(row, 3)?,
            browser: row.optional_text(4)?,
            os: row.optional_text(5)?,
            device: row.optional_text(6)?,
            country: row.optional_text(7)?,
            city: row.optional_text(8)?,
            chunk_count: row.integer(9)?,
            event_count: row.integer(10)?,
            started_at: time(row, 11)?,
            ended_at: time(row, 12)?,
            created_at: time(row, 13)?,
            duration: row.integer(12)? - row.integer(11)?,
        })
    }
}

type List = Result<Json<Paged<Replay>>, ApiError>;

async fn of_website(asked: Asked, recorder: web::Data<Recorder>, store: web::Data<Store>) -> List {
    list(asked, None, &recorder, &store).await
}

async fn of_session(asked: Asked, recorder: web::Data<Recorder>, store: web::Data<Store>) -> List {
    // No session has the number 0, as none has an id that is not one of ours.
    let session_id = asked.fact_id()?.unwrap_or(0);
    list(asked, Some(session_id), &recorder, &store).await
}

async fn list(
    asked: Asked,
    session_id: Option<u64>,
    recorder: &Recorder,
    store: &web::Data<Store>,
) -> List {
    let mut scope = Scope::parse(&asked.query)?.with_bounces();
    let page = Page::from_query(&asked.query)?;
    let min_ms = match asked.query.number("minDuration")? {
        Some(number) if number < 0.0 => return Err(invalid("minDuration", "it is negative")),
        number => number.unwrap_or(0.0) as i64,
    };
    asked.auth.caller(&asked.bearer)?;
    let website = scope.website(&asked).await?;
    recorder.sweep(store).await?;
    let question = scope.ask(sql::REPLAYS, website).bind("website_id", website.id.to_string());
    let question = question.bind("session_id", session_id).bind("min_ms", min_ms).once();
    Ok(Json(page.ask(&asked.readers, question, |row| counted(row, Replay::read)).await?))
}

/// A recording whole: who and when, and all events as they came.
async fn replay(asked: Asked) -> Result<HttpResponse, ApiError> {
    let visit_id = asked.fact_id()?;
    asked.auth.caller(&asked.bearer)?;
    let website = asked.website().await?;
    let visit_id = visit_id.ok_or(ApiError::NotFound)?;
    let question = Question::new(sql::REPLAY)
        .bind("website_key", website.key)
        .bind("visit_id", visit_id)
        .bind("since", website.reset_at.unwrap_or(i64::MIN))
        .once();
    let chunks = asked.readers.ask(question, |row| {
        Ok(Chunk {
            number: row.integer(0)?,
            session_id: row.id(1)?,
            started_at: row.integer(2)?,
            ended_at: row.integer(3)?,
            events: row.integer(4)?,
        })
    });
    let chunks = chunks.await?;
    if chunks.is_empty() {
        return Err(ApiError::NotFound);
    }
    let tape = Tape::new(&asked.readers, (website, visit_id), &chunks);
    let answer = LongAnswer::begin(&asked.readers, tape).await?;
    Ok(HttpResponse::Ok().content_type(header::ContentType::json()).streaming(answer.stream()))
}

/// A piece without its events.
struct Chunk {
    number: i64,
    session_id: u64,
    started_at: i64,
    ended_at: i64,
    events: i64,
}

/// A recording on its way out.
struct Tape {
    asker: Asker,
    website: Website,
    visit_id: u64,
    /// What comes before the events.
    head: Option<String>,
    numbers: Vec<i64>,
    next: usize,
    is_open: bool,
}

impl Tape {
    fn new(readers: &Readers, (website, visit_id): (Website, u64), chunks: &[Chunk]) -> Self {
        let session = chunks.first().map(|chunk| uuid_of(chunk.session_id).to_string());
        let head = json!({
            "sessionId": session,
            "startedAt": chunks.iter().map(|chunk| chunk.started_at).min().map(clock::iso),
            "endedAt": chunks.iter().map(|chunk| chunk.ended_at).max().map(clock::iso),
            "chunkCount": chunks.len(),
            "eventCount": chunks.iter().map(|chunk| chunk.events).sum::<i64>(),
        });
        // The object is left open for its events.
        let mut head = head.to_string();
        head.pop();
        head.push_str(",\"events\":[");
        let numbers = chunks.iter().map(|chunk| chunk.number).collect();
        let asker = Asker::new(readers);
        Self { asker, website, visit_id, head: Some(head), numbers, next: 0, is_open: true }
    }
}

impl Pieces for Tape {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        if let Some(head) = self.head.take() {
            self.asker.begun();
            return Ok(Some(head.into_bytes()));
        }
        let Some(number) = self.numbers.get(self.next).copied() else {
            let end = self.is_open.then(|| b"]}".to_vec());
            self.is_open = false;
            return Ok(end);
        };
        let question = Question::new(sql::REPLAY_CHUNK)
            .bind("website_key", self.website.key)
            .bind("visit_id", self.visit_id)
            .bind("chunk_number", number)
            .once();
        let rows = self.asker.rows(question).await?;
        let kept = rows.read(|row| row.bytes(0))?.pop();
        // It has been deleted since the answer began: better no answer than half of one.
        let kept = kept.ok_or(ApiError::NotFound)?;
        let is_first = self.next == 0;
        self.next += 1;
        let events = web::block(move || record::unpack(&kept, is_first)).await??;
        Ok(Some(events))
    }
}

/// A request about one recording's being saved.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Save {
    is_saved: bool,
    name: Option<String>,
}

/// Who is asking, and what they may look into.
type Parts = (Bearer, web::Data<Auth>, web::Data<Store>);

async fn saved(
    website: web::Path<String>,
    page: Page,
    (bearer, auth, store): Parts,
) -> Result<HttpResponse, ApiError> {
    auth.caller(&bearer)?;
    let website = auth.website(&bearer, &website).await?;
    let window = page.window();
    let found = web::block(move || store.saved_replays(website.key, &window));
    let (rows, count) = found.await??;
    let show = |saved: &SavedReplay| {
        let visit_id = uuid_of(saved.visit_id).to_string();
        json!({
            "id": visit_id,
            "visitId": visit_id,
            "websiteId": website.id.to_string(),
            "name": saved.name,
            "createdAt": clock::iso(saved.created_at),
            "updatedAt": clock::iso(saved.updated_at),
        })
    };
    let rows: Vec<Value> = rows.iter().map(show).collect();
    Ok(HttpResponse::Ok().json(page.answer(&rows, count)))
}

async fn is_saved(
    request: HttpRequest,
    (bearer, auth, store): Parts,
) -> Result<HttpResponse, ApiError> {
    let visit_id = visit_id(&request)?;
    auth.caller(&bearer)?;
    let website = auth.website(&bearer, request.match_info().query("website")).await?;
    let is_saved = match visit_id {
        Some(id) => web::block(move || store.is_replay_saved(website.key, id)).await??,
        None => false,
    };
    Ok(HttpResponse::Ok().json(json!({ "isSaved": is_saved })))
}

async fn save(
    request: HttpRequest,
    body: Json<Save>,
    (bearer, auth, store): Parts,
) -> Result<HttpResponse, ApiError> {
    let visit_id = visit_id(&request)?;
    let Save { is_saved, name } = body.into_inner();
    let name = name.unwrap_or_default();
    check_length("name", &name, limits::SAVED_NAME_CHARS_MAX)?;
    let path = request.match_info().query("website");
    let website = auth.website_to_change(&bearer, path).await?;
    let visit_id = visit_id.ok_or(ApiError::NotFound)?;
    let done = web::block(move || {
        if is_saved {
            store.save_replay(website.key, visit_id, &name)
        } else {
            store.unsave_replay(website.key, visit_id).map(|()| true)
        }
    });
    if !done.await?? {
        return Err(ApiError::bad_request("The website has too many of them"));
    }
    Ok(HttpResponse::Ok().json(json!({ "ok": true })))
}

/// The visit in the path; `None` when it cannot be one of ours.
fn visit_id(request: &HttpRequest) -> Result<Option<u64>, ApiError> {
    let id = Uuid::try_parse(request.match_info().query("id"));
    let id = id.map_err(|_| ApiError::bad_request("The id is not a UUID"))?;
    Ok(id_of(&id))
}
