//! The management and query API: the route table, and what every question brings along.
//!
//! A handler does four things in this order: parse its parameters (a bad question is 400 even from a stranger), ask
//! `auth` for the website, ask the readers, answer. It never sees the intake, the ring or the engine.

pub mod active;
pub mod annotations;
pub mod api_keys;
pub mod boards;
pub mod cells;
pub mod charts;
pub mod column;
pub mod config;
pub mod data_series;
pub mod daterange;
pub mod event_data;
pub mod events;
pub mod events_series;
pub mod events_stats;
pub mod export;
pub mod filter;
pub mod links;
pub mod login;
pub mod long_answer;
pub mod metrics;
pub mod metrics_expanded;
pub mod openapi;
pub mod operator;
pub mod page;
pub mod pageviews;
pub mod params;
pub mod realtime;
pub mod replays;
pub mod reports;
pub mod scope;
pub mod segment;
pub mod segments;
pub mod session;
pub mod session_data;
pub mod sessions;
pub mod sessions_stats;
pub mod sessions_weekly;
pub mod shares;
pub mod stats;
pub mod teams;
pub mod timezone;
pub mod users;
pub mod values;
pub mod websites;

use std::future::Future;
use std::pin::Pin;

use actix_web::error::JsonPayloadError;
use actix_web::{FromRequest, HttpRequest, dev::Payload, web};
use serde::Deserialize;
use uuid::Uuid;

use self::params::Query;
use crate::auth::{Auth, Bearer};
use crate::error::ApiError;
use crate::store::horizons::ListKey;
use crate::store::question::Question;
use crate::store::reader::Readers;
use crate::websites::Website;
use crate::{identity, limits};

/// Every route of the API.
pub fn configure(cfg: &mut web::ServiceConfig) {
    let website = |tail: &str| web::resource(format!("/api/websites/{{website}}/{tail}"));
    cfg.configure(config::routes)
        .configure(openapi::routes)
        .configure(login::routes)
        .configure(api_keys::routes)
        .service(web::resource("/api/websites/charts").get(charts::charts))
        .configure(websites::routes)
        .configure(users::routes)
        .configure(teams::routes)
        .configure(shares::routes)
        .configure(links::routes)
        .configure(boards::routes)
        .configure(segments::routes)
        .configure(replays::routes)
        .configure(reports::routes)
        .configure(annotations::routes)
        .configure(event_data::routes)
        .configure(data_series::routes)
        .configure(session_data::routes)
        .service(website("stats").get(stats::stats))
        .service(website("pageviews").get(pageviews::pageviews))
        .service(website("metrics").get(metrics::metrics))
        .service(website("metrics/expanded").get(metrics_expanded::metrics))
        .service(website("active").get(active::active))
        .service(website("daterange").get(daterange::daterange))
        .service(website("events/series").get(events_series::series))
        .service(website("values").get(values::values))
        .service(web::resource("/api/realtime/{website}").get(realtime::realtime))
        .service(website("events").get(events::events))
        .service(website("events/stats").get(events_stats::stats))
        .service(website("export").get(export::export))
        .service(website("sessions").get(sessions::sessions))
        .service(website("sessions/stats").get(sessions_stats::stats))
        .service(website("sessions/weekly").get(sessions_weekly::weekly))
        .service(website("sessions/{id}").get(session::session).delete(session::delete))
        .service(website("sessions/{id}/activity").get(session::activity))
        .service(website("sessions/{id}/properties").get(session::properties));
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

/// What a question's path names.
#[derive(Deserialize)]
struct Place {
    website: String,
    /// A session, an event, …
    id: Option<String>,
}

/// A question about one website: who asks, what, and who can answer.
pub struct Asked {
    place: Place,
    bearer: Bearer,
    auth: web::Data<Auth>,
    pub query: Query,
    pub readers: web::Data<Readers>,
}

impl Asked {
    /// The website, if the one who asks may read it. Called when the parameters have been found good.
    ///
    /// # Errors
    /// 401 without a valid token or permission.
    pub async fn website(&self) -> Result<Website, ApiError> {
        self.auth.website(&self.bearer, &self.place.website).await
    }

    /// The website, if the one who asks may change it.
    ///
    /// # Errors
    /// 401 without a valid token or permission.
    pub async fn website_to_change(&self) -> Result<Website, ApiError> {
        self.auth.website_to_change(&self.bearer, &self.place.website).await
    }

    /// Which list a question is about, as the one who asks reads it.
    fn list_key(&self, question: &Question) -> ListKey {
        let Bearer { token, share, api_key, .. } = &self.bearer;
        let login = share.as_ref().or(api_key.as_ref()).or(token.as_ref()).map(String::as_str);
        ListKey::new(login.unwrap_or_default(), question)
    }

    /// The id behind the website in the path.
    ///
    /// # Errors
    /// 400 when it is not a UUID.
    pub fn id(&self) -> Result<Uuid, ApiError> {
        let id = self.place.id.as_deref().and_then(|id| Uuid::try_parse(id).ok());
        id.ok_or_else(|| ApiError::bad_request("The id is not a UUID"))
    }

    /// That id as one of a session or event; `None` when it cannot be one of ours.
    ///
    /// # Errors
    /// 400 when it is not a UUID.
    pub fn fact_id(&self) -> Result<Option<u64>, ApiError> {
        Ok(identity::id_of(&self.id()?))
    }
}

impl FromRequest for Asked {
    type Error = actix_web::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Self::Error>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        type Parts = (web::Path<Place>, Bearer, web::Data<Auth>, Query, web::Data<Readers>);
        let parts = Parts::from_request(request, payload);
        Box::pin(async move {
            let (place, bearer, auth, query, readers) = parts.await?;
            Ok(Self { place: place.into_inner(), bearer, auth, query, readers })
        })
    }
}
