//! The body of `/api/send` and `/api/batch`, parsed in place: simd-json's tape over the body's own bytes, and borrowed
//! fields on top of it. No tree, no map, no copied string; the parser's buffers are reused.
//!
//! The rules are Umami's schema, with two exceptions: what is too long is cut (by the caller, on a character boundary)
//! and not refused, and a time in milliseconds is understood. Text never contains U+0000 or a lone surrogate: both
//! are U+FFFD here, since no store and no reader of JSON should have to bear them.

use std::borrow::Cow;

use simd_json::{Buffers, Node, StaticNode, Tape};
use uuid::Uuid;

use crate::event::Vitals;
use crate::limits;

/// What is wrong with a message, in words for the one who sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadError(pub Cow<'static, str>);

type Parsed<T> = Result<T, PayloadError>;

fn wrong<T>(text: &'static str) -> Parsed<T> {
    Err(PayloadError(Cow::Borrowed(text)))
}

fn wrong_field<T>(name: &str, want: &str) -> Parsed<T> {
    Err(PayloadError(Cow::Owned(format!("payload.{name}: expected {want}"))))
}

/// A JSON value on the tape.
#[derive(Clone, Copy)]
pub struct Value<'t, 'b> {
    nodes: &'t [Node<'b>],
}

impl<'t, 'b> Value<'t, 'b> {
    /// The node itself; containers say how many entries follow.
    pub fn node(&self) -> &'t Node<'b> {
        &self.nodes[0]
    }

    pub fn is_object(&self) -> bool {
        matches!(self.nodes[0], Node::Object { .. })
    }

    pub fn is_array(&self) -> bool {
        matches!(self.nodes[0], Node::Array { .. })
    }

    fn text(&self) -> Option<&'b str> {
        match self.nodes[0] {
            Node::String(text) => Some(text),
            _ => None,
        }
    }

    /// Number of nodes this value takes.
    fn span(&self) -> usize {
        match self.nodes[0] {
            Node::Object { count, .. } | Node::Array { count, .. } => count + 1,
            _ => 1,
        }
    }

    /// Keys and values of an object, in order; nothing for any other value.
    pub fn entries(&self) -> impl Iterator<Item = (&'b str, Value<'t, 'b>)> + use<'t, 'b> {
        let (nodes, len) = match self.nodes[0] {
            Node::Object { len, .. } => (self.nodes, len),
            _ => (self.nodes, 0),
        };
        let mut at = 1;
        (0..len).filter_map(move |_| {
            let Node::String(key) = nodes[at] else { return None };
            let value = Value { nodes: &nodes[at + 1..] };
            at += 1 + value.span();
            Some((key, value))
        })
    }

    /// Elements of an array; nothing for any other value.
    pub fn elements(&self) -> impl Iterator<Item = Value<'t, 'b>> + use<'t, 'b> {
        let (nodes, len) = match self.nodes[0] {
            Node::Array { len, .. } => (self.nodes, len),
            _ => (self.nodes, 0),
        };
        let mut at = 1;
        (0..len).map(move |_| {
            let value = Value { nodes: &nodes[at..] };
            at += value.span();
            value
        })
    }
}

/// Parses bodies; one per worker.
pub struct Parser {
    buffers: Buffers,
    /// The tape's allocation, empty between two bodies.
    tape: Tape<'static>,
}

impl Default for Parser {
    fn default() -> Self {
        let buffers = Buffers::with_max_depth(4_096, limits::JSON_DEPTH_MAX);
        Self { buffers, tape: Tape(Vec::with_capacity(256)) }
    }
}

impl Parser {
    /// Parses a body, which is changed in place, and hands its value to `then`.
    pub fn parse<'b, R>(
        &mut self,
        body: &'b mut [u8],
        then: impl FnOnce(Parsed<Value<'_, 'b>>) -> R,
    ) -> R {
        let body = body.strip_prefix_mut_bom();
        tame_escapes(body);
        let mut tape: Tape<'b> = std::mem::replace(&mut self.tape, Tape(Vec::new())).reset();
        let outcome = simd_json::fill_tape(body, &mut self.buffers, &mut tape);
        let parsed = match outcome {
            Ok(()) if !tape.0.is_empty() => Ok(Value { nodes: &tape.0 }),
            _ => wrong("The body is not valid JSON"),
        };
        let result = then(parsed);
        self.tape = tape.reset();
        result
    }
}

trait StripBom {
    fn strip_prefix_mut_bom(&mut self) -> &mut Self;
}

impl StripBom for [u8] {
    fn strip_prefix_mut_bom(&mut self) -> &mut Self {
        let skip = if self.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        &mut self[skip..]
    }
}

