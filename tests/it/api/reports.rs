//! Reports in both shapes, over a few rows whose answers were worked out by hand.

use serde_json::{Value, json};

use super::{MARCH, SITE, Seed, TestApp, encoded, event, page};

/// The older shape of a question about March.
async fn post(app: &TestApp, kind: &str, filters: Value, parameters: Value) -> Value {
    let mut body = json!({
        "websiteId": SITE.rsplit('/').next(), "type": kind, "filters": filters, "parameters": parameters,
    });
    body["parameters"]["startDate"] = json!("2026-03-01T00:00:00.000Z");
    body["parameters"]["endDate"] = json!("2026-03-31T23:59:59.999Z");
    let (status, answer) = app.post(&format!("/api/reports/{kind}"), &body).await;
    assert_eq!(status, 200, "{kind} {body}: {answer}");
    answer
}

fn steps(names: &[&str]) -> Value {
    let step = |name: &&str| {
        let kind = if name.starts_with('/') || name.starts_with('*') { "path" } else { "event" };
        json!({ "type": kind, "value": name })
    };
    names.iter().map(step).collect()
}

/// Visitors of each step.
async fn funnel(app: &TestApp, names: &[&str], window: f64) -> Vec<i64> {
    let parameters = json!({ "window": window, "steps": steps(names) });
    let answer = post(app, "funnel", json!({}), parameters).await;
    let query = format!("window={window}&steps={}", encoded(&steps(names).to_string()));
    assert_eq!(app.answer(&format!("{SITE}/funnels/stats?{MARCH}&{query}")).await, answer);
    let rows = answer.as_array().expect("steps").iter();
    rows.map(|step| step["visitors"].as_i64().expect("a number")).collect()
}

fn shop() -> Vec<Seed> {
    vec![
        // 1 goes the whole way; 2 takes too long between b and c; 3 goes backwards; 4 has only c.
        page("2026-03-02T10:00:00Z", 1, 1, "/a"),
        page("2026-03-02T10:05:00Z", 1, 1, "/b"),
        page("2026-03-02T10:10:00Z", 1, 1, "/c"),
        event("2026-03-02T10:10:00Z", 1, 1, "order"),
        page("2026-03-02T10:00:00Z", 2, 2, "/a"),
        page("2026-03-02T10:05:00Z", 2, 2, "/b"),
        page("2026-03-02T10:15:01Z", 2, 2, "/c"),
        page("2026-03-02T10:00:00Z", 3, 3, "/c"),
        page("2026-03-02T10:01:00Z", 3, 3, "/b"),
        page("2026-03-02T10:02:00Z", 3, 3, "/a"),
        page("2026-03-02T10:00:00Z", 4, 4, "/c"),
    ]
}

#[actix_web::test]
async fn a_funnel_counts_who_goes_from_step_to_step_in_time() {
    let app = TestApp::new(&shop());
    assert_eq!(funnel(&app, &["/a", "/b", "/c"], 10.0).await, [3, 2, 1]);
    assert_eq!(funnel(&app, &["/a", "/b", "/c"], 11.0).await, [3, 2, 2]);
    assert_eq!(funnel(&app, &["/a", "/b", "/c", "order"], 10.0).await, [3, 2, 1, 1]);
    assert_eq!(funnel(&app, &["/a", "/b"], 5.0).await, [3, 2], "the window's end is in it");
    assert_eq!(funnel(&app, &["/a", "/b"], 4.99).await, [3, 0]);
    assert_eq!(funnel(&app, &["/c", "/b", "/a"], 10.0).await, [4, 1, 1]);
    assert_eq!(funnel(&app, &["/nope", "/a"], 10.0).await, [0, 0]);
    assert_eq!(funnel(&app, &["*", "ord*"], 10.0).await, [4, 1]);
    let answer =
        post(&app, "funnel", json!({}), json!({ "window": 10, "steps": steps(&["/a", "/b"]) }))
            .await;
    assert_eq!(answer[0]["dropoff"], Value::Null);
    assert_eq!(answer[1]["previous"], json!(3));
    assert_eq!(answer[1]["dropped"], json!(1));
    assert!((answer[1]["remaining"].as_f64().expect("a share") - 2.0 / 3.0).abs() < 1e-12);
}

