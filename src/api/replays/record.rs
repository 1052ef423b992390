//! `POST /api/record`: a piece of a visit's recording. Who sends one proves with the token of the visit's events that
//! there is such a visit, so that nobody can record what nobody has seen.
//!
//! What must stay true: only so many messages are in memory at a time, a sender that is slow loses its place, and what
//! is given back is, event by event, what was sent.

use std::io::Write;
use std::time::Duration;

use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::timeout;
use uuid::Uuid;

use super::Recorder;
use crate::error::ApiError;
use crate::identity::Claims;
use crate::store::Store;
use crate::store::replays::{Fate, NewChunk};
use crate::websites::Directory;
use crate::{clock, limits, priority};

/// The header with the token of the visit.
const TOKEN: &str = "x-umami-cache";

#[derive(Deserialize)]
struct Message<'b> {
    r#type: String,
    #[serde(borrow)]
    payload: Payload<'b>,
}

#[derive(Deserialize)]
struct Payload<'b> {
    website: String,
    #[serde(borrow)]
    events: Vec<&'b RawValue>,
}

/// All that is looked at of an event.
#[derive(Deserialize)]
struct Stamp {
    timestamp: Option<f64>,
}

/// Takes a message in.
pub async fn record(
    request: HttpRequest,
    payload: web::Payload,
    recorder: web::Data<Recorder>,
    directory: web::Data<Directory>,
    store: web::Data<Store>,
) -> Result<HttpResponse, ApiError> {
    let busy = |_| ApiError::Unavailable { code: "busy", retry_after_s: 1 };
    let _place = recorder.places.try_acquire().map_err(busy)?;
    let body = body(payload).await?;
    let message: Message<'_> = serde_json::from_slice(&body)
        .map_err(|error| ApiError::bad_request(format!("Invalid body: {error}")))?;
    let is_heatmap = match message.r#type.as_str() {
        "record" => false,
        "heatmap" => true,
        _ => return Err(ApiError::bad_request("Invalid type: expected record or heatmap")),
    };
    let Payload { website, events } = message.payload;
    let id = Uuid::try_parse(&website)
        .map_err(|_| ApiError::bad_request("Invalid website: expected a UUID"))?;
    if events.len() > limits::RECORDED_EVENTS_MAX {
        let most = limits::RECORDED_EVENTS_MAX;
        return Err(ApiError::bad_request(format!("Invalid events: at most {most}")));
    }
    if events.is_empty() {
        return Ok(HttpResponse::Ok().json(json!({ "ok": true })));
    }
    let claims = claims(&request, &recorder, &directory, id)?;
    if is_heatmap {
        return Ok(not_kept("heatmap_disabled"));
    }
    let (started_at, ended_at) = span(&events, clock::now_ms())?;
    let (texts, event_count) = (join(&events), events.len());
    drop(body);
    recorder.sweep(&store).await?;
    let kept = web::block(move || {
        priority::step_back();
        let chunk = NewChunk {
            website_key: claims.website_key,
            session_id: claims.session_id,
            visit_id: claims.visit_id,
            started_at,
            ended_at,
            event_count,
            json_bytes: texts.len(),
            events: zstd::encode_all(texts.as_slice(), limits::REPLAY_COMPRESSION)?,
        };
        store.keep_chunk(&chunk)
    });
    match kept.await?? {
        Fate::Kept => Ok(HttpResponse::Ok().json(json!({ "ok": true }))),
        Fate::Off => Ok(not_kept("replay_disabled")),
        Fate::Long => Ok(not_kept("replay_too_long")),
        Fate::Full => Ok(not_kept("replay_storage_full")),
        Fate::Disk => Err(ApiError::Unavailable { code: "disk", retry_after_s: 60 }),
    }
}

fn not_kept(reason: &str) -> HttpResponse {
    HttpResponse::Ok().json(json!({ "ok": false, "reason": reason }))
}

async fn body(payload: web::Payload) -> Result<Bytes, ApiError> {
    let longest = Duration::from_millis(limits::RECORDING_BODY_MS_MAX);
    let read = timeout(longest, payload.to_bytes_limited(limits::BODY_BYTES_MAX)).await;
    let read = read.map_err(|_| ApiError::bad_request("The body takes too long"))?;
    let read = read.map_err(|_| ApiError::TooLarge(limits::BODY_BYTES_MAX))?;
    read.map_err(|_| ApiError::bad_request("The body was not received completely"))
}

