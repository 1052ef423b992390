//! What an event costs in allocations: none from the body's bytes to the published record, and a bounded number in the
//! HTTP layer, which is not ours. Both are counted over an ordinary mix, after a start in which buffers may grow.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use actix_web::http::header::USER_AGENT;
use actix_web::test::TestRequest;
use actix_web::{HttpRequest, HttpServer};
use sumimi::auth::Auth;
use sumimi::budget::Budget;
use sumimi::config::{Cli, Config};
use sumimi::health::Health;
use sumimi::intake::accept::{Outcome, Worker};
use sumimi::intake::{Intake, Shared};
use sumimi::ring::{self, Consumer, Durability, Producer};
use sumimi::server::{self, Recorder, Services};
use sumimi::store::Store;
use sumimi::store::reader::Readers;
use sumimi::telemetry::Telemetry;
use sumimi::tracker::TrackerAssets;
use sumimi::websites::{Directory, Owner, Website};
use tempfile::TempDir;
use uuid::Uuid;

use crate::allocator;
use crate::http::{Client, Request};

const EVENTS: usize = 100_000;
const REQUESTS: usize = 10_000;
/// What actix-web allocates for a request and its answer, in its router-less path: 8.2 as measured.
const HTTP_ALLOCATIONS_MAX: f64 = 9.0;
const WEBSITE: Uuid = Uuid::from_u128(0x1111_1111_1111_4111_8111_1111_1111_1111);
const AGENTS: [&str; 3] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
     Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
     Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
];

/// The intake's shared part and one ring.
struct Bench {
    directory: Arc<Directory>,
    shared: Arc<Shared>,
    producer: Option<Producer>,
    consumer: Consumer,
    data_dir: TempDir,
}

fn config() -> Config {
    let geo_db = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/test-city.mmdb");
    let args = ["sumimi", "--geo-db", geo_db, "--rate", "10000000"].map(Into::into).into_iter();
    Cli::from_args(args, |_| None).expect("parses").config
}

impl Bench {
    fn new() -> Self {
        let data_dir = tempfile::tempdir().expect("a directory");
        let website = Website { key: 1, id: WEBSITE, reset_at: None, owner: Owner::Nobody };
        let directory = Arc::new(Directory::new(vec![website]));
        let telemetry = Arc::new(Telemetry::default());
        let shared =
            Shared::new(&config(), "secret", 10_000_000, Arc::clone(&directory), telemetry);
        let path = data_dir.path().join("0.ring");
        let (producer, consumer) = ring::open(&path, 8 << 20, Durability::Process).expect("a ring");
        Self {
            directory,
            shared: Arc::new(shared.expect("is valid")),
            producer: Some(producer),
            consumer,
            data_dir,
        }
    }
}

/// Bodies of an ordinary mix: views with and without query and referrer, one in twenty a custom event with data.
fn bodies() -> Vec<String> {
    let body = |n: usize| {
        let query =
            if n.is_multiple_of(20) { "?utm_source=letter&utm_medium=email&q=a+b" } else { "" };
        let referrer = if n.is_multiple_of(5) { "https://www.google.com/search?q=x" } else { "" };
        let custom =
            r#","name":"signup","data":{"plan":"pro","seats":3,"price":9.99,"a":{"b":[1,2]}}"#;
        let custom = if n % 20 == 7 { custom } else { "" };
        let url = format!("https://www.example.com/teil-{}/seite-{n}%20x{query}", n % 40);
        format!(
            r#"{{"type":"event","payload":{{"website":"{WEBSITE}","screen":"1920x1080","language":"de-DE",
            "title":"Seite {n} – ein Titel","hostname":"www.example.com","url":"{url}","referrer":"{referrer}"
            {custom}}}}}"#
        )
    };
    (0..1_000).map(body).collect()
}

