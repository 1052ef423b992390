//! The HTTP application: which services exist and what is true of every answer. `serve` builds it once per worker,
//! tests build it in process; both get the same routes, headers and errors.
//!
//! The intake is asked first, before any table of routes; all other requests go through it.
//!
//! Of every answer under `/api`: any origin may read it (requests carry a bearer token, never a cookie), `OPTIONS`
//! is answered at once, a wrong method is 405, an unknown path is 404 in Umami's error shape, a trailing slash leads
//! to the path without it.

use std::rc::Rc;
use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, Error, HttpMessage, HttpRequest, HttpResponse, ResponseError, web};

pub use crate::api::replays::Recorder;
use crate::auth::Auth;
use crate::error::ApiError;
use crate::health::{self, Health};
use crate::intake::Intake;
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
    pub recorder: Arc<Recorder>,
    /// Further names of the tracker script.
    pub tracker_names: Vec<String>,
    /// Path prefix, empty or starting with a slash.
    pub base_path: String,
    /// A further path that receives events.
    pub collect_path: Option<String>,
}

/// The application of one worker, to which `intake` belongs alone.
pub fn app(
    services: &Services,
    intake: Intake,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<impl MessageBody + use<>>,
        Error = Error,
        InitError = (),
    > + use<>,
> {
    let intake = Rc::new(intake);
    let edge = Rc::clone(&intake);
    App::new()
        .configure(|cfg| configure(cfg, services, &intake))
        .wrap(from_fn(move |request, next| answer(Rc::clone(&edge), request, next)))
}

/// Adds every route but the intake's.
fn configure(cfg: &mut web::ServiceConfig, services: &Services, intake: &Intake) {
    cfg.app_data(web::Data::from(Arc::clone(&services.store)))
        .app_data(web::Data::from(Arc::clone(&services.readers)))
        .app_data(web::Data::from(Arc::clone(&services.auth)))
        .app_data(web::Data::from(Arc::clone(&services.directory)))
        .app_data(web::Data::from(Arc::clone(&services.health)))
        .app_data(web::Data::from(Arc::clone(&services.tracker)))
        .app_data(web::Data::from(Arc::clone(&services.recorder)))
        .app_data(api::json_config())
        .app_data(web::PayloadConfig::new(limits::API_BODY_BYTES_MAX));
    // What is not a POST comes this far; a resource without a route answers 405.
    for path in intake.paths() {
        cfg.service(web::resource(path));
    }
    let scope = web::scope(&services.base_path)
        .configure(health::routes)
        .configure(|cfg| tracker::configure(cfg, &services.tracker_names))
        .configure(api::configure)
        .default_service(web::to(unknown));
    cfg.service(scope);
}

/// Lets the intake answer what is for it, answers `OPTIONS`, and puts the shared headers on every answer.
async fn answer(
    intake: Rc<Intake>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let is_api = request.path().contains("/api/");
    let mut response = if let Some(route) = intake.route(request.method(), request.path()) {
        let payload = request.take_payload();
        let answer = intake.answer(route, request.request(), payload).await;
        request.into_response(answer).map_into_right_body()
    } else if request.method() == Method::OPTIONS && is_api {
        let answer = HttpResponse::NoContent()
            .insert_header((header::ALLOW, "OPTIONS, GET, HEAD, POST, PUT, DELETE"))
            .finish();
        request.into_response(answer).map_into_right_body()
    } else {
        next.call(request).await?.map_into_left_body()
    };
    shared_headers(response.headers_mut(), is_api);
    Ok(response)
}

/// The headers of every answer whatever its status.
fn shared_headers(headers: &mut HeaderMap, is_api: bool) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !is_api {
        return;
    }
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
