//! `GET …/session-data…`: what `identify` told about sessions, over rows whose figures can be told by looking at them.

use serde_json::{Value, json};
use sumimi::identity::uuid_of;

use super::event_data::fields;
use super::{Data, MARCH, RESET_SITE, SITE, TestApp, event, identify, page};

/// Session 1 moved from free to pro; session 2 is free; session 3 is not seen in March but for its web vitals;
/// session 4 is of another website.
fn visitors() -> TestApp {
    TestApp::new(&[
        page("2026-03-03T10:00:00Z", 1, 1, "/a").with("country", "DE"),
        event("2026-03-03T10:01:00Z", 1, 1, "click").with("country", "DE"),
        page("2026-03-04T10:00:00Z", 1, 2, "/a").with("country", "DE"),
        page("2026-03-03T12:00:00Z", 2, 3, "/b").with("country", "US"),
        page("2026-03-03T12:00:00Z", 3, 4, "/b").kind(5),
        page("2026-02-03T12:00:00Z", 3, 4, "/b"),
        page("2026-03-03T12:00:00Z", 4, 5, "/b").of_website(2),
        identify("2026-03-03T10:00:10Z", 1)
            .data("plan", Data::Text("free"))
            .data("age", Data::Number("31"))
            .data("tags", Data::Array(r#"["x","y","x"]"#)),
        identify("2026-03-04T23:30:00Z", 1).data("plan", Data::Text("pro")),
        identify("2026-03-03T12:01:00Z", 2)
            .with("distinct_id", "user_2")
            .data("plan", Data::Text("free"))
            .data("age", Data::Number("20.5"))
            .data("vip", Data::Flag(true))
            .data("since", Data::Date("2025-12-31T23:15:30.250Z"))
            .data("tags", Data::Array(r#"["y"]"#)),
        identify("2026-03-03T12:02:00Z", 3).data("plan", Data::Text("gold")),
        identify("2026-03-03T12:02:00Z", 4).data("plan", Data::Text("other")).of_website(2),
    ])
}

async fn ask(app: &TestApp, path: &str) -> Value {
    app.answer(&format!("{SITE}/session-data{path}{MARCH}")).await
}

#[actix_web::test]
async fn properties_are_counted_by_session_as_they_were_last_set() {
    let app = visitors();
    let names = ["propertyName", "dataType", "total"];
    let rows = fields(&ask(&app, "/properties?").await, &names);
    let expected =
        json!([["age", 2, 2], ["plan", 1, 2], ["tags", 5, 2], ["since", 4, 1], ["vip", 3, 1],]);
    assert_eq!(json!(rows), expected);
    let rows = fields(&ask(&app, "/properties?country=DE&").await, &names);
    assert_eq!(json!(rows), json!([["age", 2, 1], ["plan", 1, 1], ["tags", 5, 1]]));
    let rows = fields(&ask(&app, "/properties?propertyName=vip&path=/b&").await, &["propertyName"]);
    assert_eq!(json!(rows), json!([["age"], ["plan"], ["since"], ["tags"], ["vip"]]));
    assert_eq!(ask(&app, "/properties?propertyName=nothing&").await, json!([]));
    assert_eq!(ask(&app, "/properties?eventType=5&").await, json!([]));

    let values = async |query: &str| {
        json!(fields(&ask(&app, &format!("/values?{query}&")).await, &["value", "total"]))
    };
    assert_eq!(values("propertyName=plan").await, json!([["free", 1], ["pro", 1]]));
    assert_eq!(values("propertyName=age").await, json!([["20.5000", 1], ["31", 1]]));
    assert_eq!(values("propertyName=age&dataType=1").await, json!([]));
    assert_eq!(values("propertyName=since").await, json!([["2025-12-31T23:00:00Z", 1]]));
    assert_eq!(values("").await, json!([]));
    let path = format!("{RESET_SITE}/session-data/values?{MARCH}&propertyName=plan");
    assert_eq!(app.answer(&path).await, json!([{ "value": "other", "total": 1 }]));
}

#[actix_web::test]
async fn what_sessions_did_is_told_by_the_value_of_a_property() {
    let app = visitors();
    let names = ["label", "activity", "sessions", "visits", "views", "events"];
    let rows = fields(&ask(&app, "/stats?propertyName=plan&").await, &names);
    assert_eq!(json!(rows), json!([["pro", 3, 1, 2, 2, 1], ["free", 1, 1, 1, 1, 0]]));
    let rows = fields(&ask(&app, "/stats?propertyName=plan&path=/a&").await, &names);
    assert_eq!(json!(rows), json!([["pro", 2, 1, 2, 2, 0]]));
    assert_eq!(app.get(&format!("{SITE}/session-data/stats?{MARCH}")).await.0, 400);
}

#[actix_web::test]
async fn a_pivot_is_one_row_a_session_that_has_the_property() {
    let app = visitors();
    let answer = ask(&app, "-pivot?propertyName=plan&").await;
    assert_eq!((&answer["count"], &answer["page"]), (&json!(2), &json!(1)));
    let expected = json!([
        {
            "sessionId": uuid_of(1).to_string(),
            "distinctId": "",
            "createdAt": "2026-03-04T23:30:00.000Z",
            "propertyKeys": ["age", "plan", "tags"],
            "propertyValues": ["31", "pro", "[\"x\",\"y\",\"x\"]"],
        },
        {
            "sessionId": uuid_of(2).to_string(),
            "distinctId": "user_2",
            "createdAt": "2026-03-03T12:01:00.000Z",
            "propertyKeys": ["age", "plan", "since", "tags", "vip"],
            "propertyValues": ["20.5000", "free", "2025-12-31T23:15:30.250Z", "[\"y\"]", "true"],
        },
    ]);
    assert_eq!(answer["data"], expected);
    let second = ask(&app, "-pivot?propertyName=plan&page=2&pageSize=1&").await;
    assert_eq!((&second["count"], &second["data"][0]), (&json!(2), &expected[1]));
    let vips = ask(&app, "-pivot?propertyName=vip&").await;
    assert_eq!(
        (&vips["count"], &vips["data"][0]["sessionId"]),
        (&json!(1), &expected[1]["sessionId"])
    );
    let beyond = ask(&app, "-pivot?propertyName=plan&page=9&").await;
    assert_eq!((&beyond["count"], &beyond["data"]), (&json!(2), &json!([])));
    assert_eq!(app.get(&format!("{SITE}/session-data-pivot?{MARCH}")).await.0, 400);
}

#[actix_web::test]
async fn a_property_over_time_counts_a_session_where_it_set_it_last() {
    let app = visitors();
    let series = async |path: &str| ask(&app, &format!("/{path}&unit=day&")).await;
    let (third, fourth) = ("2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z");
    let rows = fields(&series("property-series?propertyName=plan").await, &["t", "x", "y"]);
    assert_eq!(json!(rows), json!([[third, "free", 1], [fourth, "pro", 1]]));
    let rows = series("property-series?propertyName=plan&timezone=Asia/Tokyo").await;
    let expected = json!([["2026-03-03 00:00:00", "free", 1], ["2026-03-05 00:00:00", "pro", 1]]);
    assert_eq!(json!(fields(&rows, &["t", "x", "y"])), expected);
    let rows = fields(&series("array-series?propertyName=tags").await, &["t", "x", "y"]);
    assert_eq!(json!(rows), json!([[third, "x", 1], [third, "y", 2]]));
    let rows = series("date-series?propertyName=since&timezone=Europe/Berlin").await;
    assert_eq!(json!(fields(&rows, &["t", "y"])), json!([["2026-01-01 00:15:30", 1]]));
    for (metric, figure) in [("", 51.5), ("metric=avg", 25.75), ("metric=count", 2.0)] {
        let rows = series(&format!("numeric-series?propertyName=age&{metric}")).await;
        assert_eq!(json!(fields(&rows, &["t", "y"])), json!([[third, figure]]), "{metric}");
    }
    let expected =
        json!({ "total": 51.5, "average": 25.75, "median": 25.75, "min": 20.5, "max": 31.0 });
    assert_eq!(series("numeric-stats?propertyName=age").await, expected);
    for tail in
        ["property-series", "array-series", "date-series", "numeric-series", "numeric-stats"]
    {
        let path = format!("{SITE}/session-data/{tail}?{MARCH}");
        assert_eq!(app.get(&path).await.0, 400, "{tail}");
        assert_eq!(
            app.get_without_token(&format!("{path}&propertyName=age")).await.0,
            401,
            "{tail}"
        );
    }
}
