//! Recordings of visits on a real server: taken in only with the token of a visit and where they are wanted, given back
//! event by event as they were sent, forgotten with what they belong to.

use serde_json::{Value, json};
use sumimi::limits;
use sumimi::store::Store;
use sumimi::store::replays::{Fate, NewChunk};

use crate::http::{Answer, Request};
use crate::process::{Server, WEBSITE};

const SITE: &str = "/api/websites/11111111-1111-4111-8111-111111111111";
const NOBODY: &str = "99999999-9999-4999-8999-999999999999";
const ALL: &str = "startAt=0&endAt=9999999999999";

fn post(server: &mut Server, path: &str, body: &Value) -> Answer {
    let token = server.login();
    server.send(&Request::post(path, body.to_string()).json().bearer(&token))
}

/// A server that records, and the token of a visit.
fn recording() -> (Server, String) {
    let mut server = Server::builder().start();
    server.create_website();
    let answer = post(&mut server, SITE, &json!({ "replayConfig": { "replayEnabled": true } }));
    assert_eq!(answer.json()["recorderEnabled"], true, "{}", answer.text());
    let token = visit(&server, "/");
    server.wait_until_committed();
    (server, token)
}

fn visit(server: &Server, path: &str) -> String {
    let answer = server.send(&Request::page_view(path)).json();
    answer["cache"].as_str().expect("a token").to_owned()
}

fn record(server: &Server, token: &str, body: &Value) -> (u16, Value) {
    let request = Request::post("/api/record", body.to_string()).header("x-umami-cache", token);
    let answer = server.send(&request);
    (answer.status, answer.json())
}

fn piece(events: &Value) -> Value {
    json!({ "type": "record", "payload": { "website": WEBSITE, "events": events } })
}

#[test]
fn a_recording_comes_back_as_it_was_sent() {
    let (mut server, token) = recording();
    let now = sumimi::clock::now_ms();
    let first = json!([
        { "type": 4, "timestamp": now, "data": { "href": "https://a.example/\"ü\"\n", "n": 1.50 } },
        { "type": 2, "timestamp": now + 5, "data": { "deep": [[[{}]]], "null": null } },
    ]);
    let second = json!([{ "type": 3, "timestamp": now + 1_500, "data": "x".repeat(200_000) }]);
    for events in [&first, &second] {
        assert_eq!(record(&server, &token, &piece(events)), (200, json!({ "ok": true })));
    }
    let list = server.ask(&format!("{SITE}/replays?{ALL}"));
    assert_eq!((&list["count"], &list["data"][0]["chunkCount"]), (&json!(1), &json!(2)));
    let replay = &list["data"][0];
    assert_eq!((&replay["eventCount"], &replay["duration"]), (&json!(3), &json!(1_500)));
    assert_eq!((&replay["browser"], &replay["websiteId"]), (&json!("chrome"), &json!(WEBSITE)));
    let id = replay["id"].as_str().expect("an id").to_owned();
    let session = replay["sessionId"].as_str().expect("an id").to_owned();

    let whole = server.ask(&format!("{SITE}/replays/{id}"));
    assert_eq!(whole["events"], json!([first[0], first[1], second[0]]));
    assert_eq!(whole["sessionId"], json!(session));
    for (query, count) in [
        ("minDuration=1500", 1),
        ("minDuration=1501", 0),
        ("browser=firefox", 0),
        ("path=/", 1),
        ("page=2", 1),
    ] {
        let list = server.ask(&format!("{SITE}/replays?{ALL}&{query}"));
        assert_eq!(list["count"], count, "{query}");
    }
    let of_session = server.ask(&format!("{SITE}/sessions/{session}/replays?{ALL}"));
    assert_eq!(of_session["count"], 1);
    let nobody = NOBODY;
    let of_nobody = server.ask(&format!("{SITE}/sessions/{nobody}/replays?{ALL}"));
    assert_eq!(of_nobody["count"], 0);

    let token = server.login();
    for (path, status) in [
        (format!("{SITE}/replays"), 400),
        (format!("{SITE}/replays?{ALL}&minDuration=-1"), 400),
        (format!("{SITE}/replays/x"), 400),
        (format!("{SITE}/replays/{nobody}"), 404),
        (format!("{SITE}/replays/saved/x"), 400),
    ] {
        assert_eq!(server.send(&Request::get(&path).bearer(&token)).status, status, "{path}");
    }
    for path in [format!("{SITE}/replays?{ALL}"), format!("{SITE}/replays/{id}")] {
        assert_eq!(server.send(&Request::get(&path)).status, 401, "{path}");
    }
    server.kill9();
    server.restart();
    assert_eq!(server.ask(&format!("{SITE}/replays/{id}"))["events"][2], second[0]);
    assert_eq!(post(&mut server, &format!("{SITE}/reset"), &json!({})).status, 200);
    assert_eq!(server.ask(&format!("{SITE}/replays?{ALL}"))["count"], 0);
    assert_eq!(
        server.send(&Request::get(&format!("{SITE}/replays/{id}")).bearer(&token)).status,
        404
    );
}

