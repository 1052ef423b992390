//! `GET …/event-data…`: which events carry properties, which values these have, and how they are counted, over rows
//! whose figures can be told by looking at them.

use serde_json::{Value, json};
use sumimi::identity::uuid_of;

use super::{Data, MARCH, RESET_SITE, SITE, TestApp, encoded, event, page};

/// Two orders and a refund, a page view with a property, and what must not be seen: an event without properties, one
/// of another month, one of another website.
fn orders() -> TestApp {
    TestApp::new(&[
        event("2026-03-03T10:00:00Z", 1, 1, "order")
            .data("price", Data::Number("19.99"))
            .data("plan", Data::Text("pro"))
            .data("gift", Data::Flag(true))
            .data("tags", Data::Array(r#"["a","b","a",null,3]"#))
            .data("due", Data::Date("2026-04-01T22:30:15.500Z")),
        event("2026-03-03T11:00:00Z", 2, 2, "order")
            .data("price", Data::Number("5"))
            .data("plan", Data::Text("free"))
            .data("tags", Data::Array(r#"["b"]"#))
            .data("due", Data::Date("2026-04-01T22:30:15Z"))
            .with("country", "US")
            .with("url_path", "/pay"),
        event("2026-03-05T23:30:00Z", 2, 3, "order")
            .data("price", Data::Text("free"))
            .data("plan", Data::Text("pro"))
            .data("tags", Data::Array(r#"["cut off"#)),
        event("2026-03-04T00:00:00Z", 2, 3, "refund").data("price", Data::Number("-5")),
        page("2026-03-02T09:00:00Z", 3, 4, "/a").data("price", Data::Number("1000000")),
        event("2026-03-04T00:00:00Z", 2, 3, "order"),
        event("2026-02-04T00:00:00Z", 2, 5, "order").data("price", Data::Number("7")),
        event("2026-03-04T00:00:00Z", 9, 9, "order").data("price", Data::Number("8")).of_website(2),
        event("2026-03-01T00:00:00Z", 9, 9, "gone").data("price", Data::Number("8")).of_website(2),
    ])
}

/// Rows of an answer with these fields only.
pub fn fields(answer: &Value, names: &[&str]) -> Vec<Value> {
    let rows = answer.as_array().unwrap_or_else(|| panic!("no rows: {answer}"));
    rows.iter().map(|row| names.iter().map(|name| row[*name].clone()).collect()).collect()
}

#[actix_web::test]
async fn events_with_properties_come_newest_first_each_with_all_of_them() {
    let app = orders();
    let answer = app.answer(&format!("{SITE}/event-data?{MARCH}&search=nothing")).await;
    assert_eq!((&answer["count"], &answer["pageSize"]), (&json!(5), &json!(20)));
    let names = fields(&answer["data"], &["eventName"]);
    assert_eq!(json!(names), json!([["order"], ["refund"], ["order"], ["order"], [null]]));
    assert_eq!(
        answer["data"][3],
        json!({
            "websiteId": SITE.rsplit('/').next(),
            "eventId": uuid_of(0).to_string(),
            "eventName": "order",
            "eventProperties": [
                { "dataKey": "due", "stringValue": "2026-04-01T22:30:15.500Z", "numberValue": null,
                  "dateValue": "2026-04-01T22:30:15.500Z", "dataType": 4, "createdAt": "2026-03-03T10:00:00.000Z" },
                { "dataKey": "gift", "stringValue": "true", "numberValue": null,
                  "dateValue": null, "dataType": 3, "createdAt": "2026-03-03T10:00:00.000Z" },
                { "dataKey": "plan", "stringValue": "pro", "numberValue": null,
                  "dateValue": null, "dataType": 1, "createdAt": "2026-03-03T10:00:00.000Z" },
                { "dataKey": "price", "stringValue": "19.9900", "numberValue": 19.99,
                  "dateValue": null, "dataType": 2, "createdAt": "2026-03-03T10:00:00.000Z" },
                { "dataKey": "tags", "stringValue": "[\"a\",\"b\",\"a\",null,3]", "numberValue": null,
                  "dateValue": null, "dataType": 5, "createdAt": "2026-03-03T10:00:00.000Z" },
            ]
        })
    );
    let second = app.answer(&format!("{SITE}/event-data?{MARCH}&page=2&pageSize=3")).await;
    assert_eq!(json!(fields(&second["data"], &["eventName"])), json!([["order"], [null]]));
    let beyond = app.answer(&format!("{SITE}/event-data?{MARCH}&page=9&pageSize=3")).await;
    assert_eq!((&beyond["count"], &beyond["data"]), (&json!(5), &json!([])));
    for (query, count) in
        [("country=US", 1), ("event=refund", 1), ("eventType=1", 1), ("path=/x", 0)]
    {
        let answer = app.answer(&format!("{SITE}/event-data?{MARCH}&{query}")).await;
        assert_eq!(answer["count"], count, "{query}");
    }
    // What lies before a website's reset is hidden, in lists and by id.
    let reset = app.answer(&format!("{RESET_SITE}/event-data?{MARCH}")).await;
    assert_eq!(json!(fields(&reset["data"], &["eventName"])), json!([["order"]]));
    assert_eq!(app.answer(&format!("{RESET_SITE}/event-data/{}", uuid_of(8))).await, json!([]));
}

#[actix_web::test]
async fn one_event_tells_its_properties_and_an_unknown_one_nothing() {
    let app = orders();
    let path = format!("{SITE}/event-data/{}", uuid_of(3));
    let answer = app.answer(&path).await;
    let names = ["eventName", "dataKey", "stringValue", "numberValue", "dataType", "createdAt"];
    assert_eq!(
        json!(fields(&answer, &names)),
        json!([["refund", "price", "-5.0000", -5.0, 2, "2026-03-04T00:00:00.000Z"]])
    );
    assert_eq!(answer[0]["websiteEventId"], uuid_of(3).to_string());
    assert_eq!(answer[0]["id"], app.answer(&path).await[0]["id"]);
    let others = app.answer(&format!("{SITE}/event-data/{}", uuid_of(0))).await;
    let mut ids: Vec<String> = fields(&others, &["id"]).iter().map(Value::to_string).collect();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    // An event of another website, a UUID that is nobody's, and no UUID.
    for unknown in [uuid_of(7).to_string(), "99999999-9999-4999-8999-999999999999".to_owned()] {
        assert_eq!(app.answer(&format!("{SITE}/event-data/{unknown}")).await, json!([]));
    }
    assert_eq!(app.get(&format!("{SITE}/event-data/x")).await.0, 400);
}

#[actix_web::test]
async fn properties_are_counted_by_event_by_name_and_by_value() {
    let app = orders();
    let ask = async |path: &str| app.answer(&format!("{SITE}/event-data/{path}{MARCH}")).await;
    assert_eq!(ask("stats?").await, json!({ "events": 5, "properties": 5, "records": 14 }));
    let none = ask("stats?country=DE&").await;
    assert_eq!(none, json!({ "events": 0, "properties": 0, "records": 0 }));

    // A price was sent twice as a number and once as a text: it is a number.
    let names = ["eventName", "propertyName", "dataType", "total"];
    let rows = fields(&ask("properties?").await, &names);
    let expected = json!([
        ["order", "plan", 1, 3],
        ["order", "price", 2, 3],
        ["order", "tags", 5, 3],
        ["order", "due", 4, 2],
        ["order", "gift", 3, 1],
        ["refund", "price", 2, 1],
        [null, "price", 2, 1],
    ]);
    assert_eq!(json!(rows), expected);

    let rows = fields(&ask("events?").await, &names);
    let expected = json!([
        ["order", "due", 4, 2],
        ["order", "gift", 3, 1],
        ["order", "plan", 1, 3],
        ["order", "price", 1, 1],
        ["order", "price", 2, 2],
        ["order", "tags", 5, 3],
        ["refund", "price", 2, 1],
        [null, "price", 2, 1],
    ]);
    assert_eq!(json!(rows), expected);
    let names = ["propertyName", "dataType", "propertyValue", "total"];
    let rows = fields(&ask("events?event=c.ref&").await, &names);
    assert_eq!(json!(rows), json!([["price", 2, "-5.0000", 1]]));

    let rows =
        fields(&ask("fields?path=/pay&").await, &["propertyName", "dataType", "value", "total"]);
    let expected = json!([
        ["tags", 5, "[\"b\"]", 1],
        ["due", 4, "2026-04-01T22:00:00Z", 1],
        ["price", 2, "5", 1],
        ["plan", 1, "free", 1],
    ]);
    assert_eq!(json!(rows), expected);
    let rows = fields(
        &ask("fields?eventName=order&").await,
        &["propertyName", "dataType", "total", "value"],
    );
    let expected = json!([
        ["tags", 5, 3, null],
        ["due", 4, 2, null],
        ["gift", 3, 1, null],
        ["price", 2, 2, null],
        ["plan", 1, 3, null],
        ["price", 1, 1, null],
    ]);
    assert_eq!(json!(rows), expected);
}

#[actix_web::test]
async fn values_are_those_of_one_property_the_frequent_ones_first() {
    let app = orders();
    let values = async |query: &str| {
        let path = format!("{SITE}/event-data/values?{MARCH}&propertyName={query}");
        app.pairs(&path, "value", "total").await
    };
    let owned = |rows: &[(&str, i64)]| -> Vec<(String, i64)> {
        rows.iter().map(|(value, total)| ((*value).to_owned(), *total)).collect()
    };
    assert_eq!(values("plan").await, owned(&[("pro", 2), ("free", 1)]));
    assert_eq!(values("due").await, owned(&[("2026-04-01T22:00:00Z", 2)]));
    let prices = [("-5", 1), ("1000000", 1), ("19.9900", 1), ("5", 1), ("free", 1)];
    assert_eq!(values("price").await, owned(&prices));
    assert_eq!(
        values("price&eventName=order&dataType=2").await,
        owned(&[("19.9900", 1), ("5", 1)])
    );
    assert_eq!(values("price&event=refund").await, owned(&[("-5", 1)]));
    assert_eq!(values("nothing").await, []);
    for query in ["", "&propertyName=plan&dataType=6", "&propertyName=plan&dataType=x"] {
        let path = format!("{SITE}/event-data/values?{MARCH}{query}");
        assert_eq!(app.get(&path).await.0, 400, "{query}");
    }
}

#[actix_web::test]
async fn a_pivot_is_one_row_an_event_of_the_name() {
    let app = orders();
    let answer = app.answer(&format!("{SITE}/event-data-pivot?{MARCH}&eventName=order")).await;
    assert_eq!(answer["count"], 3);
    assert_eq!(
        answer["data"][1],
        json!({
            "eventId": uuid_of(1).to_string(),
            "eventName": "order",
            "sessionId": uuid_of(2).to_string(),
            "urlPath": "/pay",
            "createdAt": "2026-03-03T11:00:00.000Z",
            "propertyKeys": ["due", "plan", "price", "tags"],
            "propertyValues": ["2026-04-01T22:30:15.000Z", "free", "5", "[\"b\"]"],
        })
    );
    assert_eq!(app.get(&format!("{SITE}/event-data-pivot?{MARCH}")).await.0, 400);
}

#[actix_web::test]
async fn a_property_over_time_is_cut_by_days_of_the_zone() {
    let app = orders();
    let series = async |query: &str| {
        let (tail, query) = query.split_once('?').expect("a query");
        let path =
            format!("{SITE}/event-data-pivot/{tail}?{MARCH}&eventName=order&unit=day&{query}");
        app.answer(&path).await
    };
    let rows = fields(&series("property-series?propertyName=plan").await, &["t", "x", "y"]);
    let (third, fifth) = ("2026-03-03T00:00:00Z", "2026-03-05T00:00:00Z");
    let expected = json!([[third, "free", 1], [third, "pro", 1], [fifth, "pro", 1]]);
    assert_eq!(json!(rows), expected);
    // In Tokyo it is the next day already at 23:30 UTC, and at 22:30.
    let zone = "timezone=Asia/Tokyo";
    let rows = fields(
        &series(&format!("property-series?propertyName=price&{zone}")).await,
        &["t", "x", "y"],
    );
    assert_eq!(json!(rows), json!([["2026-03-06 00:00:00", "free", 1]]));
    // An element counts once an event; what is no list has none.
    let rows = fields(&series("array-series?propertyName=tags").await, &["t", "x", "y"]);
    let expected = json!([[third, "3", 1], [third, "a", 1], [third, "b", 2]]);
    assert_eq!(json!(rows), expected);
    let rows = fields(&series(&format!("date-series?propertyName=due&{zone}")).await, &["t", "y"]);
    assert_eq!(json!(rows), json!([["2026-04-02 07:30:15", 2]]));
    for (metric, figure) in [("", 24.99), ("metric=avg", 12.495), ("metric=count", 2.0)] {
        let rows = series(&format!("numeric-series?propertyName=price&{metric}")).await;
        assert_eq!(json!(fields(&rows, &["t", "y"])), json!([[third, figure]]), "{metric}");
    }
    let summary = series("numeric-stats?propertyName=price").await;
    let expected =
        json!({ "total": 24.99, "average": 12.495, "median": 12.495, "min": 5.0, "max": 19.99 });
    assert_eq!(summary, expected);
    let none = series("numeric-stats?propertyName=plan").await;
    assert_eq!((&none["total"], &none["median"]), (&json!(0.0), &json!(0.0)));
}

#[actix_web::test]
async fn questions_about_a_property_say_which_and_bad_ones_are_refused() {
    let app = orders();
    let tails =
        ["property-series", "array-series", "date-series", "numeric-series", "numeric-stats"];
    for tail in tails {
        let path = format!("{SITE}/event-data-pivot/{tail}?{MARCH}");
        for query in ["", "&eventName=order", "&propertyName=price"] {
            assert_eq!(app.get(&format!("{path}{query}")).await.0, 400, "{tail} {query}");
        }
        let whole = format!("{path}&eventName=order&propertyName=price");
        assert_eq!(app.get_without_token(&whole).await.0, 401, "{tail}");
        assert_eq!(app.get(&format!("{whole}&timezone=Mars/Base")).await.0, 400, "{tail}");
    }
    let metric = "eventName=order&propertyName=price&metric=max";
    let path = format!("{SITE}/event-data-pivot/numeric-series?{MARCH}&{metric}");
    assert_eq!(app.get(&path).await.0, 400);
}

#[actix_web::test]
async fn names_and_values_are_letters_whatever_they_look_like() {
    let app = TestApp::new(&[
        event("2026-03-03T10:00:00Z", 1, 1, "50%_off").data("a.b_c", Data::Text("100% \"Ärger\"")),
        event("2026-03-03T10:00:00Z", 1, 1, "50x off").data("a.bxc", Data::Text("*")),
        event("2026-03-03T10:00:00Z", 1, 1, "50%_OFF").data("a.b_c", Data::Text("{}")),
    ]);
    let (name, property) = (encoded("50%_off"), encoded("a.b_c"));
    let values = format!("{SITE}/event-data/values?{MARCH}&propertyName={property}");
    let one = json!([{ "value": "100% \"Ärger\"", "total": 1 }]);
    for query in [
        format!("eventName={name}"),
        format!("event={name}"),
        format!("event=c.%25_o&eventName={name}"),
    ] {
        assert_eq!(app.answer(&format!("{values}&{query}")).await, one, "{query}");
    }
    assert_eq!(app.answer(&values).await.as_array().map(Vec::len), Some(2));
    let pivot = app.answer(&format!("{SITE}/event-data-pivot?{MARCH}&eventName={name}")).await;
    assert_eq!(pivot["count"], 1);
    let rows = ["property-series", "array-series", "date-series", "numeric-series"];
    let odd = [
        "'; DROP TABLE facts.event; --",
        "') OR true --",
        "$property_name",
        "/*:filters*/",
        "\0",
        "%",
        "*",
    ];
    for text in odd.map(encoded) {
        for tail in rows {
            for owner in ["event-data-pivot", "session-data"] {
                let query = format!("eventName={text}&propertyName={text}");
                let path = format!("{SITE}/{owner}/{tail}?{MARCH}&{query}");
                assert_eq!(app.answer(&path).await, json!([]), "{path}");
            }
        }
        for path in ["event-data/fields", "session-data/properties", "session-data/stats"] {
            let path = format!("{SITE}/{path}?{MARCH}&eventName={text}&propertyName={text}");
            assert_eq!(app.answer(&path).await, json!([]), "{path}");
        }
    }
    let all = app.answer(&format!("{SITE}/event-data/stats?{MARCH}")).await;
    assert_eq!(all, json!({ "events": 3, "properties": 2, "records": 3 }));
}
