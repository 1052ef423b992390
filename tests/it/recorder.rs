//! A stand-in for the server and for the sites that embed the tracker: it serves pages and the real script, writes down
//! every message, and answers what the test wants. So the tracker is tested for what it sends and nothing else.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use serde_json::{Value, json};
use sumimi::tracker::{self, TrackerAssets};

use crate::chromium::Browser;
use crate::process::WEBSITE;

/// Far beyond what a message ever needs.
const MESSAGE_SECONDS_MAX: u64 = 20;
/// Longer than the tracker waits for a new title.
const QUIET_MS: u64 = 500;

/// A request that was not for a page or the script.
#[derive(Clone, Debug)]
pub struct Message {
    pub method: String,
    pub path: String,
    pub headers: HashMap<String, String>,
    pub body: Value,
}

impl Message {
    /// A field of the payload; null when it is not there.
    pub fn field(&self, name: &str) -> &Value {
        &self.body["payload"][name]
    }

    /// In short what it says: type, event name if any, path with query and hash.
    pub fn summary(&self) -> String {
        let kind = self.body["type"].as_str().unwrap_or("?");
        let name = self.field("name").as_str().map(|name| format!(" {name}")).unwrap_or_default();
        let url = self.field("url").as_str().unwrap_or("?");
        let path = url.find(".test").map_or(url, |at| &url[at + ".test".len()..]);
        format!("{kind}{name} {path}")
    }
}

#[derive(Default)]
struct State {
    pages: HashMap<String, String>,
    /// What is answered next, in place of a fresh token.
    answer: Option<Value>,
    messages: Vec<Message>,
    tokens: usize,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// The stand-in, on a port of its own. Its hosts are `site.test`, `stats.test` and `news.test`.
pub struct Recorder {
    address: SocketAddr,
    shared: Arc<Shared>,
    handle: ServerHandle,
}

impl Recorder {
    /// Starts it with pages by path.
    pub fn start(pages: &[(&str, String)]) -> Self {
        let shared = Arc::new(Shared::default());
        let pages = pages.iter().map(|(path, html)| ((*path).to_owned(), html.clone()));
        shared.state.lock().expect("not poisoned").pages = pages.collect();
        let (send, receive) = mpsc::channel();
        let for_server = Arc::clone(&shared);
        std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let shared = web::Data::from(for_server);
                let assets = web::Data::new(TrackerAssets::new("/api/send"));
                let server = HttpServer::new(move || {
                    App::new()
                        .app_data(shared.clone())
                        .app_data(assets.clone())
                        .configure(|cfg| tracker::configure(cfg, &[]))
                        .default_service(web::to(answer))
                });
                let server = server.workers(1).bind("127.0.0.1:0").expect("a free port");
                let address = server.addrs()[0];
                let server = server.run();
                send.send((address, server.handle())).expect("the test waits");
                server.await.expect("the server runs");
            });
        });
        let (address, handle) = receive.recv().expect("it has started");
        Self { address, shared, handle }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A browser for which the stand-in is all of the web.
    pub async fn browser(&self) -> Browser {
        let hosts = ["site.test", "stats.test", "news.test"].map(|host| (host, self.address));
        Browser::start(&hosts).await
    }

    /// What the next message is answered.
    pub fn answer_next(&self, answer: Value) {
        self.shared.state.lock().expect("not poisoned").answer = Some(answer);
    }

    /// Waits for `count` messages, then until the page has nothing more to say, and takes them all.
    pub async fn take(&self, browser: &Browser, count: usize) -> Vec<Message> {
        self.wait(count);
        let quiet = format!(
            "setTimeout(() => fetch('/quiet', {{ method: 'POST', body: '0' }}).then(() => done()), {QUIET_MS})"
        );
        browser.run_until_done(&quiet).await;
        let mut messages = self.wait(count + 1);
        messages.retain(|message| message.path != "/quiet");
        assert_eq!(messages.len(), count, "{:?}", summaries(&messages));
        self.shared.state.lock().expect("not poisoned").messages.clear();
        messages
    }

    /// Waits for `count` messages and leaves them.
    fn wait(&self, count: usize) -> Vec<Message> {
        let deadline = Instant::now() + Duration::from_secs(MESSAGE_SECONDS_MAX);
        let mut state = self.shared.state.lock().expect("not poisoned");
        while state.messages.len() < count {
            let left = deadline.saturating_duration_since(Instant::now());
            let seen = summaries(&state.messages);
            assert!(!left.is_zero(), "{count} messages expected, came: {seen:?}");
            state = self.shared.changed.wait_timeout(state, left).expect("not poisoned").0;
        }
        state.messages.clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
    }
}

/// What each message says, in the order of arrival.
pub fn summaries(messages: &[Message]) -> Vec<String> {
    messages.iter().map(Message::summary).collect()
}

async fn answer(request: HttpRequest, body: web::Bytes, shared: web::Data<Shared>) -> HttpResponse {
    let mut state = shared.state.lock().expect("not poisoned");
    if request.method() == "GET" {
        return match state.pages.get(request.path()) {
            Some(html) => {
                HttpResponse::Ok().content_type("text/html; charset=utf-8").body(html.clone())
            }
            None => HttpResponse::NotFound().finish(),
        };
    }
    let headers = request.headers().iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    state.messages.push(Message {
        method: request.method().to_string(),
        path: request.path().to_owned(),
        headers: headers.collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    });
    state.tokens += 1;
    let fresh = json!({ "cache": format!("token {}", state.tokens) });
    let answer = state.answer.take().unwrap_or(fresh);
    shared.changed.notify_all();
    HttpResponse::Ok().insert_header(("access-control-allow-origin", "*")).json(answer)
}

/// A page with the tracker's tag: `settings` are further attributes, `body` is what follows in the page.
pub fn page(title: &str, settings: &str, body: &str) -> String {
    let tag = tag(settings);
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>{tag}<body>{body}"
    )
}

/// The tracker's tag.
pub fn tag(settings: &str) -> String {
    format!(
        "<script defer src='http://stats.test/script.js' data-website-id='{WEBSITE}' {settings}></script>"
    )
}
