//! Reports: goals, funnels, journeys and the like, in two shapes. `GET /api/websites/{website}/…` asks with a query
//! string as all questions do; `POST /api/reports/{type}` is how older clients ask, with a body. A body's filters and
//! parameters become the same names and values, so that behind the first step both are one.

pub mod attribution;
pub mod breakdown;
pub mod funnel;
pub mod goal;
pub mod journey;
pub mod performance;
pub mod retention;
pub mod revenue;
pub mod saved;
pub mod utm;

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::params::Query;
use super::{Asked, Place};
use crate::auth::{Auth, Bearer};
use crate::error::ApiError;
use crate::store::reader::Readers;

/// The types of reports, as saved reports and older clients name them.
pub const KINDS: [&str; 9] = [
    "attribution",
    "breakdown",
    "funnel",
    "goal",
    "journey",
    "performance",
    "retention",
    "revenue",
    "utm",
];

/// The routes.
pub fn routes(cfg: &mut web::ServiceConfig) {
    for kind in KINDS {
        cfg.service(web::resource(format!("/api/reports/{kind}")).post(posted));
    }
    let website = |tail: &str| web::resource(format!("/api/websites/{{website}}/{tail}"));
    cfg.configure(saved::routes)
        .service(website("attribution").get(attribution::get))
        .service(website("breakdown").get(breakdown::get))
        .service(website("journeys").get(journey::get))
        .service(website("retention").get(retention::get))
        .service(website("utm/metrics").get(utm::get))
        .service(website("revenue/chart").get(revenue::chart))
        .service(website("revenue/metrics").get(revenue::metrics))
        .service(website("revenue/stats").get(revenue::stats))
        .service(website("performance/chart").get(performance::chart))
        .service(website("performance/metrics").get(performance::metrics))
        .service(website("performance/stats").get(performance::stats));
}

/// What a report is answered with.
type Answer = Result<HttpResponse, ApiError>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    website_id: String,
    r#type: String,
    filters: Map<String, Value>,
    parameters: Map<String, Value>,
}

/// `POST /api/reports/{type}`.
async fn posted(
    request: HttpRequest,
    body: web::Json<Body>,
    bearer: Bearer,
    auth: web::Data<Auth>,
    readers: web::Data<Readers>,
) -> Answer {
    let body = body.into_inner();
    let kind = KINDS.into_iter().find(|kind| request.path().ends_with(kind)).unwrap_or_default();
    if body.r#type != kind {
        return Err(ApiError::BadRequest(format!("Invalid type: expected {kind}")));
    }
    let query = Query::default().with_parameters(body.filters).with_parameters(body.parameters);
    let place = Place { website: body.website_id, id: None };
    let asked = Asked { place, bearer, auth, query, readers };
    Ok(HttpResponse::Ok().json(match kind {
        "attribution" => json!(attribution::answer(&asked).await?),
        "breakdown" => json!(breakdown::answer(&asked).await?),
        "funnel" => json!(funnel::answer(&asked).await?),
        "goal" => json!(goal::answer(&asked).await?),
        "journey" => json!(journey::answer(&asked).await?),
        "performance" => json!(performance::answer(&asked).await?),
        "retention" => json!(retention::answer(&asked).await?),
        "revenue" => json!(revenue::answer(&asked).await?),
        _ => json!(utm::answer(&asked).await?),
    }))
}
