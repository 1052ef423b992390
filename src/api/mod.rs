//! The management and query API: the route table.

pub mod config;
pub mod login;
pub mod page;
pub mod websites;

use actix_web::error::JsonPayloadError;
use actix_web::web;

use crate::error::ApiError;
use crate::limits;

/// Every route under `/api` that is not the intake's.
pub fn configure(cfg: &mut web::ServiceConfig) {
    cfg.configure(config::routes).configure(login::routes).configure(websites::routes);
}

/// How JSON bodies are read: whatever type the client names, as in Umami (a token in a header cannot be sent by
/// another site's form, so nothing is gained by asking for one), up to the limit, with our errors.
pub fn json_config() -> web::JsonConfig {
    web::JsonConfig::default()
        .limit(limits::API_BODY_BYTES_MAX)
        .content_type_required(false)
        .content_type(|_| true)
        .error_handler(|error, _| {
            let error = match error {
                JsonPayloadError::OverflowKnownLength { .. }
                | JsonPayloadError::Overflow { .. } => {
                    ApiError::TooLarge(limits::API_BODY_BYTES_MAX)
                }
                JsonPayloadError::Deserialize(error) => {
                    ApiError::bad_request(format!("Invalid body: {error}"))
                }
                _ => ApiError::bad_request("The body cannot be read"),
            };
            error.into()
        })
}
