//! `GET /api/config`: what Umami's clients ask before they sign in. Always the same, and says nothing of this server.

use actix_web::{HttpResponse, web};
use serde_json::json;

/// The route.
pub fn routes(cfg: &mut web::ServiceConfig) {
    cfg.service(web::resource("/api/config").route(web::get().to(config)));
}

async fn config() -> HttpResponse {
    HttpResponse::Ok().json(json!({
        "cloudMode": false,
        "privateMode": false,
        "telemetryDisabled": true,
        "updatesDisabled": false,
        "sessionDeletionEnabled": true,
        "currentVersion": true,
        "trackerScriptName": "script.js",
        "faviconUrl": "",
        "linksUrl": "",
        "pixelsUrl": "",
    }))
}
