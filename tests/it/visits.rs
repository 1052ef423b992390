//! Short addresses of a real server: where they lead, what is counted and what is not, and that a visit survives what
//! an event survives.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::process::{AGENT, Server};

const ALL: &str = "startAt=0&endAt=4102444800000";
const TARGET: &str = "https://target.example/x?y=1";

/// A server with the link and the pixel `one`; their ids.
fn start(env: &[(&str, &str)], base: &str) -> (Server, String, String) {
    let builder = env.iter().fold(Server::builder(), |all, (name, value)| all.env(name, *value));
    let mut server = builder.start();
    let link = create(&mut server, &format!("{base}/api/links"), &json!({ "url": TARGET }));
    let pixel = create(&mut server, &format!("{base}/api/pixels"), &json!({}));
    (server, link, pixel)
}

fn create(server: &mut Server, path: &str, fields: &Value) -> String {
    let token = if path.starts_with("/api") { server.login() } else { login_below(server, path) };
    let mut body = json!({ "name": "n", "slug": "one" });
    body.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
    let answer = server.send(&Request::post(path, body.to_string()).json().bearer(&token));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["id"].as_str().expect("an id").to_owned()
}

/// The token of `admin` where the paths have a prefix.
fn login_below(server: &Server, path: &str) -> String {
    let base = path.split("/api").next().unwrap_or_default();
    let body = json!({ "username": "admin", "password": crate::process::PASSWORD }).to_string();
    let answer = server.send(&Request::post(&format!("{base}/api/auth/login"), body).json());
    answer.json()["token"].as_str().expect("a token").to_owned()
}

fn visit(path: &str) -> Request {
    Request::get(path).header("user-agent", AGENT)
}

fn location(answer: &Answer) -> (u16, Option<&str>) {
    (answer.status, answer.header("location"))
}

fn pageviews(server: &mut Server, id: &str) -> i64 {
    server.wait_until_committed();
    let stats = server.ask(&format!("/api/websites/{id}/stats?{ALL}"));
    stats["pageviews"].as_i64().expect("a number")
}

/// Names and visitors of a metric.
fn metric(server: &mut Server, id: &str, name: &str) -> Vec<(String, i64)> {
    let rows = server.ask(&format!("/api/websites/{id}/metrics?type={name}&{ALL}"));
    let pair = |row: &Value| Some((row["x"].as_str()?.to_owned(), row["y"].as_i64()?));
    rows.as_array().expect("rows").iter().filter_map(pair).collect()
}

#[test]
fn a_link_leads_on_and_a_pixel_is_a_picture_and_both_are_counted() {
    let (mut server, link, pixel) = start(&[], "");
    let answer = server.send(&visit("/q/one").header("referer", "https://mail.example/inbox"));
    assert_eq!(location(&answer), (307, Some(TARGET)));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(answer.body.is_empty());
    let tagged = visit("/q/one?utm_source=letter&url=https://evil.example");
    assert_eq!(location(&server.send(&tagged)), (307, Some(TARGET)), "nothing of it goes along");

    let answer = server.send(&visit("/p/one").header("host", "stats.example:8080"));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/gif")));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!((answer.body.len(), &answer.body[..6]), (43, &b"GIF89a"[..]));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));

    assert_eq!((pageviews(&mut server, &link), pageviews(&mut server, &pixel)), (2, 1));
    let one = |text: &str| vec![(text.to_owned(), 1)];
    assert_eq!(metric(&mut server, &link, "path"), one("/q/one"));
    assert_eq!(metric(&mut server, &link, "referrer"), one("mail.example"));
    assert_eq!(metric(&mut server, &link, "utmSource"), one("letter"));
    assert_eq!(metric(&mut server, &link, "hostname"), one("127.0.0.1"));
    assert_eq!(metric(&mut server, &pixel, "hostname"), one("stats.example"));
    assert_eq!(metric(&mut server, &pixel, "path"), one("/p/one"));
    let events = server.ask(&format!("/api/websites/{pixel}/events?{ALL}"));
    assert_eq!(events["data"][0]["eventType"], 4, "{events}");

    for (base, id, other) in [("links", &link, &pixel), ("pixels", &pixel, &link)] {
        let charts = server.ask(&format!("/api/{base}/charts?ids={id},{other}"));
        assert_eq!(charts["data"][id]["total"], 1, "{charts}");
        assert!(charts["data"].get(other).is_none(), "another kind: {charts}");
    }
}

#[test]
fn robots_heads_and_fetches_in_advance_are_led_on_and_not_counted() {
    let (mut server, link, pixel) = start(&[("SUMIMI_IGNORE_IP", "203.0.113.9")], "");
    let robot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    for (path, status) in [("/q/one", 307), ("/p/one", 200)] {
        let head = Request::new("HEAD", path).header("user-agent", AGENT);
        let blocked = visit(path).header("x-forwarded-for", "203.0.113.9");
        let ahead = visit(path).header("sec-purpose", "prefetch;prerender");
        for request in [Request::get(path).header("user-agent", robot), head, blocked, ahead] {
            let answer = server.send(&request);
            assert_eq!(answer.status, status, "{} {path}", request.method);
            assert_eq!(answer.header("location").is_some(), status == 307);
        }
    }
    assert_eq!((pageviews(&mut server, &link), pageviews(&mut server, &pixel)), (0, 0));
    // What is odd about a visit does not unmake it.
    for odd in [
        visit("/q/one").header("referer", "http://[bad"),
        visit("/q/one").header("referer", b"\xff\xfe"),
        visit("/q/one").header("host", "a:99999"),
        visit("/q/%6Fne?%ff=%00&&"),
        visit("/q/one").header("x-umami-cache", "no token"),
    ] {
        assert_eq!(location(&server.send(&odd)), (307, Some(TARGET)), "{:?}", odd.headers);
    }
    assert_eq!(pageviews(&mut server, &link), 5);
}

