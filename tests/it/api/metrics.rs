//! `GET …/metrics` and `…/metrics/expanded`: every kind of list on a few golden rows.

use serde_json::json;

use super::{MARCH, SITE, Seed, TestApp, event, page};

/// Three visits: one of three pages from Google, one from the site itself, one without anything known.
fn golden() -> Vec<Seed> {
    let from_google = |seed: Seed| {
        seed.with("browser", "firefox")
            .with("os", "Linux")
            .with("device", "desktop")
            .with("screen", "1920x1080")
            .with("language", "en-US")
            .with("country", "FR")
            .with("region", "FR-IDF")
            .with("city", "Paris")
            .with("distinct_id", "user-1")
            .with("utm_source", "google")
            .with("channel", "organicSearch")
    };
    let from_texas = |seed: Seed| {
        seed.with("browser", "chrome")
            .with("language", "EN-gb")
            .with("country", "US")
            .with("region", "US-TX")
            .with("city", "Paris")
            .with("channel", "referral")
    };
    let title = |seed: Seed| seed.with("page_title", "Home");
    vec![
        from_google(title(page("2026-03-02T10:00:00Z", 1, 1, "/")))
            .with("referrer_domain", "google.com")
            .with("url_query", "q=1"),
        from_google(page("2026-03-02T10:00:10Z", 1, 1, "/docs")).with("tag", "A"),
        from_google(page("2026-03-02T10:00:30Z", 1, 1, "/")).with("referrer_domain", "example.com"),
        from_google(event("2026-03-02T10:01:00Z", 1, 1, "click")),
        from_google(event("2026-03-02T10:02:00Z", 1, 1, "click")),
        from_texas(page("2026-03-02T11:00:00Z", 2, 2, "/docs"))
            .with("hostname", "www.example.com")
            .with("referrer_domain", "example.com"),
        from_texas(event("2026-03-02T11:01:00Z", 2, 2, "signup")),
        page("2026-03-02T12:00:00Z", 3, 3, "/docs").with("referrer_domain", "t.co"),
        page("2026-03-02T12:00:00Z", 4, 4, "/perf").kind(5),
    ]
}

#[actix_web::test]
async fn each_type_lists_its_values_by_distinct_sessions() {
    let app = TestApp::new(&golden());
    let cases: [(&str, &[(&str, i64)]); 20] = [
        ("path", &[("/docs", 3), ("/", 1)]),
        ("title", &[("Home", 1)]),
        ("query", &[("q=1", 1)]),
        ("hostname", &[("example.com", 2), ("www.example.com", 1)]),
        ("tag", &[("A", 1)]),
        ("referrer", &[("google.com", 1), ("t.co", 1)]),
        ("domain", &[("google.com", 1), ("t.co", 1)]),
        ("utmSource", &[("google", 1)]),
        ("utmMedium", &[]),
        ("browser", &[("chrome", 1), ("firefox", 1)]),
        ("os", &[("Linux", 1)]),
        ("device", &[("desktop", 1)]),
        ("screen", &[("1920x1080", 1)]),
        ("language", &[("en", 2)]),
        ("country", &[("FR", 1), ("US", 1)]),
        ("distinctId", &[("user-1", 1)]),
        ("channel", &[("organicSearch", 1), ("referral", 1)]),
        ("entry", &[("/docs", 2), ("/", 1)]),
        ("exit", &[("/docs", 2), ("/", 1)]),
        ("event", &[("click", 2), ("signup", 1)]),
    ];
    for (metric, expected) in cases {
        let got = app.pairs(&format!("{SITE}/metrics?{MARCH}&type={metric}"), "x", "y").await;
        let got: Vec<_> = got.iter().map(|(value, figure)| (value.as_str(), *figure)).collect();
        assert_eq!(got, expected, "{metric}");
    }
}

#[actix_web::test]
async fn two_towns_of_one_name_are_two_rows_with_their_countries() {
    let app = TestApp::new(&golden());
    let expected = json!([
        { "x": "Paris", "y": 1, "country": "FR" },
        { "x": "Paris", "y": 1, "country": "US" },
    ]);
    assert_eq!(app.answer(&format!("{SITE}/metrics?{MARCH}&type=city")).await, expected);
    let regions = app.answer(&format!("{SITE}/metrics?{MARCH}&type=region&limit=1")).await;
    assert_eq!(regions, json!([{ "x": "FR-IDF", "y": 1, "country": "FR" }]));
}

