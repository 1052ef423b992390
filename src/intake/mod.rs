//! The HTTP edge of the write side: `/api/send`, `/api/batch` and the configured twin of `/api/send`. Nothing here
//! but the steps in order: gate, body, parse, accept, answer. `accept` makes one event of one message.
//!
//! Each worker owns an [`Intake`]: its ring's producer and its buffers, reused for every request, so that a request
//! waits for no other worker and our own code allocates nothing between the body and the ring.

pub mod accept;
pub mod client_ip;
pub mod data;
mod fill;
pub mod gate;
pub mod payload;

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::Stream;

use crate::error::ApiError;
use crate::limits;
use crate::ring::Producer;
use accept::{Outcome, Worker};
use gate::Refusal;

pub use accept::Shared;

/// One worker's side of the intake.
pub struct Intake {
    shared: Arc<Shared>,
    worker: RefCell<Worker>,
}

impl Intake {
    /// `producer`: this worker's ring; without one every event is refused.
    #[must_use]
    pub fn new(shared: Arc<Shared>, producer: Option<Producer>) -> Self {
        let worker = RefCell::new(Worker::new(&shared, producer));
        Self { shared, worker }
    }

    /// Counts a refusal and turns it into its answer.
    fn refused(&self, refusal: Refusal) -> ApiError {
        let telemetry = &self.shared.telemetry;
        let (counter, code) = match refusal {
            Refusal::Rate => (&telemetry.refused_rate, "rate-limited"),
            Refusal::RingFull => (&telemetry.refused_ring, "busy"),
            Refusal::Bodies => (&telemetry.refused_bodies, "busy"),
            Refusal::Disk => (&telemetry.refused_disk, "disk"),
        };
        counter.add(1);
        ApiError::Unavailable { code, retry_after_s: 1 }
    }

    /// Waits until what this request has stored may be acknowledged. The worker serves others meanwhile.
    async fn settled(&self) -> Result<(), ApiError> {
        let pending = self.worker.borrow().pending();
        match pending {
            None => Ok(()),
            Some(pending) => pending.synced().await.map_err(|_| self.refused(Refusal::Disk)),
        }
    }
}

/// The intake's routes; `collect_path` is a further name of `/api/send`.
pub fn routes(cfg: &mut web::ServiceConfig, collect_path: Option<&str>) {
    cfg.service(web::resource("/api/send").route(web::post().to(send)))
        .service(web::resource("/api/batch").route(web::post().to(batch)));
    if let Some(path) = collect_path.filter(|path| *path != "/api/send") {
        cfg.service(web::resource(path).route(web::post().to(send)));
    }
}

/// One message.
async fn send(
    request: HttpRequest,
    payload: web::Payload,
    intake: web::Data<Intake>,
) -> Result<HttpResponse, ApiError> {
    let body = admitted_body(&request, payload, &intake).await?;
    let outcome = intake.worker.borrow_mut().send(&intake.shared, &request, &body);
    if matches!(outcome, Outcome::Stored(_)) {
        intake.settled().await?;
    }
    answer(&intake, outcome)
}

/// An array of messages; one that is wrong does not stop the others.
async fn batch(
    request: HttpRequest,
    payload: web::Payload,
    intake: web::Data<Intake>,
) -> Result<HttpResponse, ApiError> {
    let body = admitted_body(&request, payload, &intake).await?;
    let outcomes = intake.worker.borrow_mut().batch(&intake.shared, &request, &body)?;
    if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Stored(_))) {
        intake.settled().await?;
    }
    let mut details = Vec::new();
    let (mut cache, mut refused) = (None, 0);
    let size = outcomes.len();
    for (index, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Outcome::Stored(receipt) => {
                cache.get_or_insert_with(|| receipt.cache().to_owned());
            }
            Outcome::Bot => {}
            Outcome::Refused(refusal) => {
                refused += 1;
                details.push(error_detail(index, &intake.refused(refusal)));
            }
            Outcome::Error(error) => details.push(error_detail(index, &error)),
        }
    }
    if refused == size && size > 0 {
        return Err(ApiError::Unavailable { code: "busy", retry_after_s: 1 });
    }
    Ok(HttpResponse::Ok().json(serde_json::json!({
        "size": size,
        "processed": size - details.len(),
        "errors": details.len(),
        "details": details,
        "cache": cache,
    })))
}

fn error_detail(index: usize, error: &ApiError) -> serde_json::Value {
    serde_json::json!({ "index": index, "response": error.body() })
}

fn answer(intake: &Intake, outcome: Outcome) -> Result<HttpResponse, ApiError> {
    match outcome {
        Outcome::Stored(receipt) => Ok(HttpResponse::Ok()
            .content_type("application/json")
            .body(web::Bytes::copy_from_slice(receipt.json().as_bytes()))),
        Outcome::Bot => Ok(HttpResponse::Ok()
            .content_type("application/json")
            .body(web::Bytes::from_static(b"{\"beep\":\"boop\"}"))),
        Outcome::Refused(refusal) => Err(intake.refused(refusal)),
        Outcome::Error(error) => Err(error),
    }
}

/// Passes the gate, then reads the body. A body that came in one piece, as nearly all do, is not copied.
async fn admitted_body(
    request: &HttpRequest,
    mut payload: web::Payload,
    intake: &Intake,
) -> Result<web::Bytes, ApiError> {
    if intake.shared.telemetry.disk_low.get() == 1 {
        return Err(intake.refused(Refusal::Disk));
    }
    intake.shared.gate.admit().map_err(|refusal| intake.refused(refusal))?;
    if !intake.worker.borrow().has_room() {
        return Err(intake.refused(Refusal::RingFull));
    }
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|bytes| bytes > limits::BODY_BYTES_MAX) {
        return Err(ApiError::TooLarge(limits::BODY_BYTES_MAX));
    }
    let Some(first) = next_chunk(&mut payload).await? else { return Ok(web::Bytes::new()) };
    if announced == Some(first.len()) {
        return Ok(first);
    }
    let room = announced.unwrap_or(limits::BODY_BYTES_MAX);
    let _permit = intake.shared.gate.body(room).map_err(|refusal| intake.refused(refusal))?;
    let mut body = web::BytesMut::with_capacity(announced.unwrap_or(first.len() * 2));
    body.extend_from_slice(&first);
    while let Some(chunk) = next_chunk(&mut payload).await? {
        if body.len() + chunk.len() > limits::BODY_BYTES_MAX {
            return Err(ApiError::TooLarge(limits::BODY_BYTES_MAX));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

async fn next_chunk(payload: &mut web::Payload) -> Result<Option<web::Bytes>, ApiError> {
    let chunk = std::future::poll_fn(|context| Pin::new(&mut *payload).poll_next(context)).await;
    chunk.transpose().map_err(|_| ApiError::bad_request("The body was not received completely"))
}