#[actix_web::test]
async fn a_step_before_the_window_does_not_hide_a_later_one() {
    // The second /a is in time for /b, the first is not; and /b before any /a does not count.
    let app = TestApp::new(&[
        page("2026-03-02T08:00:00Z", 1, 1, "/b"),
        page("2026-03-02T09:00:00Z", 1, 1, "/a"),
        page("2026-03-02T11:00:00Z", 1, 1, "/a"),
        page("2026-03-02T11:01:00Z", 1, 1, "/b"),
        page("2026-03-02T11:02:00Z", 1, 1, "/a"),
    ]);
    assert_eq!(funnel(&app, &["/a", "/b"], 1.0).await, [1, 1]);
    assert_eq!(funnel(&app, &["/a", "/b", "/a"], 1.0).await, [1, 1, 1]);
    assert_eq!(funnel(&app, &["/a", "/b", "/a", "/b"], 9_999.0).await, [1, 1, 1, 0]);
}

#[actix_web::test]
async fn a_funnel_knows_filters_and_properties() {
    let mut rows = shop();
    rows[0] = rows[0].clone().with("country", "DE");
    let data = "INSERT INTO facts.event_data BY NAME SELECT 1 AS website_key, 3 AS event_id, 1 AS session_id,
        1772446200000 AS created_at, 'sku' AS data_key, 1 AS data_type, 'S0' AS string_value;
        INSERT INTO facts.event_data BY NAME SELECT 1 AS website_key, 3 AS event_id, 1 AS session_id,
        1772446200000 AS created_at, 'price' AS data_key, 2 AS data_type, '19.9900' AS string_value,
        19.99 AS number_value";
    let app = TestApp::with_rows(&rows, &[data]);
    let with = async |operator: &str, key: &str, value: &str| -> i64 {
        let filters = json!([{ "property": key, "operator": operator, "value": value }]);
        let order = json!({ "type": "event", "value": "order", "filters": filters });
        let steps = json!([{ "type": "path", "value": "/a" }, order]);
        let answer = post(&app, "funnel", json!({}), json!({ "window": 60, "steps": steps })).await;
        assert_eq!(answer[1]["filters"], filters);
        answer[1]["visitors"].as_i64().expect("a number")
    };
    for (operator, key, value, expected) in [
        ("eq", "sku", "S0", 1),
        ("neq", "sku", "S0", 0),
        ("c", "sku", "s", 1),
        ("dnc", "sku", "s", 0),
        ("eq", "price", "19.99", 1),
        ("eq", "nothing", "S0", 0),
        ("neq", "nothing", "S0", 1),
    ] {
        assert_eq!(with(operator, key, value).await, expected, "{key} {operator} {value}");
    }
    // Filters hold for the first step: only one /a came from Germany, and no later step says so.
    let parameters = json!({ "window": 10, "steps": steps(&["/a", "/b", "/c"]) });
    let answer = post(&app, "funnel", json!({ "country": "DE" }), parameters).await;
    assert_eq!([&answer[0]["visitors"], &answer[2]["visitors"]], [&json!(1), &json!(1)]);
}

#[actix_web::test]
async fn a_goal_is_a_page_or_an_event() {
    let app = TestApp::new(&shop());
    for (kind, value, num) in
        [("path", "/a", 3), ("path", "/*", 4), ("event", "order", 1), ("path", "order", 0)]
    {
        let answer = post(&app, "goal", json!({}), json!({ "type": kind, "value": value })).await;
        assert_eq!(answer, json!({ "num": num, "total": 4 }), "{kind} {value}");
        let query = format!("type={kind}&value={}", encoded(value));
        assert_eq!(app.answer(&format!("{SITE}/goals/stats?{MARCH}&{query}")).await, answer);
    }
}

