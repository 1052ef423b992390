//! Short addresses: `/q/{slug}` leads to a link's address, `/p/{slug}` is a pixel's picture. Who asks is counted as an
//! event of the link or pixel, through the same gate and ring as everything else.
//!
//! Whoever follows a link arrives, also when the visit cannot be counted just then (the refusal is, like any other); a
//! pixel is there for the figures only and answers 503 as `/api/send` does. Robots, `HEAD` and what a browser fetches
//! in advance get the answer and are not counted. A link leads to its own address and nowhere else: nothing that the
//! visitor sent becomes part of it. No answer may be kept, or later visits would not come here.

use actix_web::http::Method;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderName, LOCATION, REFERER};
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use percent_encoding::percent_decode_str;
use url::Url;

use super::Intake;
use super::accept::Outcome;
use super::gate::Refusal;
use super::payload::{Message, Payload, Target, Type};
use crate::error::ApiError;
use crate::websites::{Link, LinkKind};

/// A transparent point, the smallest picture that every mail reader shows.
const GIF: [u8; 43] =
    *b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\
    \0\0\x02\x02D\x01\0;";

impl Intake {
    /// Answers who asks for a short address.
    pub(super) async fn visit(&self, kind: LinkKind, request: &HttpRequest) -> HttpResponse {
        let slug = request.path().rsplit('/').next().unwrap_or_default();
        let slug = percent_decode_str(slug).decode_utf8_lossy();
        let Some(link) = self.shared.directory.link_of_slug(kind, &slug) else {
            return ApiError::NotFound.error_response();
        };
        if is_visit(request)
            && let Err(refusal) = self.count_visit(&link, request).await
        {
            self.count(&Outcome::Refused(refusal));
            if kind == LinkKind::Pixel {
                return self.answers.borrow().refused(refusal);
            }
        }
        match kind {
            LinkKind::Link => redirect(&link.url),
            LinkKind::Pixel => HttpResponse::Ok()
                .insert_header((CONTENT_TYPE, "image/gif"))
                .insert_header((CACHE_CONTROL, "no-store"))
                .body(GIF.as_slice()),
        }
    }

    /// Stores a visit, unless it is one that is not counted (a robot's, or from a blocked address).
    async fn count_visit(&self, link: &Link, request: &HttpRequest) -> Result<(), Refusal> {
        let ticket = self.admit(true)?;
        let header = |name: &HeaderName| request.headers().get(name)?.to_str().ok();
        let address = request.uri().path_and_query().map_or("", |address| address.as_str());
        let payload = Payload {
            target: Some(match link.kind {
                LinkKind::Link => Target::Link(link.subject.id),
                LinkKind::Pixel => Target::Pixel(link.subject.id),
            }),
            url: Some(address.strip_prefix(&*self.base_path).unwrap_or(address)),
            hostname: header(&HOST).map(without_port),
            referrer: header(&REFERER),
            ..Payload::default()
        };
        let mut message = Message { kind: Type::Event, cache: None, payload };
        let store = |message: &Message<'_, '_>| {
            self.worker.borrow_mut().visit(&self.shared, request, ticket, message)
        };
        let mut outcome = store(&message);
        if matches!(outcome, Outcome::Error(ApiError::BadRequest(_))) {
            // A host or referrer that is no address does not unmake the visit.
            (message.payload.hostname, message.payload.referrer) = (None, None);
            outcome = store(&message);
        }
        if let Outcome::Refused(refusal) = outcome {
            return Err(refusal);
        }
        self.settled(std::slice::from_ref(&outcome)).await
    }
}

/// Whether somebody is there who sees the answer: nobody is when a program asks for the head alone, or when a browser
/// prepares for a click that may never come (it asks again after one, since no answer may be kept).
fn is_visit(request: &HttpRequest) -> bool {
    let is_in_advance = ["sec-purpose", "purpose"].iter().any(|name| {
        let purpose = request.headers().get(*name).and_then(|value| value.to_str().ok());
        purpose.is_some_and(|purpose| purpose.contains("prefetch"))
    });
    request.method() != Method::HEAD && !is_in_advance
}

/// To where a link leads, written as it goes into a header. It was checked when it was given.
fn redirect(target: &str) -> HttpResponse {
    match Url::parse(target) {
        Ok(target) => HttpResponse::TemporaryRedirect()
            .insert_header((LOCATION, target.as_str()))
            .insert_header((CACHE_CONTROL, "no-store"))
            .finish(),
        Err(_) => ApiError::NotFound.error_response(),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}