/// Makes `\u0000` and lone surrogates `\ufffd`: the same length, so it is done in place.
fn tame_escapes(body: &mut [u8]) {
    let unit = |body: &[u8], at: usize| -> Option<u16> {
        let digits = body.get(at..at + 6)?;
        if &digits[..2] != b"\\u" {
            return None;
        }
        u16::from_str_radix(std::str::from_utf8(&digits[2..]).ok()?, 16).ok()
    };
    let mut at = 0;
    while let Some(next) = body[at..].iter().position(|byte| *byte == b'\\') {
        at += next;
        let Some(first) = unit(body, at) else {
            at = (at + 2).min(body.len());
            continue;
        };
        let pair = (0xD800..0xDC00).contains(&first)
            && unit(body, at + 6).is_some_and(|second| (0xDC00..0xE000).contains(&second));
        if pair {
            at += 12;
            continue;
        }
        if first == 0 || (0xD800..0xE000).contains(&first) {
            body[at..at + 6].copy_from_slice(b"\\ufffd");
        }
        at += 6;
    }
}

/// What kind of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Event,
    Identify,
    Performance,
}

/// Where an event belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Website(Uuid),
    Link(Uuid),
    Pixel(Uuid),
}

/// One message, fields as sent.
#[derive(Clone, Copy)]
pub struct Message<'t, 'b> {
    pub kind: Type,
    /// A token that came in the body, for senders that set no header.
    pub cache: Option<&'b str>,
    pub payload: Payload<'t, 'b>,
}

/// The fields of a payload. `None`: not sent.
#[derive(Clone, Copy, Default)]
pub struct Payload<'t, 'b> {
    pub target: Option<Target>,
    pub hostname: Option<&'b str>,
    pub language: Option<&'b str>,
    pub screen: Option<&'b str>,
    pub name: Option<&'b str>,
    pub tag: Option<&'b str>,
    pub title: Option<&'b str>,
    pub ip: Option<&'b str>,
    pub user_agent: Option<&'b str>,
    pub id: Option<&'b str>,
    pub browser: Option<&'b str>,
    pub os: Option<&'b str>,
    pub device: Option<&'b str>,
    pub url: Option<&'b str>,
    pub referrer: Option<&'b str>,
    /// An object.
    pub data: Option<Value<'t, 'b>>,
    /// Milliseconds since 1970 UTC.
    pub timestamp_ms: Option<i64>,
    pub vitals: Vitals,
}

impl<'t, 'b> Message<'t, 'b> {
    /// Reads one message. Unknown fields are ignored; of a field sent twice the last one counts.
    ///
    /// # Errors
    /// What is wrong, for a 400.
    pub fn read(value: Value<'t, 'b>) -> Parsed<Self> {
        if !value.is_object() {
            return wrong("The body must be an object {type, payload}");
        }
        let (mut kind, mut payload, mut cache) = (None, None, None);
        for (key, value) in value.entries() {
            match key {
                "type" => kind = Some(value),
                "payload" => payload = Some(value),
                "cache" => cache = value.text(),
                _ => {}
            }
        }
        let kind = match kind.and_then(|value| value.text()) {
            Some("event") => Type::Event,
            Some("identify") => Type::Identify,
            Some("performance") => Type::Performance,
            _ => return wrong("type: expected one of event, identify, performance"),
        };
        match payload {
            Some(value) if value.is_object() => {
                Ok(Self { kind, cache, payload: Payload::read(value)? })
            }
            _ => wrong("payload: expected an object"),
        }
    }
}

