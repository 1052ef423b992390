//! `GET …/values` and `GET /api/realtime/…`: what a filter box proposes, and the last half hour.

use serde_json::{Value, json};

use super::{MARCH, RESET_SITE, SITE, TestApp, event, page};

const REALTIME: &str = "/api/realtime/11111111-1111-4111-8111-111111111111";

/// Values and counts, a missing value as `null`.
async fn values(app: &TestApp, query: &str) -> Vec<(Value, i64)> {
    let answer = app.answer(&format!("{SITE}/values?{MARCH}&{query}")).await;
    let rows = answer.as_array().expect("rows").iter();
    rows.map(|row| (row["value"].clone(), row["count"].as_i64().expect("a number"))).collect()
}

#[actix_web::test]
async fn values_count_events_of_every_type_and_those_without_a_value() {
    let app = TestApp::new(&[
        page("2026-03-03T10:00:00Z", 1, 1, "/b").with("country", "DE"),
        page("2026-03-03T10:01:00Z", 1, 1, "/b").with("country", ""),
        event("2026-03-03T10:02:00Z", 1, 1, "click"),
        page("2026-03-03T10:03:00Z", 2, 2, "/a").kind(5),
        page("2026-04-03T10:03:00Z", 2, 2, "/too-late"),
    ]);
    let expected = [(json!("/b"), 2), (json!("/"), 1), (json!("/a"), 1)];
    assert_eq!(values(&app, "type=path").await, expected);
    let expected = [(json!(null), 2), (json!(""), 1), (json!("DE"), 1)];
    assert_eq!(values(&app, "type=country").await, expected);
    assert_eq!(values(&app, "type=event").await, [(json!(null), 3), (json!("click"), 1)]);
}

#[actix_web::test]
async fn a_search_is_a_part_of_a_value_or_several_whole_ones() {
    let paths = ["/docs", "/Docs/api", "/100%", "/1000", "/x"];
    let pages: Vec<_> = paths.iter().map(|path| page("2026-03-03T10:00:00Z", 1, 1, path)).collect();
    let app = TestApp::new(&pages);
    let cases: [(&str, &[&str]); 6] = [
        ("dOCS", &["/Docs/api", "/docs"]),
        ("%25", &["/100%"]),
        ("/docs,/x", &["/docs", "/x"]),
        ("doc,x", &[]),
        ("a,b,c,d,/docs,/x", &["/docs"]),
        ("", &["/100%", "/1000", "/Docs/api", "/docs", "/x"]),
    ];
    for (search, expected) in cases {
        let found = values(&app, &format!("type=path&search={search}")).await;
        let found: Vec<&str> = found.iter().filter_map(|(value, _)| value.as_str()).collect();
        assert_eq!(found, expected, "{search}");
    }
}

#[actix_web::test]
async fn only_the_ten_most_frequent_values_come_and_own_hosts_are_no_referrers() {
    let names: Vec<&'static str> = (0..12).map(|n| &*format!("/{n:02}").leak()).collect();
    let mut pages = Vec::new();
    for (number, name) in names.iter().enumerate() {
        for _ in 0..=number {
            pages.push(page("2026-03-03T10:00:00Z", 1, 1, name));
        }
    }
    pages.push(page("2026-03-03T10:00:00Z", 1, 1, "/").with("referrer_domain", "example.com"));
    pages.push(page("2026-03-03T10:00:00Z", 1, 1, "/").with("referrer_domain", "other.com"));
    let app = TestApp::new(&pages);
    let found = values(&app, "type=path").await;
    assert_eq!((found.len(), &found[0]), (10, &(json!("/11"), 12)));
    assert_eq!(values(&app, "type=referrer").await, [(json!("other.com"), 1)]);
}

#[actix_web::test]
async fn what_cannot_be_proposed_is_a_bad_request() {
    let app = TestApp::new(&[]);
    for query in ["type=path", "startAt=1&type=path", MARCH, &format!("{MARCH}&type=channel")] {
        assert_eq!(
            app.get_without_token(&format!("{SITE}/values?{query}")).await.0,
            400,
            "{query}"
        );
    }
    let good = format!("{SITE}/values?{MARCH}&type=path");
    assert_eq!(app.get_without_token(&good).await.0, 401);
    assert_eq!(app.answer(&good).await, json!([]));
}

