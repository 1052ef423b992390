//! From one message to one record in the ring, in the order in which Umami checks: website, robot, blocked address,
//! then the event itself. Everything is borrowed from the body or from the worker's buffers.
//!
//! Invariants: no address and no user agent goes further than this file; nothing here waits, locks or allocates per
//! event in steady state; an event is answered as stored only after it is in the ring.

use std::borrow::Cow;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use anyhow::{Context, Result};

use super::client_ip::{self, Networks, client_ip};
use super::data;
use super::fill::{Urls, fill_client, fill_kind};
use super::gate::{Gate, Refusal, Ticket};
use super::payload::{Message, Parser, Payload, Target, Type, Value, cut};
use super::receipt::Receipt;
use crate::clock;
use crate::config::Config;
use crate::enrich::geo::{self, GeoDb, Place};
use crate::enrich::page_url::{PathRules, Scratch};
use crate::enrich::user_agent::AgentCache;
use crate::error::ApiError;
use crate::event::{Event, EventKind};
use crate::identity::{Identity, Rotation, SaltCache, Visitor};
use crate::limits;
use crate::ring::{Pending, Producer};
use crate::telemetry::Telemetry;
use crate::websites::{Directory, LinkKind, Website};

/// What all workers share.
pub struct Shared {
    pub gate: Gate,
    pub telemetry: Arc<Telemetry>,
    pub(super) directory: Arc<Directory>,
    identity: Identity,
    trusted: Networks,
    blocked: Networks,
    client_ip_header: Option<HeaderName>,
    geo: Option<GeoDb>,
    geo_headers: [[HeaderName; 3]; geo::PROVIDERS.len()],
    count_bots: bool,
    rules: PathRules,
}

impl Shared {
    /// # Errors
    /// When a list of networks or the geo database cannot be read; names the setting.
    pub fn new(
        config: &Config,
        secret: &str,
        rate: u64,
        directory: Arc<Directory>,
        telemetry: Arc<Telemetry>,
    ) -> Result<Self> {
        let blocked = config.ignore_ip.as_deref().unwrap_or_default();
        let rules = PathRules { remove_trailing_slash: config.remove_trailing_slash, bare: false };
        let client_ip_header =
            config.client_ip_header.as_deref().map(str::parse::<HeaderName>).transpose();
        Ok(Self {
            gate: Gate::new(rate),
            telemetry,
            directory,
            identity: Identity::new(secret, Rotation::from_setting(&config.salt_rotation)),
            trusted: Networks::parse(
                &config.trusted_proxies,
                "SUMIMI_TRUSTED_PROXIES (--trusted-proxies)",
            )?,
            blocked: Networks::parse(blocked, "SUMIMI_IGNORE_IP (--ignore-ip)")?,
            client_ip_header: client_ip_header.context(
                "SUMIMI_CLIENT_IP_HEADER (--client-ip-header): not the name of a header",
            )?,
            geo: config.geo_db.as_deref().map(GeoDb::open).transpose()?,
            geo_headers: geo::PROVIDERS.map(|names| names.map(HeaderName::from_static)),
            count_bots: config.disable_bot_check,
            rules,
        })
    }
}

/// What became of a message.
pub enum Outcome {
    Stored(Receipt),
    /// Answered and counted apart, not stored.
    Bot,
    Refused(Refusal),
    Error(ApiError),
}

/// One worker's buffers and its end of the ring.
pub struct Worker {
    body: Vec<u8>,
    parser: Parser,
    lines: Lines,
}

/// What turns a message into a record; apart from the parser, which is busy with the body meanwhile.
struct Lines {
    producer: Option<Producer>,
    agents: AgentCache,
    salt: SaltCache,
    urls: Scratch,
    data: data::Scratch,
    address: String,
}

static CACHE_HEADER: HeaderName = HeaderName::from_static("x-umami-cache");

/// What is the same for all messages of a request.
struct Sender<'r> {
    headers: &'r HeaderMap,
    /// The peer is a trusted proxy or the machine itself: what it says of the visitor is believed.
    trusted: bool,
    peer: IpAddr,
    agent: Cow<'r, str>,
    token: Option<&'r str>,
}

impl<'r> Sender<'r> {
    fn new(request: &'r HttpRequest, shared: &Shared) -> Self {
        let headers = request.headers();
        let agent = headers.get(&USER_AGENT).map_or(&b""[..], HeaderValue::as_bytes);
        let peer = request.peer_addr().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.ip());
        Self {
            headers,
            trusted: shared.trusted.contains(peer),
            peer,
            agent: latin1(agent),
            token: headers.get(&CACHE_HEADER).and_then(|value| value.to_str().ok()),
        }
    }
}

