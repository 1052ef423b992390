//! The whole way of a visit: a page of a site in a real browser, the tracker from the real server, and the figures the
//! server answers afterwards. What people see must be exactly what they did, two seconds after they did it.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value, json};

use crate::chromium::{self, Browser, LANGUAGE, SCREEN};
use crate::process::{Server, WEBSITE};
use crate::recorder::{Recorder, page};

/// An event is in the figures after this time.
const SEEN_SECONDS_MAX: u64 = 2;
/// How often to ask meanwhile.
const ASK_AGAIN_MS: u64 = 50;

const METRICS: [&str; 8] =
    ["path", "event", "referrer", "browser", "os", "device", "screen", "language"];

#[tokio::test]
async fn a_visit_in_a_browser_is_in_the_figures_exactly() {
    if !chromium::is_enabled() {
        return;
    }
    let mut server = Server::builder().start();
    server.create_website();
    let link = "<a href='http://site.test/' referrerpolicy=unsafe-url>to the site</a>";
    let body = "<button data-umami-event=order data-umami-event-size=L>order</button>";
    let site = Recorder::start(&[
        ("/story", link.to_owned()),
        ("/post", link.to_owned()),
        ("/", page("Home", "", body)),
    ]);
    let browser = Browser::start(&[
        ("site.test", site.address()),
        ("news.test", site.address()),
        ("blog.test", site.address()),
        ("stats.test", server.address()),
    ])
    .await;

    visit(&browser).await;
    let language = LANGUAGE.split('-').next().unwrap_or_default();
    let expected = json!({
        "pageviews": 4, "visitors": 1, "visits": 1, "bounces": 0,
        "path": { "/": 1, "/products": 1, "/cart": 1 },
        "event": { "order": 1 },
        "referrer": { "news.test": 1, "blog.test": 1 },
        "browser": { "chrome": 1 },
        "os": { "Windows 10": 1 },
        "device": { "laptop": 1 },
        "screen": { SCREEN: 1 },
        "language": { language: 1 },
    });
    let closed_at = Instant::now();
    let mut seen = figures(&mut server);
    while seen != expected && closed_at.elapsed() < Duration::from_secs(SEEN_SECONDS_MAX) {
        tokio::time::sleep(Duration::from_millis(ASK_AGAIN_MS)).await;
        seen = figures(&mut server);
    }
    assert_eq!(seen, expected, "\n{}", server.log());
}

/// Comes from one site, looks at three pages, orders, comes again from another site, and closes the window.
async fn visit(browser: &Browser) {
    browser.goto("http://news.test/story").await;
    browser.click("a").await;
    for path in ["/products", "/cart?item=7"] {
        let step = format!("history.pushState({{}}, '', '{path}'); setTimeout(done, 400)");
        browser.run_until_done(&step).await;
    }
    browser.click("button").await;
    browser.goto("http://blog.test/post").await;
    browser.click("a").await;
    browser.page.close_window().await.expect("a window");
}

/// What the server says of the last hour: the stats but for the time spent, and each metric as value → figure.
fn figures(server: &mut Server) -> Value {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let now = now.as_millis();
    let range = format!("startAt={}&endAt={}", now - 3_600_000, now + 60_000);
    let stats = server.ask(&format!("/api/websites/{WEBSITE}/stats?{range}"));
    let mut figures = Map::new();
    for name in ["pageviews", "visitors", "visits", "bounces"] {
        figures.insert(name.to_owned(), stats[name].clone());
    }
    for name in METRICS {
        let rows = server.ask(&format!("/api/websites/{WEBSITE}/metrics?type={name}&{range}"));
        let rows = rows.as_array().expect("rows").iter().map(|row| {
            let value = row["x"].as_str().unwrap_or("null").to_owned();
            (value, row["y"].clone())
        });
        figures.insert(name.to_owned(), Value::Object(rows.collect()));
    }
    Value::Object(figures)
}