#[actix_web::test]
async fn a_journey_is_the_first_steps_of_a_visit_and_a_reload_is_no_step() {
    let app = TestApp::new(&[
        page("2026-03-02T10:00:00Z", 1, 1, "/a"),
        page("2026-03-02T10:01:00Z", 1, 1, "/a"),
        page("2026-03-02T10:02:00Z", 1, 1, "/b"),
        page("2026-03-02T10:00:00Z", 2, 2, "/a"),
        page("2026-03-02T10:02:00Z", 2, 2, "/b"),
        page("2026-03-02T10:02:00Z", 2, 2, "/vitals").kind(5),
        page("2026-03-02T10:00:00Z", 3, 3, "/a"),
        event("2026-03-02T10:01:00Z", 3, 3, "order"),
        page("2026-03-02T10:02:00Z", 3, 3, "/a"),
        page("2026-03-02T10:03:00Z", 3, 3, "/b"),
    ]);
    let journeys =
        async |query: &str| app.answer(&format!("{SITE}/journeys?{MARCH}&{query}")).await;
    assert_eq!(
        journeys("steps=3").await,
        json!([{ "items": ["/a", "/b"], "count": 2 }, { "items": ["/a", "order", "/a"], "count": 1 }])
    );
    assert_eq!(
        journeys("steps=7&startStep=/a&eventType=1").await,
        json!([{ "items": ["/a", "/b"], "count": 3 }])
    );
    assert_eq!(
        journeys("steps=4&endStep=/b").await[0]["items"],
        json!(["/a", "order", "/a", "/b"])
    );
    assert_eq!(journeys("steps=2&startStep=/b").await, json!([]));
    for steps in ["1", "8", "x", ""] {
        assert_eq!(app.get(&format!("{SITE}/journeys?{MARCH}&steps={steps}")).await.0, 400);
    }
    // The older shape fills up with nulls: for a short visit, and for fewer than seven steps.
    let older = post(&app, "journey", json!({}), json!({ "steps": 3 })).await;
    assert_eq!(older[0], json!({ "items": ["/a", "/b", null], "count": 1 }));
    let items: Vec<&Value> =
        older.as_array().expect("rows").iter().map(|row| &row["items"]).collect();
    assert!(items.contains(&&json!(["/a", "/b", null, null])), "{older}");
}

#[actix_web::test]
async fn retention_counts_local_days_from_the_first() {
    let app = TestApp::new(&[
        page("2026-03-02T10:00:00Z", 1, 1, "/"),
        page("2026-03-02T20:00:00Z", 1, 2, "/"),
        page("2026-03-04T10:00:00Z", 1, 3, "/"),
        page("2026-03-02T23:30:00Z", 2, 4, "/"),
        page("2026-03-03T10:00:00Z", 3, 5, "/"),
    ]);
    let days = async |zone: &str| -> Vec<(String, i64, i64, i64)> {
        let answer = app.answer(&format!("{SITE}/retention?{MARCH}&timezone={zone}")).await;
        assert_eq!(post(&app, "retention", json!({}), json!({ "timezone": zone })).await, answer);
        let number = |row: &Value, name: &str| row[name].as_i64().expect("a number");
        let rows = answer.as_array().expect("rows").iter();
        rows.map(|row| {
            let date = row["date"].as_str().expect("a date")[..10].to_owned();
            (date, number(row, "day"), number(row, "visitors"), number(row, "returnVisitors"))
        })
        .collect()
    };
    let day = |date: &str, day, visitors, returned| (date.to_owned(), day, visitors, returned);
    assert_eq!(
        days("UTC").await,
        [day("2026-03-02", 0, 2, 2), day("2026-03-02", 2, 2, 1), day("2026-03-03", 0, 1, 1)]
    );
    // In Kathmandu the second visitor came on the third, at 5:15.
    assert_eq!(
        days("Asia/Kathmandu").await,
        [
            day("2026-03-02", 0, 1, 1),
            day("2026-03-02", 1, 1, 1),
            day("2026-03-02", 2, 1, 1),
            day("2026-03-03", 0, 2, 2)
        ]
    );
}