impl<'t, 'b> Payload<'t, 'b> {
    fn read(value: Value<'t, 'b>) -> Parsed<Self> {
        let mut payload = Self::default();
        let (mut website, mut link, mut pixel) = (None, None, None);
        for (key, value) in value.entries() {
            match key {
                "website" => website = Some(value),
                "link" => link = Some(value),
                "pixel" => pixel = Some(value),
                "hostname" => payload.hostname = text(key, value)?,
                "language" => payload.language = text(key, value)?,
                "screen" => payload.screen = text(key, value)?,
                "name" => payload.name = text(key, value)?,
                "tag" => payload.tag = text(key, value)?,
                "title" => payload.title = text(key, value)?,
                "ip" => payload.ip = text(key, value)?,
                "userAgent" => payload.user_agent = text(key, value)?,
                "id" => payload.id = text(key, value)?,
                "browser" => payload.browser = text(key, value)?,
                "os" => payload.os = text(key, value)?,
                "device" => payload.device = text(key, value)?,
                "url" => payload.url = text(key, value)?,
                "referrer" => payload.referrer = text(key, value)?,
                "data" => payload.data = Some(object(value)?),
                "timestamp" => payload.timestamp_ms = timestamp(value)?,
                "lcp" => payload.vitals.lcp = Some(vital(key, value, 60_000.0, 10.0)?),
                "inp" => payload.vitals.inp = Some(vital(key, value, 60_000.0, 10.0)?),
                "cls" => payload.vitals.cls = Some(vital(key, value, 100.0, 10_000.0)?),
                "fcp" => payload.vitals.fcp = Some(vital(key, value, 60_000.0, 10.0)?),
                "ttfb" => payload.vitals.ttfb = Some(vital(key, value, 60_000.0, 10.0)?),
                _ => {}
            }
        }
        payload.target = Some(match (website, link, pixel) {
            (Some(id), None, None) => Target::Website(uuid("website", id)?),
            (None, Some(id), None) => Target::Link(uuid("link", id)?),
            (None, None, Some(id)) => Target::Pixel(uuid("pixel", id)?),
            _ => return wrong("Exactly one of website, link, or pixel must be provided"),
        });
        Ok(payload)
    }
}

fn text<'b>(name: &str, value: Value<'_, 'b>) -> Parsed<Option<&'b str>> {
    match value.text() {
        Some(text) => Ok(Some(text)),
        None => wrong_field(name, "a string"),
    }
}

fn object<'t, 'b>(value: Value<'t, 'b>) -> Parsed<Value<'t, 'b>> {
    match value.node() {
        Node::Object { .. } => Ok(value),
        _ => wrong_field("data", "an object"),
    }
}

/// A UUID in its usual form, of a known version and variant, or the nil one.
fn uuid(name: &str, value: Value<'_, '_>) -> Parsed<Uuid> {
    let parsed =
        value.text().filter(|text| text.len() == 36).and_then(|text| Uuid::try_parse(text).ok());
    match parsed {
        Some(id) if id.is_nil() || id.is_max() => Ok(id),
        Some(id) if (1..=8).contains(&id.get_version_num()) && (id.as_u128() >> 62) & 3 == 2 => {
            Ok(id)
        }
        _ => wrong_field(name, "a UUID"),
    }
}

/// Whole seconds since 1970, as a number or in text; `true` is 1; null, "" and [] are 0, and 0 is now. Values that
/// would be beyond the year 5000 are milliseconds.
fn timestamp(value: Value<'_, '_>) -> Parsed<Option<i64>> {
    const SECONDS_MAX: f64 = 1e11;
    let number = match value.node() {
        Node::Static(StaticNode::I64(number)) => *number as f64,
        Node::Static(StaticNode::U64(number)) => *number as f64,
        Node::Static(StaticNode::F64(number)) => *number,
        Node::Static(StaticNode::Bool(value)) => f64::from(u8::from(*value)),
        Node::Static(StaticNode::Null) | Node::Array { len: 0, .. } => 0.0,
        Node::String(text) if text.trim().is_empty() => 0.0,
        Node::String(text) => match text.trim().parse() {
            Ok(number) => number,
            Err(_) => return wrong_field("timestamp", "whole seconds since 1970"),
        },
        _ => return wrong_field("timestamp", "whole seconds since 1970"),
    };
    if !number.is_finite() || number.fract() != 0.0 {
        return wrong_field("timestamp", "whole seconds since 1970");
    }
    if number == 0.0 {
        return Ok(None);
    }
    let ms = if number.abs() >= SECONDS_MAX { number } else { number * 1_000.0 };
    Ok(Some(ms as i64))
}

/// A number between 0 and `max`, rounded half up to steps of 1 / `steps`.
fn vital(name: &str, value: Value<'_, '_>, max: f64, steps: f64) -> Parsed<f64> {
    let number = match value.node() {
        Node::Static(StaticNode::I64(number)) => *number as f64,
        Node::Static(StaticNode::U64(number)) => *number as f64,
        Node::Static(StaticNode::F64(number)) => *number,
        _ => return wrong_field(name, "a number"),
    };
    if !(0.0..=max).contains(&number) {
        return wrong_field(name, if max > 100.0 { "0 to 60000" } else { "0 to 100" });
    }
    Ok((number * steps).round() / steps)
}

/// At most `units_max` UTF-16 units of a text (as Umami counts), never half a character.
#[must_use]
pub fn cut(text: &str, units_max: usize) -> &str {
    // A text has at least as many bytes as UTF-16 units.
    if text.len() <= units_max {
        return text;
    }
    let mut units = 0;
    for (at, character) in text.char_indices() {
        units += character.len_utf16();
        if units > units_max {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
