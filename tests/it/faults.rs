//! What must not be lost when the disk or the engine fails under the process: real faults, provoked from outside.
//! A limit on the size of files makes writes fail as a full disk does, at a moment that the test chooses.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use duckdb::Connection;
use serde_json::{Value, json};
use sumimi::ring::{self, Durability};

use crate::http::Request;
use crate::kill::Outcome;
use crate::process::{Builder, Server, WEBSITE};

/// Bytes of a large event, and how many of them fill the log to its bound.
const LARGE_BYTES: usize = 50_000;
const PART: usize = 16;
const LARGE_PER_LOG: usize = 330;

/// Without it the limit would end the process by a signal, which is another test.
const NO_SIGNAL: &str = "trap '' XFSZ";

pub fn builder() -> Builder {
    Server::builder().before(NO_SIGNAL)
}

/// Lets no file of the process grow beyond this; `unlimited` lifts it.
pub fn limit_files(server: &Server, bytes: &str) {
    let args = ["--pid", &server.pid().to_string(), &format!("--fsize={bytes}:unlimited")];
    let set = Command::new("prlimit").args(args).status().expect("prlimit runs");
    assert!(set.success());
}

/// An event of about `bytes`, which no compression makes smaller.
pub fn large_event(path: &str, bytes: usize) -> Request {
    let mut state = path.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut text = |length: usize| -> String {
        (0..length)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                char::from(b'!' + 1 + (state % 90) as u8)
            })
            .map(|c| if c == '\\' { 'x' } else { c })
            .collect()
    };
    let data: serde_json::Map<_, _> =
        (0..bytes / 500).map(|n| (format!("k{n}"), json!(text(480)))).collect();
    Request::event(&json!({
        "website": WEBSITE, "hostname": "example.com", "url": path, "name": "large", "data": data,
    }))
}

/// Sends large events, one after the other, until the server refuses or has gone; returns how many were answered.
pub fn send_large(server: &Server, name: &str, count: usize, outcome: &mut Outcome) -> usize {
    let mut client = server.client();
    for number in 0..count {
        let path = format!("/{name}/{number}");
        match client.send(&large_event(&path, LARGE_BYTES)) {
            Ok(answer) if answer.status == 200 => outcome.answered.push(path),
            Ok(answer) => {
                assert_eq!(answer.status, 503, "{}", answer.text());
                outcome.refused += 1;
                return number;
            }
            Err(_) => {
                outcome.unknown.push(path);
                return number;
            }
        }
    }
    count
}

pub fn check_after_end(mut server: Server, outcome: &Outcome) {
    server.wait_until_committed();
    let end = server.terminate();
    assert!(end.status.success(), "{}\n{}", end.status, server.log());
    outcome.check(&server.database());
}

/// Waits until everything sent is committed; false when the server says that it cannot, or has gone.
fn commits(server: &Server) -> bool {
    let mut client = server.client();
    loop {
        match client.send(&Request::get("/api/heartbeat")) {
            Ok(answer) if answer.status == 200 => {
                if answer.json()["ring"]["events_waiting"] == 0 {
                    return true;
                }
            }
            _ => return false,
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_engine_that_fails_for_good_ends_the_process_and_costs_no_event() {
    let mut server = builder().start();
    server.create_website();
    let mut outcome = Outcome::default();
    send_large(&server, "before", LARGE_PER_LOG, &mut outcome);
    server.wait_until_committed();
    // The log may still grow to its bound, but the checkpoint that follows has no room: the engine's fatal error.
    let size = fs::metadata(server.database()).expect("a database").len();
    limit_files(&server, &size.to_string());
    // In small parts, each committed before the next: a large batch could spill, and then the spill file has no room.
    let failed = (0..5 * LARGE_PER_LOG / PART).any(|part| {
        let sent = send_large(&server, &format!("after-{part}"), PART, &mut outcome);
        sent < PART || !commits(&server)
    });
    assert!(failed, "the engine has room for everything");
    let end = server.wait_for_end(Duration::from_secs(5));
    assert_eq!(end.status.code(), Some(1), "{}", server.log());
    assert!(server.log().contains("invalidated"), "another fault: {}", server.log());
    server.restart();
    check_after_end(server, &outcome);
}

#[test]
fn a_log_that_cannot_be_written_is_said_and_tried_until_it_can() {
    let mut server = builder().start();
    server.create_website();
    let mut outcome = Outcome::default();
    send_large(&server, "before", 3, &mut outcome);
    server.wait_until_committed();
    limit_files(&server, "4096");
    send_large(&server, "during", 3, &mut outcome);
    let beat = wait_for_heartbeat(&server, 503);
    assert_eq!(beat["ok"], false, "{beat}");
    assert_eq!(beat["ring"]["events_waiting"], 3, "they wait: {beat}");
    assert_eq!(beat["writer"]["set_aside"], 0, "the events are not at fault: {beat}");
    send_large(&server, "still", 3, &mut outcome);
    limit_files(&server, "unlimited");
    server.wait_until_committed();
    assert_eq!(wait_for_heartbeat(&server, 200)["ok"], true);
    assert_eq!(outcome.answered.len(), 9, "{}", server.log());
    check_after_end(server, &outcome);
}

pub fn wait_for_heartbeat(server: &Server, status: u16) -> Value {
    let since = Instant::now();
    loop {
        let answer = server.send(&Request::get("/api/heartbeat"));
        if answer.status == status {
            return answer.json();
        }
        assert!(since.elapsed() < Duration::from_secs(10), "{}\n{}", answer.text(), server.log());
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_the_engine_refuses_or_nobody_can_read_is_kept_once_and_shown_after_a_restart() {
    let mut server = Server::builder().start();
    server.create_website();
    let mut outcome = Outcome::default();
    assert!(server.terminate().status.success(), "{}", server.log());
    // From now on the engine refuses events without a title, and one record is of an unknown version.
    let connection = Connection::open(server.database()).expect("the database opens");
    let refuse = "ALTER TABLE facts.event ALTER page_title SET NOT NULL";
    connection.execute_batch(refuse).expect("the schema is changed");
    drop(connection);
    let ring = server.home().join("data/ring/0.ring");
    let (mut producer, consumer) = ring::open(&ring, 0, Durability::Process).expect("a ring");
    producer.push(8, |room| room.copy_from_slice(b"\xFFunknown")).expect("has room");
    drop((producer, consumer));

    server.restart();
    for number in 0..60 {
        let path = format!("/{number}");
        let mut event = json!({"website": WEBSITE, "hostname": "example.com", "url": path});
        if number % 20 != 7 {
            event["title"] = json!("A title");
            outcome.answered.push(path);
        }
        let answer = server.send(&Request::event(&event));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    server.wait_until_committed();
    let shown = |server: &Server| server.heartbeat()["writer"]["set_aside"].clone();
    assert_eq!(shown(&server), 4, "three without a title and the unknown one: {}", server.log());
    server.kill9();
    server.restart();
    assert_eq!(shown(&server), 4, "after a restart");
    let kept = fs::read(server.home().join("data/set-aside/records")).expect("they are kept");
    assert!(kept.windows(7).any(|bytes| bytes == b"unknown"), "byte for byte");
    check_after_end(server, &outcome);
}
