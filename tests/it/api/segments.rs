//! Segments and cohorts: kept, changed, deleted, and what they leave of a question.

use serde_json::{Value, json};

use super::{MARCH, RESET_SITE, SITE, TestApp, event, page};

fn app() -> TestApp {
    TestApp::new(&[
        page("2026-03-02T10:00:00Z", 1, 1, "/").with("country", "US").with("os", "Linux"),
        page("2026-03-02T10:01:00Z", 1, 1, "/pricing").with("country", "US"),
        page("2026-03-02T10:00:00Z", 2, 2, "/").with("country", "DE"),
        event("2026-03-02T10:01:00Z", 2, 2, "order").with("country", "DE"),
        page("2026-03-20T10:00:00Z", 3, 3, "/pricing").with("country", "US"),
    ])
}

async fn create(app: &TestApp, body: Value) -> String {
    let (status, answer) = app.post(&format!("{SITE}/segments"), &body).await;
    assert_eq!(status, 200, "{answer}");
    answer["id"].as_str().expect("an id").to_owned()
}

async fn visitors(app: &TestApp, query: &str) -> i64 {
    app.answer(&format!("{SITE}/stats?{MARCH}&{query}")).await["visitors"]
        .as_i64()
        .expect("a number")
}

#[actix_web::test]
async fn a_segment_adds_its_filters_and_its_match() {
    let app = app();
    let filters = json!([
        { "name": "country", "operator": "eq", "value": "US" },
        { "name": "path", "operator": "c", "value": "pric" },
    ]);
    let all = create(
        &app,
        json!({ "type": "segment", "name": "a", "parameters": { "filters": filters } }),
    )
    .await;
    let any = json!({ "filters": filters, "match": "any" });
    let any = create(&app, json!({ "type": "segment", "name": "b", "parameters": any })).await;
    let none = create(&app, json!({ "type": "segment", "name": "c", "parameters": {} })).await;
    let odd = json!({ "filters": [{ "name": "bogus", "operator": "eq", "value": "1" }] });
    let odd = create(&app, json!({ "type": "segment", "name": "d", "parameters": odd })).await;
    let set = json!({ "filters": [{ "name": "os", "operator": "s", "value": "" }] });
    let set = create(&app, json!({ "type": "segment", "name": "e", "parameters": set })).await;
    assert_eq!(visitors(&app, &format!("segment={all}")).await, 2);
    assert_eq!(visitors(&app, &format!("segment={any}")).await, 2);
    assert_eq!(visitors(&app, &format!("segment={none}")).await, 3);
    assert_eq!(visitors(&app, &format!("segment={set}")).await, 1);
    assert_eq!(visitors(&app, &format!("segment={none}&country=DE")).await, 1);
    // The answer is about the segment's rows and the question's: none here is both.
    assert_eq!(visitors(&app, &format!("segment={all}&country=DE")).await, 0);
    for query in [format!("segment={odd}"), format!("cohort={all}")] {
        assert_eq!(app.get(&format!("{SITE}/stats?{MARCH}&{query}")).await.0, 400, "{query}");
    }
    assert_eq!(app.get(&format!("{RESET_SITE}/stats?{MARCH}&segment={all}")).await.0, 400);
}

#[actix_web::test]
async fn a_cohort_is_the_sessions_that_did_it_in_its_own_range() {
    let app = app();
    let cohort = |action: Value, range: &str| {
        let filters = json!([{ "name": "country", "operator": "eq", "value": "US" }]);
        json!({ "type": "cohort", "name": "c", "parameters":
            { "filters": filters, "dateRange": range, "action": action } })
    };
    let pricing = json!({ "type": "path", "value": "/pricing" });
    let march = "range:1772323200000:1775001599999";
    let both = create(&app, cohort(pricing.clone(), march)).await;
    let early = create(&app, cohort(pricing.clone(), "range:1772323200000:1772582400000")).await;
    let never = create(&app, cohort(pricing.clone(), "0day")).await;
    let nobody = create(&app, cohort(json!({ "type": "event", "value": "order" }), march)).await;
    let wrong = create(&app, cohort(pricing, "some time")).await;
    for (id, expected) in [(both, 2), (early, 1), (never, 0), (nobody, 0)] {
        assert_eq!(visitors(&app, &format!("cohort={id}")).await, expected);
    }
    assert_eq!(app.get(&format!("{SITE}/stats?{MARCH}&cohort={wrong}")).await.0, 400);
}

#[actix_web::test]
async fn segments_are_listed_shown_changed_and_deleted() {
    let app = app();
    let body = |name: &str| json!({ "type": "segment", "name": name, "parameters": {} });
    let first = create(&app, body("First")).await;
    create(&app, body("Second")).await;
    let list = |query: &str| format!("{SITE}/segments?{query}");
    let names = |answer: &Value| -> Vec<String> {
        let rows = answer["data"].as_array().expect("rows").iter();
        rows.map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
    };
    let answer = app.answer(&list("type=segment")).await;
    assert_eq!(
        (names(&answer), &answer["count"]),
        (vec!["First".into(), "Second".into()], &json!(2))
    );
    assert_eq!(names(&app.answer(&list("type=segment&search=SEC")).await), ["Second"]);
    assert_eq!(names(&app.answer(&list("type=cohort")).await), Vec::<String>::new());
    assert_eq!(app.get(&list("")).await.0, 400);

    let one = format!("{SITE}/segments/{first}");
    assert_eq!(app.post(&one, &body("Renamed")).await.1["name"], json!("Renamed"));
    assert_eq!(app.answer(&one).await["name"], json!("Renamed"));
    assert_eq!(app.get(&format!("{RESET_SITE}/segments/{first}")).await.0, 404);
    assert_eq!(app.delete(&one).await, (200, json!({ "ok": true })));
    for status in
        [app.delete(&one).await.0, app.get(&one).await.0, app.post(&one, &body("x")).await.0]
    {
        assert_eq!(status, 404);
    }
    let bad = [
        json!({ "type": "bogus", "name": "x", "parameters": {} }),
        json!({ "type": "segment", "name": "n".repeat(201), "parameters": {} }),
        json!({ "type": "segment", "name": "x" }),
        json!({ "type": "segment", "name": "x", "parameters": { "filters": [{ "name": "os", "operator": "zz" }] } }),
    ];
    for body in bad {
        assert_eq!(app.post(&format!("{SITE}/segments"), &body).await.0, 400, "{body}");
    }
}