/// What the token says, if it is one of a visit to this website.
fn claims(
    request: &HttpRequest,
    recorder: &Recorder,
    directory: &Directory,
    website: Uuid,
) -> Result<Claims, ApiError> {
    let token = request.headers().get(TOKEN).and_then(|token| token.to_str().ok());
    let token = token.filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| ApiError::bad_request("Missing session token."))?;
    let claims = recorder.key.verify(token).zip(directory.get(website));
    let claims = claims.filter(|(claims, website)| claims.website_key == website.key);
    let (claims, _) = claims.ok_or_else(|| ApiError::bad_request("Invalid session token."))?;
    Ok(claims)
}

/// When the events began and ended: by the visitor's clock, unless it cannot be believed.
fn span(events: &[&RawValue], now: i64) -> Result<(i64, i64), ApiError> {
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for event in events {
        let stamp: Stamp = serde_json::from_str(event.get())
            .map_err(|error| ApiError::bad_request(format!("Invalid event: {error}")))?;
        if let Some(timestamp) = stamp.timestamp {
            first = first.min(timestamp as i64);
            last = last.max(timestamp as i64);
        }
    }
    let may_be = now - limits::REPLAY_CLOCK_MS_MAX..=now + limits::REPLAY_CLOCK_MS_MAX;
    if may_be.contains(&first) && may_be.contains(&last) {
        Ok((first, last))
    } else {
        Ok((now, now))
    }
}

/// The events with commas between them.
fn join(events: &[&RawValue]) -> Vec<u8> {
    let length = events.iter().map(|event| event.get().len() + 1).sum();
    let mut texts = Vec::with_capacity(length);
    for (index, event) in events.iter().enumerate() {
        if index > 0 {
            texts.push(b',');
        }
        texts.extend_from_slice(event.get().as_bytes());
    }
    texts
}

/// The events of a kept piece, with a comma before them unless they are the first.
///
/// # Errors
/// When what is kept is damaged.
pub fn unpack(kept: &[u8], is_first: bool) -> Result<Vec<u8>> {
    let mut texts = Vec::new();
    if !is_first {
        texts.push(b',');
    }
    let mut sink = Limited { texts: &mut texts, bytes_max: limits::BODY_BYTES_MAX };
    zstd::stream::copy_decode(kept, &mut sink)?;
    ensure!(texts.len() > usize::from(!is_first), "a piece of a recording is empty");
    Ok(texts)
}

/// Takes no more than any piece has.
struct Limited<'t> {
    texts: &'t mut Vec<u8>,
    bytes_max: usize,
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.texts.len() + bytes.len() > self.bytes_max + 1 {
            return Err(std::io::Error::other("a piece of a recording is too long"));
        }
        self.texts.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("JSON")
    }

    #[test]
    fn a_clock_is_believed_within_a_day() {
        let now = 1_772_445_600_000;
        let cases = [
            ("{\"timestamp\":1772445590000}", Some((1_772_445_590_000, 1_772_445_590_000))),
            ("{\"timestamp\":1}", Some((now, now))),
            ("{\"timestamp\":1e300}", Some((now, now))),
            ("{\"timestamp\":-1e300}", Some((now, now))),
            ("{}", Some((now, now))),
            ("{\"timestamp\":\"x\"}", None),
            ("7", None),
        ];
        for (text, expected) in cases {
            assert_eq!(span(&[&raw(text)], now).ok(), expected, "{text}");
        }
        let two = [raw("{\"timestamp\":1772445590000}"), raw("{\"timestamp\":1772445580000}")];
        let span = span(&[&two[0], &two[1]], now).expect("a span");
        assert_eq!(span, (1_772_445_580_000, 1_772_445_590_000));
    }

    #[test]
    fn what_was_joined_and_packed_comes_back_and_damage_is_seen() {
        let events = [raw("{\"a\":1}"), raw("{\"b\":\"ü\"}")];
        let texts = join(&[&events[0], &events[1]]);
        let kept = zstd::encode_all(texts.as_slice(), 3).expect("memory");
        assert_eq!(unpack(&kept, true).expect("whole"), "{\"a\":1},{\"b\":\"ü\"}".as_bytes());
        assert!(unpack(&kept, false).expect("whole").starts_with(b",{"));
        assert!(unpack(&kept[..kept.len() - 3], true).is_err());
        let bomb = zstd::encode_all(vec![0; 8 << 20].as_slice(), 3).expect("memory");
        assert!(unpack(&bomb, true).is_err());
    }
}
