//! What the internet sends: broken escapes, texts without end, lies about length, times from other planets. Each is
//! answered with a 200 or a 4xx that a browser may read, and costs nobody else's event.

use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use duckdb::{AccessMode, Config, Connection};
use flate2::Compression;
use flate2::write::GzEncoder;

use sumimi::limits;

use crate::http::{Answer, Request};
use crate::process::{AGENT, Server, WEBSITE};

/// One of the statuses, readable by a page of any origin, and without a word about the inside.
fn check(answer: &Answer, statuses: &[u16], what: &str) {
    let text = answer.text();
    assert!(statuses.contains(&answer.status), "{what}: {} {text}", answer.status);
    let origin = answer.header("access-control-allow-origin");
    assert_eq!(origin, Some("*"), "{what}: {} without CORS", answer.status);
    for inside in ["panicked", "SELECT", ".rs:", "duckdb"] {
        assert!(!text.contains(inside), "{what}: {text}");
    }
}

/// A message whose payload has these further fields, given as JSON text because some are not what a writer would write.
fn message(fields: &str) -> String {
    format!(
        r#"{{"type":"event","payload":{{"website":"{WEBSITE}","hostname":"example.com",{fields}}}}}"#
    )
}

fn post(path: &str, body: impl Into<Vec<u8>>) -> Request {
    Request::post(path, body)
        .json()
        .header("user-agent", AGENT)
        .header("origin", "https://a.example")
}

fn started() -> Server {
    let mut server = Server::builder().start();
    server.create_website();
    server
}

/// Stops the server and opens what it has stored.
fn stored(server: &mut Server) -> Connection {
    server.wait_until_committed();
    assert!(server.terminate().status.success(), "{}", server.log());
    assert!(!server.log().contains("panicked"), "{}", server.log());
    let config = Config::default().access_mode(AccessMode::ReadOnly).expect("a known setting");
    Connection::open_with_flags(server.database(), config).expect("the database opens")
}

fn number(database: &Connection, question: &str) -> i64 {
    database.query_row(question, [], |row| row.get(0)).expect(question)
}

