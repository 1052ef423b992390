//! The HTTP application: which services exist and what is true of every answer. `serve` builds it once per worker,
//! tests build it in process; both get the same routes, headers and errors.
//!
//! Of every answer under `/api`: any origin may read it (requests carry a bearer token, never a cookie), `OPTIONS`
//! is answered at once, a wrong method is 405, an unknown path is 404 in Umami's error shape, a trailing slash leads
//! to the path without it.

use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::{Next, from_fn};
use actix_web::{Error, HttpRequest, HttpResponse, ResponseError, web};

use crate::auth::Auth;
use crate::error::ApiError;
use crate::health::{self, Health};
use crate::intake::{self, Intake};
use crate::store::Store;
use crate::store::reader::Readers;
use crate::tracker::TrackerAssets;
use crate::websites::Directory;
use crate::{api, limits, tracker};

/// Everything that handlers use, shared by all workers.
#[derive(Clone)]
pub struct Services {
    pub store: Arc<Store>,
    pub readers: Arc<Readers>,
    pub auth: Arc<Auth>,
    pub directory: Arc<Directory>,
    pub health: Arc<Health>,
    pub tracker: Arc<TrackerAssets>,
    /// Further names of the tracker script.
    pub tracker_names: Vec<String>,
    /// Path prefix, empty or starting with a slash.
    pub base_path: String,
    /// A further path that receives events.
    pub collect_path: Option<String>,
}

/// Adds every route. `intake` belongs to this worker alone.
pub fn configure(cfg: &mut web::ServiceConfig, services: &Services, intake: Intake) {
    cfg.app_data(web::Data::from(Arc::clone(&services.store)))
        .app_data(web::Data::from(Arc::clone(&services.readers)))
        .app_data(web::Data::from(Arc::clone(&services.auth)))
        .app_data(web::Data::from(Arc::clone(&services.directory)))
        .app_data(web::Data::from(Arc::clone(&services.health)))
        .app_data(web::Data::from(Arc::clone(&services.tracker)))
        .app_data(api::json_config())
        .app_data(web::PayloadConfig::new(limits::API_BODY_BYTES_MAX))
        .app_data(web::Data::new(intake));
    let scope = web::scope(&services.base_path)
        .wrap(from_fn(shared_headers))
        .configure(|cfg| intake::routes(cfg, services.collect_path.as_deref()))
        .configure(health::routes)
        .configure(|cfg| tracker::configure(cfg, &services.tracker_names))
        .configure(api::configure)
        .default_service(web::to(unknown));
    cfg.service(scope);
}

/// Answers `OPTIONS`, and puts the shared headers on every answer whatever its status.
async fn shared_headers(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let is_api = request.path().contains("/api/");
    let mut response = if request.method() == Method::OPTIONS && is_api {
        let answer = HttpResponse::NoContent()
            .insert_header((header::ALLOW, "OPTIONS, GET, HEAD, POST, PUT, DELETE"))
            .finish();
        request.into_response(answer).map_into_right_body()
    } else {
        match next.call(request).await {
            Ok(response) => response.map_into_left_body(),
            Err(error) => return Err(error),
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if is_api {
        for (name, value) in [
            (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
            (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, DELETE, POST, PUT"),
            (header::ACCESS_CONTROL_MAX_AGE, "86400"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        // `*` does not cover Authorization, and older browsers do not know it: the names that are used are listed.
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static(
                "authorization, content-type, x-umami-cache, x-umami-share-token, \
                 x-umami-share-context, *",
            ),
        );
        if !headers.contains_key(header::CACHE_CONTROL) {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        }
    }
    Ok(response)
}

async fn unknown(request: HttpRequest) -> HttpResponse {
    match request.path().strip_suffix('/') {
        Some(path) if !path.is_empty() && !path.starts_with("//") => {
            let query = request.query_string();
            let mark = if query.is_empty() { "" } else { "?" };
            HttpResponse::build(StatusCode::PERMANENT_REDIRECT)
                .insert_header((header::LOCATION, format!("{path}{mark}{query}")))
                .finish()
        }
        _ => ApiError::NotFound.error_response(),
    }
}