fn ago(seconds: i64) -> String {
    (jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds)).to_string()
}

#[actix_web::test]
async fn realtime_shows_the_last_half_hour_newest_first_with_each_session_once() {
    let first = ago(600);
    let app = TestApp::new(&[
        page(&ago(40 * 60), 9, 9, "/long-ago").with("country", "FR"),
        page(&first, 1, 1, "/a").with("country", "DE").with("referrer_domain", "t.co"),
        event(&ago(300), 1, 1, "click").with("country", "DE"),
        page(&ago(1), 2, 2, "/a").with("country", "DE"),
        page(&ago(1), 2, 2, "/other-site").of_website(2),
    ]);
    let answer = app.answer(REALTIME).await;
    let kinds: Vec<&str> = answer["events"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|entry| entry["__type"].as_str().expect("a type"))
        .collect();
    assert_eq!(kinds, ["pageview", "session", "event", "pageview", "session"]);
    assert_eq!(answer["countries"], json!({ "DE": 2 }));
    assert_eq!(answer["urls"], json!({ "/a": 2, "/": 1 }));
    assert_eq!(answer["referrers"], json!({ "t.co": 1 }));
    let totals = json!({ "views": 2, "visitors": 2, "events": 1, "countries": 1 });
    assert_eq!(answer["totals"], totals);
    let views = answer["series"]["views"].as_array().expect("points");
    let minute = format!("{}:00Z", &first[..16]);
    assert_eq!(views[0], json!({ "x": minute, "t": minute, "y": 1 }));
    let filtered = app.answer(&format!("{REALTIME}?event=click")).await;
    assert_eq!(
        (&filtered["totals"]["views"], &filtered["totals"]["events"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(app.get_without_token(REALTIME).await.0, 401);
}

#[actix_web::test]
async fn a_chart_has_every_half_day_of_local_time_and_the_visitors_of_them_all() {
    let app = TestApp::new(&[
        page("2026-03-02T18:14:59Z", 1, 1, "/"), // 23:59:59 on the 2nd in Kathmandu
        page("2026-03-02T18:15:00Z", 1, 1, "/"), // midnight
        page("2026-03-03T07:00:00Z", 1, 1, "/"), // 12:45
        page("2026-03-03T07:00:00Z", 2, 2, "/"),
        event("2026-03-03T07:00:00Z", 3, 3, "click"),
        page("2026-03-02T10:00:00Z", 4, 4, "/").of_website(2),
        page("2026-03-01T10:00:00Z", 5, 5, "/before-the-reset").of_website(2),
    ]);
    let id = |site: &str| site.rsplit('/').next().expect("an id").to_owned();
    let ids = format!("{},{},{}", id(SITE), id(RESET_SITE), "99999999-9999-4999-8999-999999999999");
    let range = "startDate=2026-03-02&endDate=2026-03-03";
    let range = format!("{range}&startAt=1772388900000&endAt=1772561699999"); // 2 and 3 March there
    let path = format!("/api/websites/charts?ids={ids}&{range}&timezone=Asia/Kathmandu");
    let expected = json!({ "data": {
        id(SITE): { "values": [0, 1, 1, 2], "total": 2 },
        id(RESET_SITE): { "values": [0, 1, 0, 0], "total": 1 },
    } });
    assert_eq!(app.answer(&path).await, expected);
    let week = app.answer(&format!("/api/websites/charts?ids={}", id(SITE))).await;
    assert_eq!(week["data"][id(SITE)]["values"].as_array().map(Vec::len), Some(14));
    assert_eq!(app.get_without_token(&path).await.0, 401);
    let many = vec![id(SITE); 21].join(",");
    for query in
        ["", "ids=", "ids=x", &format!("ids={many}"), &format!("ids={ids}&startAt=0&endAt=9e12")]
    {
        assert_eq!(app.get(&format!("/api/websites/charts?{query}")).await.0, 400, "{query}");
    }
}