#[test]
fn what_is_no_short_address_is_not_found() {
    let (mut server, link, _) = start(&[], "");
    let unknown = ["/q/two", "/p/two", "/q/ONE", "/q/%ff", "/q/%00", "/q", "/q/", "/q/one/two"];
    for path in unknown {
        let answer = server.send(&visit(path));
        assert!(answer.status == 404 || answer.status == 308, "{path} {}", answer.status);
        if answer.status == 404 {
            assert_eq!(answer.json()["error"]["code"], "not-found", "{path}");
        }
    }
    assert_eq!(location(&server.send(&visit("/q/one/"))), (308, Some("/q/one")));
    for method in ["POST", "PUT", "DELETE"] {
        assert_eq!(server.send(&Request::new(method, "/q/one").body("")).status, 405, "{method}");
    }
    let token = server.login();
    let path = format!("/api/links/{link}");
    let moved = json!({ "slug": "Ä 1".replace(' ', "-"), "url": "https://ä.example/ü?q=é" });
    let answer = server.send(&Request::post(&path, moved.to_string()).json().bearer(&token));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(server.send(&visit("/q/one")).status, 404, "at once");
    let answer = server.send(&visit("/q/%C3%84-1"));
    let target = "https://xn--4ca.example/%C3%BC?q=%C3%A9";
    assert_eq!(location(&answer), (307, Some(target)));
    assert_eq!(pageviews(&mut server, &link), 1);
    assert_eq!(metric(&mut server, &link, "path"), [("/q/Ä-1".to_owned(), 1)]);
    assert_eq!(server.send(&Request::new("DELETE", &path).bearer(&token)).status, 200);
    assert_eq!(server.send(&visit("/q/%C3%84-1")).status, 404);
}

#[test]
fn a_visit_that_was_answered_survives_a_kill() {
    let (mut server, link, pixel) = start(&[("SUMIMI_DURABILITY", "power")], "");
    let mut client = server.client();
    for _ in 0..50 {
        for (path, status) in [("/q/one", 307), ("/p/one", 200)] {
            assert_eq!(client.send(&visit(path)).expect("an answer").status, status);
        }
    }
    server.kill9();
    server.restart();
    assert_eq!((pageviews(&mut server, &link), pageviews(&mut server, &pixel)), (50, 50));
    assert_eq!(server.send(&visit("/q/one")).status, 307, "known after the restart");
}

#[test]
fn senders_may_name_a_link_or_pixel_themselves() {
    let (mut server, link, pixel) = start(&[], "");
    for (field, id, status) in [
        ("link", &link, 200),
        ("pixel", &pixel, 200),
        ("link", &pixel, 400),
        ("pixel", &link, 400),
        ("website", &link, 400),
    ] {
        let answer = server.send(&Request::event(&json!({ field: id, "url": "/x", "name": "n" })));
        assert_eq!(answer.status, status, "{field} {}", answer.text());
    }
    assert_eq!((pageviews(&mut server, &link), pageviews(&mut server, &pixel)), (1, 1));
    let events = server.ask(&format!("/api/websites/{link}/events?{ALL}"));
    assert_eq!(events["data"][0]["eventType"], 3, "{events}");
}

#[test]
fn above_the_rate_a_link_still_leads_on_and_a_pixel_says_when_to_come_back() {
    let (mut server, link, _) = start(&[("SUMIMI_RATE", "10")], "");
    let mut client = server.client();
    let mut answer = |path: &str| client.send(&visit(path)).expect("an answer");
    assert!((0..30).all(|_| answer("/q/one").status == 307));
    let refused = (0..30).map(|_| answer("/p/one")).find(|answer| answer.status == 503);
    assert!(refused.expect("a refusal").header("retry-after").is_some());
    assert!(server.heartbeat()["gate"]["refused"]["rate"].as_i64().expect("a number") > 1);
    let counted = pageviews(&mut server, &link);
    assert!((1..30).contains(&counted), "{counted}");
}

#[test]
fn below_a_prefix_paths_are_stored_without_it() {
    let (server, link, _) = start(&[("SUMIMI_BASE_PATH", "/stats")], "/stats");
    assert_eq!(location(&server.send(&visit("/stats/q/one"))), (307, Some(TARGET)));
    assert_eq!(server.send(&visit("/q/one")).status, 404);
    let token = login_below(&server, "/stats/api");
    let path = format!("/stats/api/websites/{link}/metrics?type=path&{ALL}");
    // The heartbeat is below the prefix as well, so it is waited for by asking.
    let rows = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let rows = server.send(&Request::get(&path).bearer(&token)).json();
        rows.as_array().is_some_and(|rows| !rows.is_empty()).then_some(rows)
    });
    assert_eq!(rows.expect("it is stored")[0]["x"], "/q/one");
}
