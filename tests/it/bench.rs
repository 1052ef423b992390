//! The bench programs' own parts, so that they do not rot: what the generator sends is a mix that the server takes, and
//! the open loop's schedule is even and complete. `SUMIMI_BENCH_TESTS=1` also builds the generator, a crate of its own,
//! and sends with it in each of its ways; every event that was answered must be in the store.

#[allow(clippy::all, clippy::pedantic, reason = "a program of its own, linted there")]
#[path = "../../bench/load/src/mix.rs"]
mod mix;
#[path = "../../bench/load/src/schedule.rs"]
mod schedule;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::{Server, WEBSITE, number_from_env};

fn mix(distinct: bool, batch: u64, body_bytes: usize) -> mix::Mix {
    mix::Mix {
        random: mix::Random(1),
        websites: vec![WEBSITE.to_owned()],
        host: "localhost".to_owned(),
        distinct,
        batch,
        body_bytes,
        made: 0,
        body: String::new(),
    }
}

/// The head and the parsed body of the next request; the length in the head is checked.
fn next(mix: &mut mix::Mix) -> (String, Value) {
    let mut request = String::new();
    mix.request(&mut request);
    let (head, body) = request.split_once("\r\n\r\n").expect("a head");
    assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
    (head.to_owned(), serde_json::from_str(body).expect("JSON"))
}

#[test]
fn the_ordinary_mix_is_what_it_says() {
    const EVENTS: usize = 20_000;
    let mut mix = mix(false, 1, 0);
    let (mut named, mut referred, mut tagged) = (0, 0, 0);
    let mut pages = std::collections::BTreeSet::new();
    for _ in 0..EVENTS {
        let (head, body) = next(&mut mix);
        assert!(head.starts_with("POST /api/send "), "{head}");
        let payload = &body["payload"];
        assert_eq!(payload["website"], WEBSITE);
        let url = payload["url"].as_str().expect("a page").to_owned();
        named += usize::from(payload["data"].is_object());
        referred += usize::from(payload["referrer"] != "");
        tagged += usize::from(url.contains("utm_source="));
        pages.insert(url);
    }
    // Shares within a tenth of themselves: five times the spread of chance for the rarest.
    for (what, count, share) in
        [("named", named, 20), ("referred", referred, 5), ("tagged", tagged, 20)]
    {
        let off = (count * share).abs_diff(EVENTS);
        assert!(off < EVENTS / 6, "{what}: {count} of {EVENTS}");
    }
    assert!(pages.len() > 5_000, "{} pages", pages.len());
}

#[test]
fn other_mixes_are_distinct_long_and_many() {
    let mut distinct = mix(true, 1, 0);
    let (a, b) = (next(&mut distinct), next(&mut distinct));
    let agent =
        |head: &str| head.lines().find(|line| line.starts_with("user-agent")).map(str::to_owned);
    assert_ne!(agent(&a.0), agent(&b.0));
    for field in ["url", "hostname"] {
        assert_ne!(a.1["payload"][field], b.1["payload"][field]);
    }
    let (head, body) = next(&mut mix(false, 7, 0));
    assert!(head.starts_with("POST /api/batch "), "{head}");
    assert_eq!(body.as_array().map(Vec::len), Some(7));
    let long = next(&mut mix(false, 1, 100_000)).1.to_string();
    assert!((99_000..101_000).contains(&long.len()), "{}", long.len());
}

#[test]
fn an_open_loop_is_even_over_all_connections_and_ends() {
    let start = Instant::now();
    let end = start + Duration::from_secs(2);
    let schedules = (0..64).map(|index| schedule::Schedule::new(start, end, 1_000.0, 64, index));
    let mut moments: Vec<Instant> = schedules.flatten().collect();
    moments.sort();
    assert!(moments.len().abs_diff(2_000) <= 64, "{}", moments.len());
    assert!(moments.iter().all(|moment| (start..end).contains(moment)));
    for (at, moment) in moments.iter().enumerate() {
        let due = start + Duration::from_micros(at as u64 * 1_000);
        let off = moment.max(&due).duration_since(*moment.min(&due));
        assert!(off < Duration::from_millis(1), "request {at} is {off:?} off");
    }
}

/// Builds the generator and returns its path.
fn generator() -> PathBuf {
    let home = std::env::var("HOME").expect("a home");
    let target = std::env::var("BENCH_TARGET_DIR")
        .unwrap_or_else(|_| format!("{home}/.cache/sumimi-load-target"));
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--quiet"]).env("CARGO_TARGET_DIR", &target);
    cargo.env_remove("RUSTFLAGS");
    cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/bench/load"));
    assert!(cargo.status().expect("cargo runs").success());
    PathBuf::from(target).join("release/load")
}

#[test]
fn the_generator_counts_what_the_store_has() {
    if number_from_env("SUMIMI_BENCH_TESTS", 0) == 0 {
        return;
    }
    let generator = generator();
    let mut server = Server::builder().start();
    server.create_website();
    let websites = server.home().join("websites");
    std::fs::write(&websites, format!("{WEBSITE}\n")).expect("writes");
    let ways: [&[&str]; 5] = [
        &["--requests", "500"],
        &["--rate", "500", "--seconds", "1"],
        &["--requests", "20", "--batch", "50"],
        &["--requests", "500", "--distinct", "--idle", "20", "--slow", "20"],
        &["--requests", "20", "--body-bytes", "500000"],
    ];
    let mut answered = 0;
    for way in ways {
        let mut load = Command::new(&generator);
        load.args(["--address", &server.address().to_string(), "--connections", "4"]).args(way);
        let output = load.arg("--websites").arg(&websites).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let figures: Value = serde_json::from_str(&text).expect("one object");
        assert!(figures["events"].as_u64().is_some_and(|events| events >= 20), "{way:?}: {text}");
        assert_eq!(
            (&figures["failed"], &figures["other"]),
            (&0.into(), &0.into()),
            "{way:?}: {text}"
        );
        answered += figures["events"].as_u64().unwrap_or(0);
        server.wait_until_committed();
        let path =
            format!("/api/websites/{WEBSITE}/events?startAt=0&endAt=9999999999999&pageSize=1");
        assert_eq!(server.ask(&path)["count"], answered, "{way:?}");
    }
}