#[actix_web::test]
async fn campaigns_and_breakdowns_count_page_views() {
    let app = TestApp::new(&[
        page("2026-03-02T10:00:00Z", 1, 1, "/").with("utm_source", "news").with("country", "DE"),
        page("2026-03-02T10:01:00Z", 1, 1, "/x").with("utm_source", "news").with("country", "DE"),
        page("2026-03-02T10:00:00Z", 2, 2, "/").with("utm_source", "ad"),
        event("2026-03-02T10:00:00Z", 3, 3, "order").with("utm_source", "ad"),
    ]);
    let sources = json!([{ "utm": "news", "views": 2 }, { "utm": "ad", "views": 1 }]);
    assert_eq!(app.answer(&format!("{SITE}/utm/metrics?{MARCH}&type=utm_source")).await, sources);
    let all = post(&app, "utm", json!({}), json!({})).await;
    assert_eq!((&all["utm_source"], &all["utm_term"]), (&sources, &json!([])));
    assert_eq!(app.get(&format!("{SITE}/utm/metrics?{MARCH}&type=bogus")).await.0, 400);

    let row = |country: Value, path: &str, views: i64| {
        json!({ "country": country, "path": path, "views": views, "visitors": 1, "visits": 1, "bounces": 1,
            "totaltime": 0 })
    };
    let rows = [row(json!("DE"), "/", 1), row(json!("DE"), "/x", 1), row(Value::Null, "/", 1)];
    let answer = post(&app, "breakdown", json!({}), json!({ "fields": ["country", "path"] })).await;
    assert_eq!(answer, json!(rows));
    let newer = app.answer(&format!("{SITE}/breakdown?{MARCH}&fields=country,path")).await;
    assert_eq!((&newer[0], &newer[2]["country"]), (&rows[0], &json!("")));
    for fields in ["", "bogus", "path1", "path,,os"] {
        assert_eq!(app.get(&format!("{SITE}/breakdown?{MARCH}&fields={fields}")).await.0, 400);
    }
}

#[actix_web::test]
async fn attribution_is_of_the_first_page_or_of_the_last_one_from_outside() {
    let app = TestApp::new(&[
        page("2026-03-02T10:00:00Z", 1, 1, "/")
            .with("referrer_domain", "hn.example")
            .with("utm_source", "a"),
        page("2026-03-03T10:00:00Z", 1, 2, "/")
            .with("referrer_domain", "ads.example")
            .with("click_id", "gclid"),
        page("2026-03-03T10:01:00Z", 1, 2, "/b").with("referrer_domain", "example.com"),
        event("2026-03-03T10:02:00Z", 1, 2, "order"),
        page("2026-03-04T10:00:00Z", 1, 3, "/").with("referrer_domain", "late.example"),
        page("2026-03-02T10:00:00Z", 2, 4, "/").with("referrer_domain", "hn.example"),
    ]);
    let name = |name: &str| json!([{ "name": name, "value": 1 }]);
    let sources = async |model: &str| {
        let parameters = json!({ "model": model, "type": "event", "step": "order" });
        let answer = post(&app, "attribution", json!({}), parameters).await;
        let query = format!("model={model}&type=event&step=order");
        assert_eq!(app.answer(&format!("{SITE}/attribution?{MARCH}&{query}")).await, answer);
        assert_eq!(answer["total"], json!({ "pageviews": 1, "visitors": 1, "visits": 1 }));
        [answer["referrer"].clone(), answer["paidAds"].clone(), answer["utm_source"].clone()]
    };
    assert_eq!(sources("first-click").await, [name("hn.example"), json!([]), name("a")]);
    assert_eq!(sources("last-click").await, [name("ads.example"), name("Google Ads"), json!([])]);
    for query in ["model=x&type=path&step=/", "type=path&step=/", "model=last-click&type=x&step=/"]
    {
        assert_eq!(app.get(&format!("{SITE}/attribution?{MARCH}&{query}")).await.0, 400, "{query}");
    }
}

