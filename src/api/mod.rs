//! The management and query API: the route table, and what every question brings along.
//!
//! A handler does four things in this order: parse its parameters (a bad question is 400 even from a stranger), ask
//! `auth` for the website, ask the readers, answer. It never sees the intake, the ring or the engine.

pub mod active;
pub mod column;
pub mod daterange;
pub mod events_series;
pub mod filter;
pub mod metrics;
pub mod metrics_expanded;
pub mod pageviews;
pub mod params;
pub mod stats;
pub mod timezone;

use std::future::Future;
use std::pin::Pin;

use actix_web::{FromRequest, HttpRequest, dev::Payload, web};

use self::params::Query;
use crate::auth::{Auth, Bearer};
use crate::error::ApiError;
use crate::store::reader::Readers;
use crate::websites::Website;

/// Every route of the API. A resource, unlike a bare route, answers 405 to the wrong method.
pub fn configure(cfg: &mut web::ServiceConfig) {
    let website = |tail: &str| web::resource(format!("/api/websites/{{website}}/{tail}"));
    cfg.service(website("stats").get(stats::stats))
        .service(website("pageviews").get(pageviews::pageviews))
        .service(website("metrics").get(metrics::metrics))
        .service(website("metrics/expanded").get(metrics_expanded::metrics))
        .service(website("active").get(active::active))
        .service(website("daterange").get(daterange::daterange))
        .service(website("events/series").get(events_series::series));
}

/// A question about one website: who asks, what, and who can answer.
pub struct Asked {
    website: String,
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
        self.auth.website(&self.bearer, &self.website).await
    }
}

impl FromRequest for Asked {
    type Error = actix_web::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Self::Error>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        type Parts = (web::Path<String>, Bearer, web::Data<Auth>, Query, web::Data<Readers>);
        let parts = Parts::from_request(request, payload);
        Box::pin(async move {
            let (website, bearer, auth, query, readers) = parts.await?;
            Ok(Self { website: website.into_inner(), bearer, auth, query, readers })
        })
    }
}
