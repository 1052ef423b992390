//! What is said to senders. Answers to events are written one after another into a buffer that is used again once they
//! are sent; refusals are made once. An event and a refusal both cost no allocation here.

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{HttpResponse, ResponseError};
use serde_json::{Value, json};

use super::accept::Outcome;
use super::gate::Refusal;
use super::receipt::{ANSWER_BYTES, Receipt};
use crate::error::ApiError;
use crate::limits;

/// One worker's answers.
pub struct Answers {
    buffer: BytesMut,
    /// By [`Refusal`].
    refusals: [Bytes; Refusal::ALL.len()],
}

impl Default for Answers {
    fn default() -> Self {
        let body = |refusal| Bytes::from(unavailable(refusal).body().to_string());
        Self {
            buffer: BytesMut::with_capacity(limits::ANSWERS_BYTES),
            refusals: Refusal::ALL.map(body),
        }
    }
}

impl Answers {
    /// An event is stored.
    pub fn stored(&mut self, receipt: &Receipt) -> HttpResponse {
        self.buffer.reserve(ANSWER_BYTES);
        receipt.write_json(&mut self.buffer);
        json_answer(StatusCode::OK, self.buffer.split().freeze())
    }

    /// A request was refused: nothing of it is stored, and it may be sent again.
    pub fn refused(&self, refusal: Refusal) -> HttpResponse {
        let body = self.refusals[refusal as usize].clone();
        let mut answer = json_answer(StatusCode::SERVICE_UNAVAILABLE, body);
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        answer
    }

    /// The answer to one message.
    pub fn one(&mut self, outcome: &Outcome) -> HttpResponse {
        match outcome {
            Outcome::Stored(receipt) => self.stored(receipt),
            Outcome::Bot => json_answer(StatusCode::OK, Bytes::from_static(br#"{"beep":"boop"}"#)),
            Outcome::Refused(refusal) => self.refused(*refusal),
            Outcome::Error(error) => error.error_response(),
        }
    }

    /// The answer to an array of messages: what became of each. All refused is a refusal of the whole.
    pub fn many(&mut self, outcomes: &[Outcome]) -> HttpResponse {
        let (mut cache, mut refused) = (None, None);
        let mut details = Vec::new();
        for (index, outcome) in outcomes.iter().enumerate() {
            match outcome {
                Outcome::Stored(receipt) => cache = cache.or(Some(receipt.cache())),
                Outcome::Bot => {}
                Outcome::Refused(refusal) => {
                    refused = Some(*refusal);
                    details.push(detail(index, &unavailable(*refusal).body()));
                }
                Outcome::Error(error) => details.push(detail(index, &error.body())),
            }
        }
        let all = outcomes.iter().all(|outcome| matches!(outcome, Outcome::Refused(_)));
        if let Some(refusal) = refused.filter(|_| all) {
            return self.refused(refusal);
        }
        HttpResponse::Ok().json(json!({
            "size": outcomes.len(),
            "processed": outcomes.len() - details.len(),
            "errors": details.len(),
            "details": details,
            "cache": cache,
        }))
    }
}

fn detail(index: usize, response: &Value) -> Value {
    json!({ "index": index, "response": response })
}

fn unavailable(refusal: Refusal) -> ApiError {
    ApiError::Unavailable { code: refusal.code(), retry_after_s: 1 }
}

fn json_answer(status: StatusCode, body: Bytes) -> HttpResponse {
    let mut answer = HttpResponse::new(status).set_body(body).map_into_boxed_body();
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