#[actix_web::test]
async fn the_expanded_form_gives_five_figures_per_value_within_each_visit() {
    let app = TestApp::new(&golden());
    let row = |name: &str, figures: [i64; 5]| {
        let [pageviews, visitors, visits, bounces, totaltime] = figures;
        json!({
            "name": name, "pageviews": pageviews, "visitors": visitors, "visits": visits,
            "bounces": bounces, "totaltime": totaltime,
        })
    };
    let cases = [
        ("path", json!([row("/docs", [3, 3, 3, 3, 0]), row("/", [2, 1, 1, 0, 30])])),
        ("entry", json!([row("/docs", [2, 2, 2, 2, 0]), row("/", [1, 1, 1, 1, 0])])),
        ("exit", json!([row("/docs", [2, 2, 2, 2, 0]), row("/", [1, 1, 1, 1, 0])])),
        ("event", json!([row("click", [2, 1, 1, 0, 60]), row("signup", [1, 1, 1, 1, 0])])),
        (
            "domain",
            json!([row("google.com", [1, 1, 1, 1, 0]), row("twitter.com", [1, 1, 1, 1, 0])]),
        ),
        ("language", json!([row("en", [4, 2, 2, 1, 30])])),
    ];
    for (metric, expected) in cases {
        let path = format!("{SITE}/metrics/expanded?{MARCH}&type={metric}");
        assert_eq!(app.answer(&path).await, expected, "{metric}");
    }
    let channels =
        app.answer(&format!("{SITE}/metrics/expanded?{MARCH}&type=channel&limit=1")).await;
    assert_eq!(channels.as_array().map(Vec::len), Some(2));
    let cities = app.answer(&format!("{SITE}/metrics/expanded?{MARCH}&type=city&limit=1")).await;
    assert_eq!(cities[0]["country"], json!("FR"));
}

#[actix_web::test]
async fn well_known_domains_are_told_by_whole_labels() {
    let hosts = [
        "www.google.co.uk",
        "m.facebook.com",
        "netflix.com",
        "x.com",
        "mobile.x.com",
        "notreddit.com",
        "old.reddit.com",
        "ig.com",
        "github.io",
        "search.brave.com",
    ];
    let seeds: Vec<_> = (1..)
        .zip(hosts)
        .map(|(id, host)| page("2026-03-02T10:00:00Z", id, id, "/").with("referrer_domain", host))
        .collect();
    let app = TestApp::new(&seeds);
    let path = format!("{SITE}/metrics/expanded?{MARCH}&type=domain");
    let expected = [
        ("Other", 2),
        ("twitter.com", 2),
        ("brave.com", 1),
        ("facebook.com", 1),
        ("github.com", 1),
        ("google.com", 1),
        ("instagram.com", 1),
        ("reddit.com", 1),
    ];
    let got = app.pairs(&path, "name", "visitors").await;
    let got: Vec<_> = got.iter().map(|(name, visitors)| (name.as_str(), *visitors)).collect();
    assert_eq!(got, expected);
}

#[actix_web::test]
async fn filters_choose_the_visits_whose_first_page_is_listed() {
    let app = TestApp::new(&golden());
    let entries = |query: &str| {
        let path = format!("{SITE}/metrics?{MARCH}&type=entry&{query}");
        let app = &app;
        async move { app.pairs(&path, "x", "y").await }
    };
    let both = [("/docs".to_owned(), 2), ("/".to_owned(), 1)];
    assert_eq!(entries("search=DOC").await, both);
    assert_eq!(entries("path=/docs").await, both);
    assert_eq!(entries("tag=A").await, [("/".to_owned(), 1)]);
}

#[actix_web::test]
async fn a_search_finds_before_the_limit_cuts_and_no_character_is_special() {
    let paths = ["/a_b", "/axb", "/100%", "/100x", "/Ärger", "/z"];
    let seeds: Vec<_> =
        (1..).zip(paths).map(|(id, path)| page("2026-03-02T10:00:00Z", id, id, path)).collect();
    let app = TestApp::new(&seeds);
    let cases: [(&str, &[&str]); 7] = [
        ("search=a_b", &["/a_b"]),
        ("search=%25", &["/100%"]),
        ("search=%C3%A4RGER", &["/Ärger"]),
        ("search=z&limit=1", &["/z"]),
        ("limit=2&offset=1", &["/100x", "/a_b"]),
        ("limit=0", &[]),
        ("limit=", &[]),
    ];
    for (query, expected) in cases {
        let got = app.pairs(&format!("{SITE}/metrics?{MARCH}&type=path&{query}"), "x", "y").await;
        assert_eq!(
            got.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(),
            expected,
            "{query}"
        );
    }
}

#[actix_web::test]
async fn a_missing_or_unknown_type_and_a_bad_page_are_400() {
    let app = TestApp::new(&[]);
    for query in [
        "",
        "type=",
        "type=bogus",
        "type=url_path",
        "type=path&limit=-1",
        "type=path&limit=x",
        "type=path&offset=-1",
        "type=event_name%20--",
    ] {
        for route in ["metrics", "metrics/expanded"] {
            let (status, _) = app.get(&format!("{SITE}/{route}?{MARCH}&{query}")).await;
            assert_eq!(status, 400, "{route} {query}");
        }
    }
    assert_eq!(app.get(&format!("{SITE}/metrics?{MARCH}&type=path&limit=1000000000")).await.0, 200);
}