#[actix_web::test]
async fn revenue_is_exact_and_of_one_currency() {
    let app = TestApp::with_rows(
        &[
            page("2026-03-02T10:00:00Z", 1, 1, "/").with("referrer_domain", "hn.example").with("channel", "referral"),
            event("2026-03-02T23:30:00Z", 1, 1, "order").with("country", "DE").with("region", "DE-BE"),
            event("2026-03-03T10:00:00Z", 2, 2, "order").with("country", "US"),
            page("2026-03-02T10:00:00Z", 3, 3, "/"),
            event("2026-02-20T10:00:00Z", 3, 4, "order"),
        ],
        &["INSERT INTO facts.revenue VALUES
            (1, 1, 1, 1772494200000, 'order', 'EUR', 0.1), (1, 1, 1, 1772494200000, 'order', 'EUR', 0.2),
            (1, 2, 2, 1772532000000, 'order', 'EUR', 0.4), (1, 2, 2, 1772532000000, 'order', 'USD', 9),
            (1, 4, 3, 1771581600000, 'order', 'EUR', 5)"],
    );
    let part =
        async |part: &str| app.answer(&format!("{SITE}/revenue/{part}&{MARCH}&currency=eur")).await;
    assert_eq!(
        part("chart?unit=day&timezone=Asia/Kathmandu").await,
        json!({ "chart": [{ "x": "order", "t": "2026-03-03 00:00:00", "y": 0.7, "count": 3 }] })
    );
    let total = part("stats?").await;
    assert_eq!(total["sum"], json!(0.7));
    assert_eq!(
        ["count", "unique_count", "total_sessions"].map(|name| total[name].as_i64()),
        [Some(3), Some(2), Some(3)]
    );
    assert_eq!(total["comparison"]["sum"], json!(5.0));
    let names = |rows: &[(&str, f64)]| -> Value {
        rows.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
    };
    assert_eq!(part("metrics?type=country").await, names(&[("US", 0.4), ("DE", 0.3)]));
    assert_eq!(part("metrics?type=referrer").await, names(&[("", 0.4), ("hn.example", 0.3)]));
    assert_eq!(part("metrics?type=channel").await, names(&[("Unknown", 0.4), ("referral", 0.3)]));
    assert_eq!(part("metrics?type=region&country=DE").await[0]["country"], json!("DE"));
    let older = post(&app, "revenue", json!({}), json!({ "currency": "EUR" })).await;
    assert_eq!(older["referrer"][0], json!({ "name": null, "value": 0.4 }));
    let nothing = post(&app, "revenue", json!({}), json!({ "currency": "CHF" })).await;
    assert_eq!((&nothing["total"]["sum"], &nothing["total"]["arpu"]), (&Value::Null, &json!(0.0)));
    assert_eq!(app.get(&format!("{SITE}/revenue/stats?{MARCH}")).await.0, 400);
}

#[actix_web::test]
async fn web_vitals_are_percentiles_of_what_was_measured() {
    let vital = |time: &str, path: &'static str, lcp: &'static str| {
        page(time, 1, 1, path).kind(5).with("lcp", lcp)
    };
    let app = TestApp::new(&[
        vital("2026-03-02T10:00:00Z", "/a", "100"),
        vital("2026-03-02T11:00:00Z", "/a", "200"),
        vital("2026-03-03T11:00:00Z", "/b", "400"),
        page("2026-03-03T11:00:00Z", 1, 1, "/b").kind(5),
        page("2026-03-03T11:00:00Z", 1, 1, "/c"),
    ]);
    let part = async |part: &str| app.answer(&format!("{SITE}/performance/{part}&{MARCH}")).await;
    let stats = part("stats?").await;
    assert_eq!(stats["count"], json!(4));
    assert_eq!([&stats["lcp"]["p50"], &stats["lcp"]["p75"]], [&json!(200.0), &json!(300.0)]);
    assert!((stats["lcp"]["p95"].as_f64().expect("a number") - 380.0).abs() < 1e-9);
    assert_eq!(stats["cls"], json!({ "p50": 0.0, "p75": 0.0, "p95": 0.0 }));
    assert_eq!(
        part("chart?unit=day&timezone=UTC").await["chart"][0],
        json!({ "t": "2026-03-02 00:00:00", "p50": 150.0, "p75": 175.0, "p95": 195.0 }),
    );
    let rows = part("metrics?type=path").await;
    assert_eq!(
        rows[0],
        json!({ "name": "/b", "p50": 400.0, "p75": 400.0, "p95": 400.0, "count": 2 })
    );
    let older =
        post(&app, "performance", json!({ "country": "" }), json!({ "metric": "lcp" })).await;
    assert_eq!((&older["pages"], &older["summary"]), (&rows, &stats));
    assert_eq!(app.get(&format!("{SITE}/performance/chart?{MARCH}&metric=x")).await.0, 400);
}

#[actix_web::test]
async fn reports_are_kept_and_their_figures_asked_for() {
    let app = TestApp::new(&shop());
    let website = SITE.rsplit('/').next().expect("an id");
    let body = json!({ "websiteId": website, "type": "funnel", "name": "F", "description": "d",
        "parameters": { "window": 10, "steps": steps(&["/a", "/b"]) } });
    let (status, funnel) = app.post("/api/reports", &body).await;
    assert_eq!((status, &funnel["description"]), (200, &json!("d")));
    let id = funnel["id"].as_str().expect("an id");
    let stats = app.answer(&format!("{SITE}/funnels/{id}/stats?{MARCH}")).await;
    assert_eq!([&stats[0]["visitors"], &stats[1]["visitors"]], [&json!(3), &json!(2)]);

    let goal = json!({ "name": "G", "parameters": { "type": "event", "value": "order" } });
    let (_, goal) = app.post(&format!("{SITE}/goals"), &goal).await;
    let goal_id = goal["id"].as_str().expect("an id");
    let stats = app.answer(&format!("{SITE}/goals/{goal_id}/stats?{MARCH}")).await;
    assert_eq!(stats, json!({ "num": 1, "total": 4 }));

    let count = async |path: String| app.answer(&path).await["count"].as_i64();
    assert_eq!(count(format!("/api/reports?websiteId={website}")).await, Some(2));
    assert_eq!(count(format!("/api/reports?websiteId={website}&type=goal")).await, Some(1));
    assert_eq!(count(format!("{SITE}/funnels")).await, Some(1));
    assert_eq!(app.get(&format!("{SITE}/goals/{id}")).await.0, 404, "a funnel is no goal");
    assert_eq!(app.get(&format!("{SITE}/segments/{id}")).await.0, 404, "nor a segment");

    let renamed = json!({ "websiteId": website, "type": "funnel", "name": "R", "parameters": {} });
    let (_, changed) = app.post(&format!("/api/reports/{id}"), &renamed).await;
    assert_eq!((&changed["name"], &changed["description"]), (&json!("R"), &json!("d")));
    assert_eq!(
        app.get(&format!("{SITE}/funnels/{id}/stats?{MARCH}")).await.0,
        400,
        "no steps left"
    );
    assert_eq!(app.delete(&format!("/api/reports/{id}")).await.0, 200);
    assert_eq!(app.delete(&format!("/api/reports/{id}")).await.0, 404);
    assert_eq!(app.get(&format!("/api/reports/{id}")).await, (200, Value::Null));
    assert_eq!(app.get("/api/reports/goal").await.0, 405);
    for body in
        [json!({}), json!({ "websiteId": website, "type": "x", "name": "n", "parameters": {} })]
    {
        assert_eq!(app.post("/api/reports", &body).await.0, 400, "{body}");
    }
}
