//! The body of an admitted request. One that came in one piece, as nearly all do, is used where it lies; others are put
//! together in room that the gate counts.

use std::pin::Pin;

use actix_web::HttpRequest;
use actix_web::dev::Payload;
use actix_web::http::header::CONTENT_LENGTH;
use actix_web::web::{Bytes, BytesMut};
use futures_util::Stream;

use super::accept::Outcome;
use super::gate::Gate;
use crate::error::ApiError;
use crate::limits;

/// Reads a body to its end.
///
/// # Errors
/// The answer: 413 when it is longer than [`limits::BODY_BYTES_MAX`], 400 when it breaks off, a refusal when the open
/// bodies use all the room there is.
pub async fn read(
    request: &HttpRequest,
    mut payload: Payload,
    gate: &Gate,
) -> Result<Bytes, Outcome> {
    let too_large = || Outcome::Error(ApiError::TooLarge(limits::BODY_BYTES_MAX));
    let announced = announced_bytes(request);
    if announced.is_some_and(|bytes| bytes > limits::BODY_BYTES_MAX) {
        return Err(too_large());
    }
    let Some(first) = next_chunk(&mut payload).await? else { return Ok(Bytes::new()) };
    if announced == Some(first.len()) {
        return Ok(first);
    }
    let room = announced.unwrap_or(limits::BODY_BYTES_MAX);
    let _permit = gate.body(room).map_err(Outcome::Refused)?;
    let mut body = BytesMut::with_capacity(announced.unwrap_or(first.len() * 2));
    body.extend_from_slice(&first);
    while let Some(chunk) = next_chunk(&mut payload).await? {
        if body.len() + chunk.len() > limits::BODY_BYTES_MAX {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Whether the body is worth a look although the request may be refused for it.
pub fn is_short(request: &HttpRequest) -> bool {
    announced_bytes(request).is_some_and(|bytes| bytes <= limits::LOOK_BYTES_MAX)
}

fn announced_bytes(request: &HttpRequest) -> Option<usize> {
    request.headers().get(&CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn next_chunk(payload: &mut Payload) -> Result<Option<Bytes>, Outcome> {
    let chunk = std::future::poll_fn(|context| Pin::new(&mut *payload).poll_next(context)).await;
    chunk
        .transpose()
        .map_err(|_| Outcome::Error(ApiError::bad_request("The body was not received completely")))
}