/// A header as HTTP defines it. Nearly always ASCII, and then borrowed.
fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

impl Worker {
    #[must_use]
    pub fn new(producer: Option<Producer>) -> Self {
        Self {
            body: Vec::with_capacity(8 << 10),
            parser: Parser::default(),
            lines: Lines {
                producer,
                agents: AgentCache::default(),
                salt: SaltCache::default(),
                urls: Scratch::default(),
                data: data::Scratch::default(),
                address: String::with_capacity(64),
            },
        }
    }

    /// Whether the ring has room for an event of any size.
    #[must_use]
    pub fn has_room(&self) -> bool {
        let free = self.lines.producer.as_ref().map_or(0, Producer::free_bytes);
        free > 2 * limits::RECORD_BYTES_MAX
    }

    /// What is to be waited for before what was stored so far is acknowledged, if anything.
    pub fn pending(&self) -> Option<Pending> {
        self.lines.producer.as_ref()?.pending()
    }

    /// One message.
    pub fn send(
        &mut self,
        shared: &Shared,
        request: &HttpRequest,
        mut ticket: Ticket,
        body: &[u8],
    ) -> Outcome {
        self.take(body);
        let sender = Sender::new(request, shared);
        let lines = &mut self.lines;
        self.parser.parse(&mut self.body, |value| match value {
            Ok(value) => lines.accept(shared, &sender, &mut ticket, value),
            Err(error) => Outcome::Error(ApiError::bad_request(error.0)),
        })
    }

    /// One message that somebody's request for a short address amounts to.
    pub fn visit(
        &mut self,
        shared: &Shared,
        request: &HttpRequest,
        mut ticket: Ticket,
        message: &Message<'_, '_>,
    ) -> Outcome {
        let sender = Sender::new(request, shared);
        let receipt = self.lines.store(shared, &sender, &mut ticket, message);
        receipt.map_or_else(|outcome| outcome, Outcome::Stored)
    }

    /// An array of messages, an outcome for each.
    ///
    /// # Errors
    /// 400 when the body is no array of objects; then nothing is stored.
    pub fn batch(
        &mut self,
        shared: &Shared,
        request: &HttpRequest,
        mut ticket: Ticket,
        body: &[u8],
    ) -> Result<Vec<Outcome>, ApiError> {
        self.take(body);
        let sender = Sender::new(request, shared);
        let lines = &mut self.lines;
        self.parser.parse(&mut self.body, |value| {
            let value = value.map_err(|error| ApiError::bad_request(error.0))?;
            if !value.is_array() || !value.elements().all(|element| element.is_object()) {
                return Err(ApiError::bad_request("The body must be an array of {type, payload}"));
            }
            let accept = |element| lines.accept(shared, &sender, &mut ticket, element);
            Ok(value.elements().map(accept).collect())
        })
    }

    fn take(&mut self, body: &[u8]) {
        self.body.clear();
        self.body.extend_from_slice(body);
        // One large body does not make a large buffer for ever.
        self.body.shrink_to(64 << 10);
    }
}

impl Lines {
    fn accept(
        &mut self,
        shared: &Shared,
        sender: &Sender<'_>,
        ticket: &mut Ticket,
        value: Value<'_, '_>,
    ) -> Outcome {
        let receipt = match Message::read(value) {
            Ok(message) => self.store(shared, sender, ticket, &message),
            Err(error) => Err(Outcome::Error(ApiError::bad_request(error.0))),
        };
        receipt.map_or_else(|outcome| outcome, Outcome::Stored)
    }

