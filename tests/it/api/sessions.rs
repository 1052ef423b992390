//! `GET …/sessions`, its figures, its week, and one session: what it did, what is known of it, and that it goes
//! when it is deleted.

use serde_json::{Value, json};
use sumimi::identity::uuid_of;

use super::{MARCH, SITE, TestApp, event, page};

fn id(session: u64) -> String {
    uuid_of(session).to_string()
}

fn three_sessions() -> TestApp {
    TestApp::new(&[
        page("2026-03-03T10:00:00Z", 1, 1, "/a").with("city", "Berlin").with("browser", "firefox"),
        page("2026-03-03T10:00:30Z", 1, 1, "/b")
            .with("city", "Paris")
            .with("hostname", "b.example"),
        event("2026-03-03T10:01:00Z", 1, 1, "click"),
        page("2026-03-05T09:00:00Z", 1, 2, "/a").kind(5),
        page("2026-03-04T10:00:00Z", 2, 3, "/a")
            .with("country", "US")
            .with("distinct_id", "user_7"),
        page("2026-02-01T10:00:00Z", 3, 4, "/a").with("country", "FR"),
        page("2026-03-03T10:00:00Z", 4, 5, "/a").of_website(2),
    ])
}

#[actix_web::test]
async fn a_session_is_listed_once_the_one_seen_last_first() {
    let app = three_sessions();
    let answer = app.answer(&format!("{SITE}/sessions?{MARCH}")).await;
    assert_eq!(answer["count"], 2);
    let ids: Vec<&Value> =
        answer["data"].as_array().expect("rows").iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&json!(id(1)), &json!(id(2))]);
    let first = &answer["data"][0];
    for (field, value) in [
        ("city", json!("Berlin")),
        ("browser", json!("firefox")),
        ("hostname", json!("example.com")),
        ("firstAt", json!("2026-03-03T10:00:00.000Z")),
        ("lastAt", json!("2026-03-05T09:00:00.000Z")),
        ("createdAt", json!("2026-03-05T09:00:00.000Z")),
        ("visits", json!(2)),
        ("views", json!(2)),
        ("events", json!(1)),
    ] {
        assert_eq!(first[field], value, "{field}");
    }
    let count = async |query: &str| {
        app.answer(&format!("{SITE}/sessions?{MARCH}&{query}")).await["count"].take()
    };
    for (query, expected) in [
        ("search=BERL", 1),
        ("search=user_", 1),
        ("search=%25", 0),
        ("country=US", 1),
        ("eventType=2", 1),
        ("page=7", 2),
        ("excludeBounce=1", 2),
    ] {
        assert_eq!(count(query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn figures_count_rows_of_any_type() {
    let app = three_sessions();
    let answer = app.answer(&format!("{SITE}/sessions/stats?{MARCH}")).await;
    for (name, figure) in
        [("pageviews", 5), ("visitors", 2), ("visits", 3), ("countries", 1), ("events", 1)]
    {
        assert_eq!(answer[name], json!({ "value": figure }), "{name}");
    }
    assert_eq!(app.get(&format!("{SITE}/sessions/stats?startAt=1.5&endAt=2")).await.0, 400);
}

#[actix_web::test]
async fn the_week_is_that_of_the_zone_and_a_session_counts_once_an_hour_of_the_week() {
    // 3, 10 and 17 March 2026 are Tuesdays; New York changed its clock on the 8th, Kathmandu never does.
    let app = TestApp::new(&[
        page("2026-03-03T04:59:00Z", 1, 1, "/a"),
        page("2026-03-10T04:30:00Z", 1, 2, "/a"),
        page("2026-03-17T04:30:00Z", 2, 3, "/a"),
        event("2026-03-17T04:30:00Z", 3, 4, "click"),
    ]);
    let week = async |zone: &str| {
        app.answer(&format!("{SITE}/sessions/weekly?{MARCH}&timezone={zone}")).await
    };
    let utc = week("UTC").await;
    assert_eq!(
        (utc.as_array().map(Vec::len), utc[0].as_array().map(Vec::len)),
        (Some(7), Some(24))
    );
    assert_eq!(utc[2][4], 2);
    let new_york = week("America/New_York").await;
    assert_eq!((&new_york[1][23], &new_york[2][0]), (&json!(1), &json!(2)));
    let kathmandu = week("Asia/Kathmandu").await;
    assert_eq!(kathmandu[2][10], 2);
    let sum = |week: &Value| -> i64 {
        week.as_array()
            .expect("days")
            .iter()
            .flat_map(|day| day.as_array().expect("hours"))
            .filter_map(Value::as_i64)
            .sum()
    };
    assert_eq!((sum(&utc), sum(&new_york), sum(&kathmandu)), (2, 3, 2));
    assert_eq!(app.get(&format!("{SITE}/sessions/weekly?{MARCH}")).await.0, 400);
}

#[actix_web::test]
async fn one_session_tells_all_it_did_and_an_unknown_one_nothing() {
    let app = three_sessions();
    let session = app.answer(&format!("{SITE}/sessions/{}", id(1))).await;
    for (field, value) in [
        ("city", json!("Berlin")),
        ("visits", json!(2)),
        ("views", json!(2)),
        ("events", json!(1)),
        ("totaltime", json!(60)),
        ("canDelete", json!(true)),
    ] {
        assert_eq!(session[field], value, "{field}");
    }
    let activity = app.answer(&format!("{SITE}/sessions/{}/activity?{MARCH}", id(1))).await;
    let rows = activity.as_array().expect("rows");
    assert_eq!(
        (rows.len(), &rows[0]["eventType"], &rows[1]["eventName"]),
        (4, &json!(5), &json!("click"))
    );
    assert_ne!(rows[0]["visitId"], rows[1]["visitId"]);
    // A session of another website, a UUID that is nobody's, and no UUID.
    let nobody = "99999999-9999-4999-8999-999999999999";
    for unknown in [id(4).as_str(), nobody] {
        assert_eq!(app.answer(&format!("{SITE}/sessions/{unknown}")).await, json!({}));
        assert_eq!(
            app.answer(&format!("{SITE}/sessions/{unknown}/activity?{MARCH}")).await,
            json!([])
        );
        assert_eq!(app.answer(&format!("{SITE}/sessions/{unknown}/properties")).await, json!([]));
    }
    for path in
        ["x", "x/properties", &format!("x/activity?{MARCH}"), &format!("{}/activity", id(1))]
    {
        assert_eq!(app.get(&format!("{SITE}/sessions/{path}")).await.0, 400, "{path}");
    }
}

#[actix_web::test]
async fn properties_are_the_latest_of_each_name() {
    let app = TestApp::with_rows(
        &[],
        &[
            "INSERT INTO facts.session_data VALUES (1, 10, 1, 1000, NULL, 'plan', 1, 'free', NULL, NULL)",
            "INSERT INTO facts.session_data VALUES (1, 11, 1, 2000, NULL, 'plan', 1, 'pro', NULL, NULL)",
            "INSERT INTO facts.session_data VALUES (1, 11, 1, 2000, NULL, 'age', 2, NULL, 32, NULL)",
            "INSERT INTO facts.session_data VALUES (1, 11, 1, 2000, NULL, 'score', 2, NULL, 1.5, NULL)",
            "INSERT INTO facts.session_data VALUES \
             (1, 12, 1, 3000, NULL, 'since', 4, '1970-01-01T00:00:05Z', NULL, 5000)",
            "INSERT INTO facts.session_data VALUES (1, 13, 2, 3000, NULL, 'plan', 1, 'other', NULL, NULL)",
        ],
    );
    let answer = app.answer(&format!("{SITE}/sessions/{}/properties", id(1))).await;
    let rows: Vec<Value> = answer
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            json!([
                row["dataKey"],
                row["dataType"],
                row["stringValue"],
                row["numberValue"],
                row["dateValue"]
            ])
        })
        .collect();
    let since = "1970-01-01T00:00:05.000Z";
    assert_eq!(
        rows,
        [
            json!(["age", 2, "32", 32.0, null]),
            json!(["plan", 1, "pro", null, null]),
            json!(["score", 2, "1.5000", 1.5, null]),
            json!(["since", 4, "1970-01-01T00:00:05Z", null, since]),
        ]
    );
    assert_eq!(answer[1]["createdAt"], "1970-01-01T00:00:02.000Z");
}

#[actix_web::test]
async fn a_deleted_session_is_gone_from_everywhere_and_no_other_is() {
    let app = three_sessions();
    let path = format!("{SITE}/sessions/{}", id(1));
    assert_eq!(app.delete(&path).await, (200, json!({ "ok": true })));
    assert_eq!(app.delete(&path).await.0, 404);
    assert_eq!(app.delete(&format!("{SITE}/sessions/{}", id(4))).await.0, 404);
    assert_eq!(app.delete(&format!("{SITE}/sessions/x")).await.0, 400);
    assert_eq!(app.answer(&path).await, json!({}));
    let stats = app.answer(&format!("{SITE}/sessions/stats?{MARCH}")).await;
    assert_eq!((&stats["pageviews"]["value"], &stats["visitors"]["value"]), (&json!(1), &json!(1)));
}
