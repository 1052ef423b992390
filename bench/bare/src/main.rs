//! What actix-web itself can do on this machine: one worker, one route that reads the body whole and answers as many
//! bytes as the server's answer to an event has. The same versions, allocator and build settings as the server.

use actix_web::{App, HttpResponse, HttpServer, web};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const ANSWER: &[u8] = &[b'x'; 172];

async fn send(body: web::Bytes) -> HttpResponse {
    std::hint::black_box(&body);
    HttpResponse::Ok().content_type("application/json").body(web::Bytes::from_static(ANSWER))
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3001".to_owned());
    let app = || App::new().route("/api/send", web::post().to(send));
    HttpServer::new(app).workers(1).bind(address)?.run().await
}
