//! More events than there is room for: who is refused, what the gate learns from the rings, what the log says of it.
//! Real processes; what they must do does not depend on how fast the machine is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::faults::{builder, large_event, limit_files};
use crate::http::Request;
use crate::process::{Server, WEBSITE};

const QUIET: &str = "22222222-2222-4222-8222-222222222222";
const LOUD_CONNECTIONS: usize = 8;
const SECONDS_MAX: u64 = 60;

fn view(website: &str, path: &str) -> Request {
    Request::event(&json!({"website": website, "hostname": "example.com", "url": path}))
}

fn wait_until(what: &str, server: &Server, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        let late = since.elapsed() > Duration::from_secs(SECONDS_MAX);
        assert!(!late, "{what}: {}\n{}", server.heartbeat(), server.log());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_flood_of_one_website_costs_its_neighbour_no_event_and_is_told_in_two_lines() {
    let mut server = Server::builder().env("SUMIMI_RATE", "300").start();
    server.create_website();
    let token = server.login();
    let quiet = json!({"id": QUIET, "name": "Quiet", "domain": "example.org"}).to_string();
    let answer = server.send(&Request::post("/api/websites", quiet).json().bearer(&token));
    assert_eq!(answer.status, 200, "{}", answer.text());

    let stop = Arc::new(AtomicBool::new(false));
    let loud: Vec<_> = (0..LOUD_CONNECTIONS)
        .map(|_| {
            let (mut client, stop) = (server.client(), Arc::clone(&stop));
            thread::spawn(move || {
                let (mut answered, mut refused) = (0, 0);
                while !stop.load(Ordering::Relaxed) {
                    match client.send(&view(WEBSITE, "/loud")).expect("an answer").status {
                        200 => answered += 1,
                        503 => refused += 1,
                        status => panic!("{status}"),
                    }
                }
                (answered, refused)
            })
        })
        .collect();
    wait_until("the flood is refused", &server, || {
        server.heartbeat()["gate"]["refused"]["rate"].as_u64() > Some(1_000)
    });
    let mut client = server.client();
    let statuses = (0..100).map(|n| {
        thread::sleep(Duration::from_millis(20));
        client.send(&view(QUIET, &format!("/{n}"))).expect("an answer").status
    });
    let lost = statuses.filter(|status| *status != 200).count();
    stop.store(true, Ordering::Relaxed);
    let (answered, refused) = loud
        .into_iter()
        .map(|thread| thread.join().expect("no other answer"))
        .fold((0, 0), |(a, b), (c, d): (u32, u32)| (a + c, b + d));
    assert_eq!(lost, 0, "of the quiet website, beside {answered} and {refused} of the loud one");
    assert!(refused > 10 * answered.min(100), "there was no flood: {answered}, {refused}");

    wait_until("the end is told", &server, || server.log().contains("overload over"));
    let log = server.log();
    assert_eq!(log.matches("overload").count(), 2, "{log}");
    let told = format!("{refused} requests were refused");
    assert!(log.contains(&told), "{told}: {log}");
}

#[test]
fn the_rate_falls_while_events_cannot_be_committed_and_rises_when_they_can() {
    let mut server = builder().env("SUMIMI_MEMORY", "256MB").start();
    server.create_website();
    let gate = |server: &Server| server.heartbeat()["gate"].clone();
    let whole = gate(&server)["rate"].as_u64().expect("a number");
    wait_until("the gate has begun", &server, || gate(&server)["rate_now"] == whole);
    limit_files(&server, "4096");
    let mut client = server.client();
    let mut number = 0;
    wait_until("the rate falls", &server, || {
        number += 1;
        let event = large_event(&format!("/{number}"), 50_000);
        let status = client.send(&event).expect("an answer").status;
        assert!([200, 503].contains(&status), "{status}");
        gate(&server)["rate_now"].as_u64() == Some(whole / 1_000)
    });
    limit_files(&server, "unlimited");
    wait_until("the rate rises", &server, || gate(&server)["rate_now"] == whole);
    server.wait_until_committed();
}

#[test]
fn a_batch_larger_than_the_burst_is_taken_whole_and_paid_for() {
    let mut server = Server::builder().env("SUMIMI_RATE", "100").start();
    server.create_website();
    let message = |n: usize| {
        let payload = json!({"website": WEBSITE, "hostname": "h", "url": format!("/{n}")});
        json!({"type": "event", "payload": payload})
    };
    let batch: Vec<_> = (0..2_000).map(message).collect();
    let request = Request::event(&json!({})).body(json!(batch).to_string());
    let request = Request { path: "/api/batch".into(), ..request };
    let answer = server.send(&request);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["processed"], 2_000, "{}", answer.text());
    let next = server.send(&view(WEBSITE, "/next"));
    assert_eq!(next.status, 503, "more than a burst was taken: {}", next.text());
    let again = server.send(&request);
    assert_eq!(again.status, 503, "{}", again.text());
}