#[test]
fn malformed_text_is_answered_and_no_other_event_is_lost() {
    let fields = [
        r#""url":"/%E0%A4%A""#,
        r#""url":"/%00""#,
        r#""url":"/%zz""#,
        r#""url":"/%FF%FE""#,
        r#""url":"/a%""#,
        r#""url":"/tab\tand\nline""#,
        r#""url":"/t","title":"a\u0000b""#,
        r#""url":"/t","title":"\ud800""#,
        r#""url":"/t","title":"\udc00\ud800x""#,
        r#""url":"/t?q=%00&utm_source=%00%FF","title":"%00%ff""#,
        r#""url":"/t","name":"n","data":{"k\u0000":"v\u0000"}"#,
        r#""url":"/t","name":"n","data":{"\ud800":"\udfff","a":[null,{}],"b":{"c":1e300}}"#,
        r#""url":"/t","referrer":"https://example.org/%E0%A4%A?%00""#,
        r#""url":"/t","language":"\u0000","screen":"\u0000x","tag":"\u0000""#,
    ];
    let mut server = started();
    let mut batch = vec![message(r#""url":"/good/first""#)];
    for fields in fields {
        check(&server.send(&post("/api/send", message(fields))), &[200], fields);
        batch.push(message(fields));
    }
    batch.insert(fields.len() / 2, message(r#""url":"/good/middle""#));
    batch.push(message(r#""url":"/good/last""#));
    let answer = server.send(&post("/api/batch", format!("[{}]", batch.join(","))));
    check(&answer, &[200], "batch");
    assert_eq!(answer.json()["processed"], batch.len(), "{}", answer.text());

    let mut raw = message(r#""url":"/raw","title":"@""#).into_bytes();
    let at = raw.iter().position(|byte| *byte == b'@').expect("it is there");
    raw[at] = 0xFF;
    let raw = server.send(&post("/api/send", raw));
    check(&raw, &[200, 400], "a raw byte 0xFF");
    let marked = format!("\u{feff}{}", message(r#""url":"/good/bom""#));
    check(&server.send(&post("/api/send", marked)), &[200], "a byte order mark");
    let after = post("/api/send", message(r#""url":"/good/after""#));
    check(&server.send(&after), &[200], "an ordinary event");

    server.wait_until_committed();
    let titles =
        format!("/api/websites/{WEBSITE}/metrics?type=title&startAt=0&endAt=9999999999999");
    assert!(server.ask(&titles).is_array(), "texts come back as JSON");
    let database = stored(&mut server);
    let good = "SELECT count(*) FROM facts.event WHERE url_path LIKE '/good/%'";
    assert_eq!(number(&database, good), 5);
    let sent = 2 * fields.len() as i64 + 5 + i64::from(raw.status == 200);
    assert_eq!(number(&database, "SELECT count(*) FROM facts.event"), sent);
    let nul = "SELECT count(*) FROM facts.event WHERE contains(url_path, chr(0)) \
               OR contains(page_title, chr(0)) OR contains(utm_source, chr(0))";
    assert_eq!(number(&database, nul), 0);
}

#[test]
fn what_is_not_a_message_is_answered_400() {
    let bodies = [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        "5".to_owned(),
        "\"text\"".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        r#"{"type":"event"}"#.to_owned(),
        r#"{"type":"event","payload":[]}"#.to_owned(),
        message(r#""url":"/x""#) + "x",
        message(r#""url":"/x""#).replace("event", "nonsense"),
        message(r#""url":"/x""#).replace(WEBSITE, "not-an-id"),
        message(r#""url":"/x""#).replace('1', "9"),
        message(r#""url":5"#),
        message(r#""url":"/x","data":[]"#),
        format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        message(&format!(
            r#""url":"/x","data":{}1{}"#,
            r#"{"a":"#.repeat(9_000),
            "}".repeat(9_000)
        )),
    ];
    let mut server = started();
    for body in bodies {
        let what: String = body.chars().take(120).collect();
        check(&server.send(&post("/api/send", body)), &[400], &what);
    }
    for body in ["", "{}", "null", "[5]", "[[]]", "[null]"] {
        check(&server.send(&post("/api/batch", body)), &[400], body);
    }
    let database = stored(&mut server);
    assert_eq!(number(&database, "SELECT count(*) FROM facts.event"), 0);
}

#[test]
fn what_is_too_long_is_cut_and_kept() {
    let x = |length: usize| "x".repeat(length);
    let campaign = ["source", "medium", "campaign", "content", "term"]
        .map(|name| format!("utm_{name}={}", x(1_024)))
        .join("&");
    let fields = [
        format!(r#""url":"/{}?ttclid={}""#, x(12_000), x(4_096)),
        format!(r#""url":"/utm?{campaign}""#),
        format!(r#""url":"/t","title":"{}""#, x(10_240)),
        format!(r#""url":"/t","title":"{}""#, "\u{1f469}\u{200d}\u{1f466}".repeat(600)),
        format!(r#""url":"/{}""#, "é".repeat(400)),
        format!(r#""url":"/t","language":"{}""#, x(64)),
        r#""url":"/t","screen":"10240x10240""#.to_owned(),
        format!(r#""url":"/t","screen":"{}""#, "9".repeat(40)),
        format!(r#""url":"/t","tag":"{}""#, x(200)),
        format!(r#""url":"/t","name":"{}""#, x(51)),
        format!(r#""url":"/t","name":"{}""#, x(200)),
        format!(r#""url":"/t","id":"{}""#, x(51)),
        format!(r#""url":"/t","browser":"{0}","os":"{0}","device":"{0}""#, x(21)),
        format!(r#""url":"/t","referrer":"https://example.org/{0}?{0}""#, x(4_096)),
        format!(r#""url":"/t","name":"n","data":{{"{0}":"{0}"}}"#, x(5_000)),
    ];
    let mut server = started();
    for fields in &fields {
        check(
            &server.send(&post("/api/send", message(fields))),
            &[200],
            &fields[..60.min(fields.len())],
        );
    }
    let host = message(r#""url":"/host""#).replace("example.com", &format!("{}.example", x(245)));
    check(&server.send(&post("/api/send", host)), &[200], "a long hostname");

    let database = stored(&mut server);
    let rows = fields.len() as i64 + 1;
    assert_eq!(number(&database, "SELECT count(*) FROM facts.event"), rows);
    let columns = HashMap::from([
        ("url_path", limits::LONG_TEXT_CHARS_MAX),
        ("url_query", limits::LONG_TEXT_CHARS_MAX),
        ("page_title", limits::LONG_TEXT_CHARS_MAX),
        ("referrer_path", limits::LONG_TEXT_CHARS_MAX),
        ("referrer_query", limits::LONG_TEXT_CHARS_MAX),
        ("utm_source", limits::UTM_CHARS_MAX),
        ("utm_term", limits::UTM_CHARS_MAX),
        ("hostname", limits::HOSTNAME_CHARS_MAX),
        ("language", limits::LANGUAGE_CHARS_MAX),
        ("screen", limits::SCREEN_CHARS_MAX),
        ("tag", limits::TAG_CHARS_MAX),
        ("event_name", limits::EVENT_NAME_CHARS_MAX),
        ("distinct_id", limits::DISTINCT_ID_CHARS_MAX),
        ("browser", limits::CLIENT_TEXT_CHARS_MAX),
    ]);
    for (column, chars_max) in columns {
        let longest = format!("SELECT coalesce(max(length({column})), 0) FROM facts.event");
        assert!(number(&database, &longest) <= chars_max as i64, "{column}");
    }
}

#[test]
fn any_content_type_is_read_as_json() {
    let types = [
        Some("text/plain;charset=UTF-8"),
        None,
        Some("application/x-www-form-urlencoded"),
        Some("application/json; charset=utf-8"),
        Some("application/beacon"),
        Some(""),
        Some("multipart/form-data; boundary=x"),
    ];
    let mut server = started();
    for content_type in types {
        let request = Request::post("/api/send", message(r#""url":"/typed""#));
        let request = request.header("user-agent", AGENT);
        let request = match content_type {
            Some(content_type) => request.header("content-type", content_type),
            None => request,
        };
        check(&server.send(&request), &[200], &format!("{content_type:?}"));
    }
    let database = stored(&mut server);
    assert_eq!(number(&database, "SELECT count(*) FROM facts.event"), types.len() as i64);
}

#[test]
fn a_page_of_any_origin_may_send_and_read_every_answer() {
    let mut server = Server::builder().env("IGNORE_IP", "203.0.113.9").start();
    server.create_website();
    for origin in ["https://a.example", "null"] {
        let preflight = Request::new("OPTIONS", "/api/send")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type,x-umami-cache");
        let answer = server.send(&preflight);
        check(&answer, &[200, 204], "preflight");
        let allowed = answer.header("access-control-allow-headers").unwrap_or_default();
        for name in ["content-type", "x-umami-cache"] {
            assert!(allowed.to_ascii_lowercase().contains(name), "{name} is not in {allowed}");
        }
        let age = answer.header("access-control-max-age").and_then(|age| age.parse::<u32>().ok());
        assert!(age.is_some_and(|age| age >= 86_400), "asked again after {age:?} s");
    }
    let good = message(r#""url":"/""#);
    let blocked = post("/api/send", good.clone()).header("x-forwarded-for", "203.0.113.9");
    let large = post("/api/send", vec![b' '; limits::BODY_BYTES_MAX + 1]);
    for (request, status) in [
        (post("/api/send", good.clone()), 200),
        (post("/api/send", "nonsense"), 400),
        (blocked, 403),
        (Request::get("/api/nothing-here"), 404),
        (Request::get("/api/send"), 405),
        (large, 413),
    ] {
        check(&server.send(&request), &[status], &status.to_string());
    }
}

#[test]
fn above_its_rate_it_refuses_at_once_and_says_when_to_come_back() {
    let mut server = Server::builder().env("SUMIMI_RATE", "1").start();
    server.create_website();
    let mut client = server.client();
    let mut statuses = Vec::new();
    for _ in 0..20 {
        let answer = client.send(&post("/api/send", message(r#""url":"/""#))).expect("an answer");
        check(&answer, &[200, 503], "above the rate");
        if answer.status == 503 {
            let wait = answer.header("retry-after").and_then(|wait| wait.parse::<u32>().ok());
            assert!(wait.is_some_and(|wait| wait >= 1), "{:?}", answer.headers);
        }
        statuses.push(answer.status);
    }
    assert!(statuses.contains(&200) && statuses.contains(&503), "{statuses:?}");
    let refused = server.heartbeat()["gate"]["refused"]["rate"].as_u64();
    let answered_503 = statuses.iter().filter(|status| **status == 503).count() as u64;
    assert_eq!(refused, Some(answered_503), "refusals are counted");
    let accepted = (statuses.len() as u64 - answered_503) as i64;
    let database = stored(&mut server);
    assert_eq!(number(&database, "SELECT count(*) FROM facts.event"), accepted);
}

#[test]
fn a_time_is_understood_or_refused_and_never_in_the_future() {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as i64;
    let cases: [(String, &[u16]); 14] = [
        (now_s.to_string(), &[200]),
        ((now_s - 86_400).to_string(), &[200]),
        ((now_s - 2 * 365 * 86_400).to_string(), &[200]),
        (format!("\"{now_s}\""), &[200]),
        ((now_s * 1_000).to_string(), &[200, 400]),
        ((now_s + 3_600).to_string(), &[200, 400]),
        ("0".to_owned(), &[200, 400]),
        ("-1".to_owned(), &[200, 400]),
        ("1.5e9".to_owned(), &[200, 400]),
        ("1500000000.5".to_owned(), &[400]),
        ("9e15".to_owned(), &[200, 400]),
        ("1e300".to_owned(), &[200, 400]),
        ("-9223372036854775808".to_owned(), &[200, 400]),
        ("\"2026-03-05T00:00:00Z\"".to_owned(), &[400]),
    ];
    let mut server = started();
    let mut accepted = 0;
    for (timestamp, statuses) in &cases {
        let body = message(&format!(r#""url":"/at","timestamp":{timestamp}"#));
        let answer = server.send(&post("/api/send", body));
        check(&answer, statuses, timestamp);
        accepted += i64::from(answer.status == 200);
    }
    let database = stored(&mut server);
    assert_eq!(number(&database, "SELECT count(*) FROM facts.event"), accepted);
    let latest = number(&database, "SELECT max(created_at) FROM facts.event");
    let slack_ms = Duration::from_mins(1).as_millis() as i64;
    let allowed = now_s * 1_000 + slack_ms;
    assert!(latest <= allowed, "{latest} is in the future");
}

#[test]
fn a_bomb_costs_neither_memory_nor_anybody_elses_event() {
    const GROWTH_BYTES_MAX: u64 = 32 << 20;
    let mut server = started();
    let peak =
        |server: &Server| server.heartbeat()["memory"]["vm_hwm_bytes"].as_u64().expect("a peak");
    check(&server.send(&post("/api/send", message(r#""url":"/before""#))), &[200], "before");
    let before = peak(&server);

    let promised = post("/api/send", "{").header("content-length", "10000000000");
    check(&server.send(&promised), &[413], "ten gigabytes promised");

    let chunk = [b"100000\r\n".to_vec(), vec![b' '; 1 << 20], b"\r\n".to_vec()].concat();
    let endless = post("/api/send", chunk.repeat(8)).header("transfer-encoding", "chunked");
    check(&server.send(&endless), &[413], "chunks without an end");

    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&vec![b' '; 64 << 20]).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let bomb = post("/api/send", gzip.clone()).header("content-encoding", "gzip");
    check(&server.send(&bomb), &[400, 413, 415], "a small body that unpacks to 64 MB");

    let item = message(r#""url":"/in-a-large-batch""#);
    let items = vec![item.as_str(); limits::BODY_BYTES_MAX / item.len() + 1].join(",");
    check(&server.send(&post("/api/batch", format!("[{items}]"))), &[413], "a large batch");

    let token = server.login();
    let name = "x".repeat(limits::API_BODY_BYTES_MAX);
    let website =
        post("/api/websites", format!(r#"{{"name":"{name}","domain":"x"}}"#)).bearer(&token);
    check(&server.send(&website), &[413], "a website with an endless name");
    let bomb = post("/api/auth/login", gzip).header("content-encoding", "gzip");
    check(&server.send(&bomb), &[400, 413, 415], "a login that unpacks to 64 MB");

    check(&server.send(&post("/api/send", message(r#""url":"/after""#))), &[200], "after");
    let grown = peak(&server).saturating_sub(before);
    assert!(grown < GROWTH_BYTES_MAX, "the peak grew by {grown} bytes");
    let database = stored(&mut server);
    assert_eq!(number(&database, "SELECT count(*) FROM facts.event"), 2);
}
