//! Filters: what each operator finds, what has no value, and that nothing a client sends becomes SQL.

use super::{MARCH, SITE, TestApp, encoded, page};

/// One page row a visitor; the first has no country, and the paths need no order.
fn app() -> TestApp {
    let rows = [
        ("/", None, None, None),
        ("/blog", Some("US"), None, Some("5")),
        ("/blog/a/b", Some("US"), Some("google.com"), None),
        ("/blogx", Some("us"), Some("example.com"), None),
        ("/a_b", Some("DE"), Some("t.co"), Some("10")),
        ("/axb", Some("DE"), Some(""), Some("true")),
        ("/ÄRGER", Some(""), Some("news.google.com"), Some("five")),
        ("/50%", Some("FR"), None, Some("2026-03-01")),
    ];
    let seeds: Vec<_> = (1..)
        .zip(rows)
        .map(|(id, (path, country, referrer, tag))| {
            let mut seed = page("2026-03-02T10:00:00Z", id, id, path);
            if let Some(country) = country {
                seed = seed.with("country", country);
            }
            if let Some(referrer) = referrer {
                seed = seed.with("referrer_domain", referrer);
            }
            if let Some(tag) = tag {
                seed = seed.with("tag", tag);
            }
            seed
        })
        .collect();
    TestApp::new(&seeds)
}

/// The paths that a filter leaves, in the order of the alphabet.
async fn paths(app: &TestApp, query: &str) -> Vec<String> {
    let rows = app.pairs(&format!("{SITE}/metrics?{MARCH}&type=path&{query}"), "x", "y").await;
    rows.into_iter().map(|(path, _)| path).collect()
}

const ALL: [&str; 8] = ["/", "/50%", "/a_b", "/axb", "/blog", "/blog/a/b", "/blogx", "/ÄRGER"];

fn all_but(left_out: &[&str]) -> Vec<&'static str> {
    ALL.into_iter().filter(|path| !left_out.contains(path)).collect()
}