/// Requests of several visitors behind a proxy; some carry a place.
fn requests() -> Vec<HttpRequest> {
    let request = |n: usize| {
        let peer: SocketAddr = "127.0.0.1:4711".parse().expect("an address");
        let request = TestRequest::post()
            .uri("/api/send")
            .peer_addr(peer)
            .insert_header((USER_AGENT, AGENTS[n % AGENTS.len()]))
            .insert_header(("x-forwarded-for", format!("203.0.113.{n}")));
        let placed = n.is_multiple_of(3);
        let request = if placed { request.insert_header(("cf-ipcountry", "DE")) } else { request };
        let request =
            if placed { request.insert_header(("cf-region-code", "BE")) } else { request };
        request.to_http_request()
    };
    (0..40).map(request).collect()
}

#[test]
fn an_event_allocates_nothing_from_its_body_to_the_ring() {
    let mut bench = Bench::new();
    let (bodies, requests) = (bodies(), requests());
    let mut worker = Worker::new(bench.producer.take());
    let mut counted = 0;
    for n in 0..EVENTS + bodies.len() {
        let (body, request) = (&bodies[n % bodies.len()], &requests[n % requests.len()]);
        let before = allocator::of_this_thread();
        let ticket = bench.shared.gate.admit();
        let outcome = worker.send(&bench.shared, request, ticket, body.as_bytes());
        let during = allocator::of_this_thread() - before;
        assert!(matches!(outcome, Outcome::Stored(_)), "event {n}");
        if n >= bodies.len() {
            counted += during;
        }
        let last = bench.consumer.peek(1, usize::MAX).last().map(|(sequence, _)| sequence);
        bench.consumer.release(last.expect("is in the ring")).expect("is released");
    }
    assert_eq!(counted, 0, "allocations of {EVENTS} events");
}

/// Starts the application on a thread of its own, which is counted.
fn serve(bench: &mut Bench) -> SocketAddr {
    let store = Arc::new(Store::open(bench.data_dir.path()).expect("a store"));
    let directory = Arc::clone(&bench.directory);
    let telemetry = Arc::clone(&bench.shared.telemetry);
    let budget = Budget::new(&config(), 512 << 20, 1);
    let services = Services {
        readers: Arc::new(Readers::new(&store).expect("readers")),
        auth: Arc::new(
            Auth::open(&store, Arc::clone(&directory), b"a secret for these tests").expect("users"),
        ),
        health: Arc::new(Health::new(telemetry, budget, store.path().to_owned())),
        tracker: Arc::new(TrackerAssets::new("/api/send")),
        recorder: Arc::new(Recorder::new("a secret for these tests", 30)),
        tracker_names: vec!["script.js".to_owned()],
        base_path: String::new(),
        collect_path: None,
        store,
        directory,
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let producer = Arc::new(Mutex::new(bench.producer.take()));
    let shared = Arc::clone(&bench.shared);
    let factory = move || {
        allocator::count_this_thread();
        let producer = producer.lock().ok().and_then(|mut producer| producer.take());
        server::app(&services, Intake::new(Arc::clone(&shared), producer, "", None))
    };
    std::thread::spawn(move || {
        actix_web::rt::System::new().block_on(async {
            let server = HttpServer::new(factory).workers(1).disable_signals();
            server.listen(listener).expect("listens").run().await
        })
    });
    address
}

#[test]
fn the_http_layer_allocates_little() {
    let mut bench = Bench::new();
    let address = serve(&mut bench);
    let mut connection = Client::new(address);
    let bodies = bodies();
    let mut send = |n: usize| {
        let request = Request::post("/api/send", bodies[n % bodies.len()].as_bytes())
            .header("user-agent", AGENTS[n % AGENTS.len()])
            .header("x-forwarded-for", "203.0.113.9")
            .header("content-type", "application/json");
        assert_eq!(connection.send(&request).expect("answers").status, 200, "event {n}");
    };
    (0..1_000).for_each(&mut send);
    let before = allocator::of_counted_threads();
    (0..REQUESTS).for_each(&mut send);
    let each = (allocator::of_counted_threads() - before) as f64 / REQUESTS as f64;
    println!("{each:.2} allocations a request");
    assert!(each <= HTTP_ALLOCATIONS_MAX, "{each:.2} allocations a request");
}