    fn store(
        &mut self,
        shared: &Shared,
        sender: &Sender<'_>,
        ticket: &mut Ticket,
        message: &Message<'_, '_>,
    ) -> Result<Receipt, Outcome> {
        let bad = |text: &str| Outcome::Error(ApiError::bad_request(text));
        let payload = &message.payload;
        self.urls.clear();
        let urls = Urls::read(message, shared.rules, &mut self.urls)
            .map_err(|_| bad("payload.url, payload.referrer: Invalid URL."))?;
        let website = website(payload.target, &shared.directory).map_err(bad)?;
        shared.gate.settle(*ticket, website.key).map_err(Outcome::Refused)?;
        // The first message of a batch speaks for the others, which pay for themselves.
        *ticket = Ticket::Part;

        let agent = payload.user_agent.filter(|agent| !agent.is_empty()).unwrap_or(&sender.agent);
        let client = self.agents.get(agent);
        if client.bot && !shared.count_bots {
            shared.telemetry.bots.add(1);
            return Err(Outcome::Bot);
        }
        let address = self.address(shared, sender, payload);
        if address.is_some_and(|address| shared.blocked.contains(address)) {
            shared.telemetry.blocked.add(1);
            return Err(Outcome::Error(ApiError::Forbidden));
        }
        let place = place(shared, sender, payload, address, &mut self.urls);

        let now_ms = clock::now_ms();
        let explicit_ms = explicit_time(payload.timestamp_ms, now_ms);
        let mut id_text = [0; 36];
        let visitor = Visitor {
            website: website.id.hyphenated().encode_lower(&mut id_text),
            address: &self.address,
            agent,
            distinct_id: payload.id.map(|id| cut(id, limits::DISTINCT_ID_CHARS_MAX)),
        };
        let token = sender.token.or(message.cache);
        let token = token.and_then(|token| shared.identity.cache_key.verify(token));
        let resolved = shared.identity.resolve(
            &mut self.salt,
            &visitor,
            website.key,
            token,
            explicit_ms,
            now_ms,
        );
        let mut event = Event {
            website_key: website.key,
            session_id: resolved.session_id,
            visit_id: resolved.claims.visit_id,
            created_at: explicit_ms.unwrap_or(now_ms),
            ..Event::default()
        };
        fill_client(&mut event, payload, &client, &place, &self.urls);
        let urls = urls.texts(&self.urls);
        fill_kind(&mut event, message, &urls);
        let data = payload.data.filter(|_| message.kind != Type::Performance);
        let has_money = event.kind == EventKind::Custom;
        (event.revenue, event.data) = self.data.read(data, has_money);
        push(self.producer.as_mut(), &event).map_err(Outcome::Refused)?;
        shared.telemetry.admitted.add(1);
        Ok(Receipt::new(&shared.identity, &resolved.claims))
    }

    /// The visitor's address, whose text is left in `self.address` for the hash. A sender that is trusted may name it
    /// in the payload, and then the text is hashed as it came.
    fn address(
        &mut self,
        shared: &Shared,
        sender: &Sender<'_>,
        payload: &Payload<'_, '_>,
    ) -> Option<IpAddr> {
        self.address.clear();
        if let Some(named) = payload.ip.filter(|ip| sender.trusted && !ip.is_empty()) {
            self.address.push_str(named);
            return client_ip::address(named);
        }
        let configured = shared.client_ip_header.as_ref();
        let address = client_ip(sender.peer, sender.headers, &shared.trusted, configured);
        // Writing to a string cannot fail.
        let _ = write!(self.address, "{address}");
        Some(address)
    }
}

/// The earliest time that is stored: the year 1; what is before counts as it.
const TIME_MS_MIN: i64 = -62_135_596_800_000;

/// The time that the sender gave, as far as it is believed: what lies in the future is now.
fn explicit_time(timestamp_ms: Option<i64>, now_ms: i64) -> Option<i64> {
    timestamp_ms.filter(|at| *at < now_ms).map(|at| at.max(TIME_MS_MIN))
}

fn website(target: Option<Target>, directory: &Directory) -> Result<Website, &'static str> {
    match target {
        Some(Target::Website(id)) => directory.get(id).ok_or("Website not found."),
        Some(Target::Link(id)) => {
            directory.link(LinkKind::Link, id).map(|link| link.subject).ok_or("Link not found.")
        }
        Some(Target::Pixel(id)) => {
            directory.link(LinkKind::Pixel, id).map(|link| link.subject).ok_or("Pixel not found.")
        }
        None => Err("Exactly one of website, link, or pixel must be provided"),
    }
}

fn place<'p>(
    shared: &'p Shared,
    sender: &Sender<'p>,
    payload: &Payload<'_, '_>,
    address: Option<IpAddr>,
    scratch: &mut Scratch,
) -> Place<'p> {
    let Some(address) = address.filter(|address| !geo::is_local(*address)) else {
        return Place::default();
    };
    if sender.trusted && payload.ip.is_none() {
        let header = |provider: usize, part: usize| {
            sender.headers.get(&shared.geo_headers[provider][part]).map(HeaderValue::as_bytes)
        };
        if let Some(place) = geo::from_headers(header, scratch) {
            return place;
        }
    }
    shared.geo.as_ref().map(|geo| geo.lookup(address, scratch)).unwrap_or_default()
}

fn push(producer: Option<&mut Producer>, event: &Event<'_>) -> Result<(), Refusal> {
    let producer = producer.ok_or(Refusal::RingFull)?;
    let length = event.encoded_len();
    producer.push(length, |room| event.encode(room)).map(|_| ()).map_err(|_| Refusal::RingFull)
}