#[test]
fn only_who_has_a_visit_can_record_it_and_only_where_it_is_wanted() {
    let (mut server, token) = recording();
    let events = json!([{ "timestamp": 1 }]);
    let mut many = Vec::new();
    many.resize(limits::RECORDED_EVENTS_MAX + 1, json!({ "timestamp": 1 }));
    let bad = [
        json!({ "type": "event", "payload": { "website": WEBSITE, "events": [] } }),
        json!({ "type": "record", "payload": { "website": "x", "events": [] } }),
        json!({ "type": "record", "payload": { "website": WEBSITE } }),
        json!({ "type": "record" }),
        json!([]),
        piece(&json!([7])),
        piece(&json!([{ "timestamp": "x" }])),
        piece(&Value::Array(many)),
        json!({ "type": "record", "payload": { "website": NOBODY, "events": events } }),
    ];
    for body in &bad {
        let (status, answer) = record(&server, &token, body);
        assert_eq!((status, &answer["error"]["code"]), (400, &json!("bad-request")), "{body}");
    }
    for other in ["", "x", &format!("{}A", &token[1..])] {
        assert_eq!(record(&server, other, &piece(&events)).0, 400, "{other}");
    }
    let large = piece(&json!([{ "data": "x".repeat(limits::BODY_BYTES_MAX) }]));
    assert_eq!(record(&server, &token, &large).0, 413);
    assert_eq!(record(&server, "", &piece(&json!([]))), (200, json!({ "ok": true })));

    let clicks = json!([{ "type": "click", "url": "/" }]);
    let heatmap = json!({ "type": "heatmap", "payload": { "website": WEBSITE, "events": clicks } });
    assert_eq!(record(&server, &token, &heatmap).1["reason"], "heatmap_disabled");
    let config = |server: &Server| server.send(&Request::get(&format!("{SITE}/recorder"))).json();
    assert_eq!(
        (&config(&server)["enabled"], &config(&server)["maskLevel"]),
        (&json!(true), &json!("strict"))
    );
    assert_eq!(server.ask(&format!("{SITE}/replays?{ALL}"))["count"], 0);
    post(&mut server, SITE, &json!({ "replayConfig": null }));
    let off = json!({ "ok": false, "reason": "replay_disabled" });
    assert_eq!(record(&server, &token, &piece(&events)), (200, off));
    assert_eq!(config(&server), json!({ "enabled": false }));
}

#[test]
fn a_recording_is_saved_and_no_longer() {
    let (mut server, token) = recording();
    record(&server, &token, &piece(&json!([{ "timestamp": 1 }])));
    let list = server.ask(&format!("{SITE}/replays?{ALL}"));
    let id = list["data"][0]["id"].as_str().expect("an id").to_owned();
    let path = format!("{SITE}/replays/saved/{id}");
    assert_eq!(server.ask(&path), json!({ "isSaved": false }));
    for name in ["Checkout", "Checkout fails"] {
        let answer = post(&mut server, &path, &json!({ "isSaved": true, "name": name }));
        assert_eq!(answer.json(), json!({ "ok": true }));
    }
    assert_eq!(server.ask(&path), json!({ "isSaved": true }));
    let saved = server.ask(&format!("{SITE}/replays/saved?search=FAILS"));
    assert_eq!((&saved["count"], &saved["data"][0]["visitId"]), (&json!(1), &json!(id)));
    assert_eq!(saved["data"][0]["name"], "Checkout fails");
    let long = "x".repeat(limits::SAVED_NAME_CHARS_MAX + 1);
    assert_eq!(post(&mut server, &path, &json!({ "isSaved": true, "name": long })).status, 400);
    assert_eq!(post(&mut server, &path, &json!({})).status, 400);
    post(&mut server, &path, &json!({ "isSaved": false }));
    assert_eq!(server.ask(&format!("{SITE}/replays/saved"))["count"], 0);
}

#[test]
fn recordings_have_bounds_and_an_end() {
    let data_dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(data_dir.path()).expect("a store");
    let chunk = NewChunk {
        website_key: 1,
        session_id: 1,
        visit_id: 1,
        started_at: 1,
        ended_at: 2,
        event_count: 1,
        json_bytes: limits::REPLAY_BYTES_MAX as usize / 2,
        events: vec![7; 100],
    };
    let keep = |visit_id| store.keep_chunk(&NewChunk { visit_id, ..chunk.clone() }).expect("works");
    assert_eq!(keep(1), Fate::Off, "there is no such website");
    drop(store);
    let connection =
        duckdb::Connection::open(data_dir.path().join("sumimi.duckdb")).expect("opens");
    let website = "INSERT INTO main.website (website_id, name, domain, created_at, replay_enabled) \
                   VALUES (uuid(), '', '', 0, true)";
    connection.execute_batch(website).expect("inserts");
    connection.close().map_err(|(_, error)| error).expect("closes");
    let store = Store::open(data_dir.path()).expect("a store");
    let keep = |visit_id, json_bytes| {
        let chunk = NewChunk { visit_id, json_bytes, ..chunk.clone() };
        store.keep_chunk(&chunk).expect("works")
    };
    let half = chunk.json_bytes;
    let fates = [keep(1, half), keep(1, half), keep(1, 1), keep(2, 1)];
    assert_eq!(fates, [Fate::Kept, Fate::Kept, Fate::Long, Fate::Kept]);
    assert!(store.save_replay(1, 2, "kept").expect("works"));
    assert_eq!(store.forget_chunks(0).expect("works"), 0);
    assert_eq!(store.forget_chunks(i64::MAX).expect("works"), 2, "all but the saved one");
    store.unsave_replay(1, 2).expect("works");
    assert_eq!(store.forget_chunks(i64::MAX).expect("works"), 1);
}
