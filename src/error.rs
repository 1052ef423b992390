//! How a failed request is answered: one type, Umami's shape, one place that turns it into HTTP.
//! A message tells the caller what to do and never contains what the server knows inside (SQL, paths, traces);
//! those are logged here, once.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};
use serde_json::json;

use crate::store::reader::StoreError;

/// A request that could not be answered as asked.
#[derive(Debug)]
pub enum ApiError {
    /// 400 `bad-request`, with what is wrong.
    BadRequest(String),
    /// 401 with the given code; also for lack of permission, as in Umami.
    Unauthorized(&'static str, &'static str),
    /// 403 `forbidden`.
    Forbidden,
    /// 404 `not-found`.
    NotFound,
    /// 404 with a message and a code of its own.
    Missing(&'static str, &'static str),
    /// 413: the body is larger than the limit in bytes.
    TooLarge(usize),
    /// 503 with `Retry-After` in seconds: busy, refused or not ready; nothing was done.
    Unavailable { code: &'static str, retry_after_s: u32 },
    /// 500: the cause is logged, not sent.
    Internal(anyhow::Error),
}

impl ApiError {
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::BadRequest(message.into())
    }

    /// The body that says it, in Umami's shape.
    #[must_use]
    pub fn body(&self) -> serde_json::Value {
        let code = match self {
            Self::BadRequest(_) => "bad-request",
            Self::Unauthorized(_, code)
            | Self::Missing(_, code)
            | Self::Unavailable { code, .. } => code,
            Self::Forbidden => "forbidden",
            Self::NotFound => "not-found",
            Self::TooLarge(_) => "too-large",
            Self::Internal(_) => "server-error",
        };
        let status = self.status_code().as_u16();
        json!({ "error": { "message": self.to_string(), "code": code, "status": status } })
    }

    /// No token, a token that is not valid, or no permission.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::Unauthorized("Unauthorized", "unauthorized")
    }
}

impl<E: Into<anyhow::Error>> From<E> for ApiError {
    fn from(error: E) -> Self {
        Self::Internal(error.into())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self::Unavailable { code: "busy", retry_after_s: 1 },
            StoreError::Timeout => Self::Unavailable { code: "timeout", retry_after_s: 10 },
            StoreError::Memory => Self::Unavailable { code: "memory", retry_after_s: 30 },
            StoreError::Engine(cause) => Self::Internal(anyhow::anyhow!("{cause:#}")),
        }
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BadRequest(message) => f.write_str(message),
            Self::Unauthorized(message, _) | Self::Missing(message, _) => f.write_str(message),
            Self::Forbidden => f.write_str("Forbidden"),
            Self::NotFound => f.write_str("Not found"),
            Self::TooLarge(bytes_max) => write!(f, "The body is larger than {bytes_max} bytes"),
            Self::Unavailable { retry_after_s, .. } => {
                write!(f, "Busy, try again in {retry_after_s} s")
            }
            Self::Internal(_) => f.write_str("Server error"),
        }
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized(..) => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound | Self::Missing(..) => StatusCode::NOT_FOUND,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn error_response(&self) -> HttpResponse {
        if let Self::Internal(error) = self {
            tracing::error!("request failed: {error:#}");
        }
        let mut response = HttpResponse::build(self.status_code());
        if let Self::Unavailable { retry_after_s, .. } = self {
            response.insert_header((header::RETRY_AFTER, retry_after_s.to_string()));
        }
        response.json(self.body())
    }
}