#[actix_web::test]
async fn each_operator_finds_what_it_says() {
    let app = app();
    let cases = [
        // Equality: exact, several values between commas, the empty value is no value.
        ("path=/blog", vec!["/blog"]),
        ("path=eq./blog,/", vec!["/", "/blog"]),
        ("path=neq./blog,/", all_but(&["/blog", "/"])),
        ("path=/BLOG", vec![]),
        ("country=US", vec!["/blog", "/blog/a/b"]),
        ("country=", vec!["/", "/ÄRGER"]),
        ("country=eq.(unknown)", vec!["/", "/ÄRGER"]),
        ("country=neq.", all_but(&["/", "/ÄRGER"])),
        ("country=neq.US", all_but(&["/blog", "/blog/a/b"])),
        ("country=eq.,DE", vec!["/", "/a_b", "/axb", "/ÄRGER"]),
        // Contains: any case, nothing is a wildcard, commas are letters.
        ("path=c.BLOG", vec!["/blog", "/blog/a/b", "/blogx"]),
        ("path=c.%C3%A4rger", vec!["/ÄRGER"]),
        ("path=c.a_b", vec!["/a_b"]),
        ("path=c.%25", vec!["/50%"]),
        ("path=c.a,b", vec![]),
        ("path=dnc.blog", all_but(&["/blog", "/blog/a/b", "/blogx"])),
        ("country=dnc.u", all_but(&["/blog", "/blog/a/b", "/blogx"])),
        ("country=c.", all_but(&["/"])),
        // Expressions.
        ("path=re.%5E/BLOG(/%7C$)", vec!["/blog", "/blog/a/b"]),
        ("path=nre.%5E/blog", all_but(&["/blog", "/blog/a/b", "/blogx"])),
        ("country=nre.u", all_but(&["/blog", "/blog/a/b", "/blogx"])),
        // Wildcards in paths.
        ("path=/blog/*", vec!["/blog/a/b"]),
        ("path=*/b", vec!["/blog/a/b"]),
        ("path=/blog*,/", vec!["/", "/blog", "/blog/a/b", "/blogx"]),
        ("path=neq./blog*", all_but(&["/blog", "/blog/a/b", "/blogx"])),
        ("path=/a_*", vec!["/a_b"]),
        ("path=*", ALL.to_vec()),
        // What looks like an operator and is none is a value.
        ("referrer=t.co", vec!["/a_b"]),
        ("path=gt.x", vec![]),
        ("path=s.example", vec![]),
        // With or without a value, as numbers, as times.
        ("country=s.", all_but(&["/", "/ÄRGER"])),
        ("country=ns.", vec!["/", "/ÄRGER"]),
        ("path=gt.5", vec![]),
        ("tag=gt.5", vec!["/a_b"]),
        ("tag=lte.5", vec!["/blog"]),
        ("tag=lt.5", vec![]),
        ("tag=gte.5", vec!["/a_b", "/blog"]),
        ("tag=t.", vec!["/axb"]),
        ("tag=bf.2026-03-02", vec!["/50%"]),
        ("tag=af.2026-03-01T00:00:00Z", vec![]),
    ];
    for (query, expected) in cases {
        assert_eq!(paths(&app, query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn referrer_filters_leave_the_own_host_out_and_know_direct_visits() {
    let app = app();
    let own = "/blogx";
    let cases = [
        ("referrer=google.com", vec!["/blog/a/b"]),
        ("referrer=neq.google.com", all_but(&["/blog/a/b", own])),
        ("referrer=c.google", vec!["/blog/a/b", "/ÄRGER"]),
        ("referrer=", vec!["/", "/50%", "/axb", "/blog"]),
        ("referrer=example.com", vec![]),
        ("domain1=google.com", vec!["/blog/a/b"]),
    ];
    for (query, expected) in cases {
        assert_eq!(paths(&app, query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn filters_combine_by_number_and_by_match() {
    let app = app();
    let cases = [
        ("path=c.blog&path1=dnc.x", vec!["/blog", "/blog/a/b"]),
        ("path=/&path=/blog", vec!["/blog"]),
        ("path=/&path1=/blog", vec![]),
        ("path=/&path1=/blog&match=any", vec!["/", "/blog"]),
        ("path=/&country=DE&match=any&eventType=1", vec!["/", "/a_b", "/axb"]),
        ("path=/&country=DE&match=any&eventType=3", vec![]),
        ("path=/&country=DE&match=all", vec![]),
        ("url=/blog", vec!["/blog"]),
        ("url2=c.blog&country=us", vec!["/blogx"]),
        ("host=example.com&path=/blog", vec!["/blog"]),
        ("host=neq.example.com", vec![]),
        // These count only with a digit, and unknown names not at all.
        ("entry=/&exit=/&domain=x&screen=x&bogus=x&bogus1=x", ALL.to_vec()),
        ("entry1=/blog", vec!["/blog"]),
        ("screen1=x", vec![]),
        ("eventType1=9", ALL.to_vec()),
    ];
    for (query, expected) in cases {
        assert_eq!(paths(&app, query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn filters_that_make_no_sense_are_bad_questions() {
    let app = app();
    let long = format!("path={}", "a".repeat(5_000));
    let many = format!("path={}", ",".repeat(300));
    let often = (0..100).map(|number| format!("path{number}=/")).collect::<Vec<_>>().join("&");
    let cases = [
        "match=some",
        "match=",
        "eventType=x",
        "eventType=0",
        "eventType=-1",
        "eventType=",
        "path=re.[",
        "path=nre.(",
        "path=re.a%7B1,999999%7D",
        "country=re.%5C",
        "segment=not-a-uuid",
        "cohort=x",
        "segment=99999999-9999-4999-8999-999999999999",
        "cohort=99999999-9999-4999-8999-999999999999",
        &long,
        &many,
        &often,
    ];
    for query in cases {
        for route in ["stats", "pageviews", "metrics", "metrics/expanded", "events/series"] {
            let path = format!("{SITE}/{route}?{MARCH}&type=path&timezone=UTC&{query}");
            assert_eq!(app.get(&path).await.0, 400, "{path}");
        }
    }
}

#[actix_web::test]
async fn nothing_a_client_sends_becomes_sql() {
    let app = app();
    let values = [
        "'; DROP TABLE facts.event; --",
        "') OR true --",
        "\" OR 1=1 --",
        "$f0",
        "$website_key",
        "/*:filters*/",
        "/*:column*/os",
        "\\",
        "'",
        "\0",
        "*\0*",
        "*'*",
        "*\\*",
        "*[*",
        "*\n*",
        "%",
        "_",
        "a\u{301}",
        "?",
        ":x",
        "{}",
    ];
    let names = [
        "path",
        "country",
        "referrer",
        "event",
        "utmSource",
        "distinctId",
        "title",
        "search",
        "path1",
        "timezone",
        "unit",
        "type",
        "compare",
        "limit",
        "startAt",
        "path) OR (1=1",
        "f0",
        "website_key",
        "$f0",
    ];
    let operators = ["eq.", "neq.", "c.", "dnc.", "re.", "nre."];
    for value in values {
        let by_name = names.map(|name| (name, value.to_owned()));
        let by_operator = operators.map(|operator| ("path", format!("{operator}{value}")));
        for (name, value) in by_name.into_iter().chain(by_operator) {
            let (name, value) = (encoded(name), encoded(&value));
            let path = format!("{SITE}/metrics/expanded?{MARCH}&type=path&{name}={value}");
            let (status, answer) = app.get(&path).await;
            assert!(status == 200 || status == 400, "{path}: {status} {answer}");
        }
    }
    assert_eq!(paths(&app, "").await, ALL);
    assert_eq!(
        paths(&app, &format!("path={}", encoded("' OR '1'='1"))).await,
        Vec::<String>::new()
    );
}

#[actix_web::test]
async fn many_stars_take_no_longer_than_one() {
    let long_path: &'static str = Box::leak(format!("/{}", "a".repeat(490)).into_boxed_str());
    let seeds: Vec<_> =
        (1..300).map(|id| page("2026-03-02T10:00:00Z", id, id, long_path)).collect();
    let app = TestApp::new(&seeds);
    let stars = format!("path={}b", "*a".repeat(100));
    let began = std::time::Instant::now();
    assert_eq!(paths(&app, &stars).await, Vec::<String>::new());
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
}
