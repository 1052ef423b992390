//! `GET …/events` and `…/events/stats`: order, pages, search, and what counts as a custom event.

use serde_json::{Value, json};

use sumimi::event::{Event, EventKind};
use sumimi::store::append::Append;

use super::{MARCH, RESET_SITE, SITE, TestApp, at, event, page};

/// One field of the rows of a page, and how many rows there are in all.
async fn listed(app: &TestApp, query: &str, field: &str) -> (Vec<String>, i64) {
    let answer = app.answer(&format!("{SITE}/events?{MARCH}&{query}")).await;
    let rows = answer["data"].as_array().expect("rows");
    let text = |row: &Value| row[field].as_str().expect("a text").to_owned();
    (rows.iter().map(text).collect(), answer["count"].as_i64().expect("a count"))
}

#[actix_web::test]
async fn events_come_newest_first_whatever_their_type_and_with_all_they_have() {
    let app = TestApp::new(&[
        page("2026-03-03T10:00:00Z", 1, 1, "/a").with("page_title", "A").with("country", "DE"),
        event("2026-03-03T10:05:00.250Z", 1, 1, "click"),
        page("2026-03-02T10:00:00Z", 2, 2, "/p").kind(5),
        page("2026-02-28T10:00:00Z", 2, 2, "/too-early"),
        page("2026-03-03T10:00:00Z", 3, 3, "/other-website").of_website(2),
    ]);
    let answer = app.answer(&format!("{SITE}/events?{MARCH}")).await;
    assert_eq!(
        (&answer["count"], &answer["page"], &answer["pageSize"]),
        (&json!(3), &json!(1), &json!(20))
    );
    let types: Vec<&Value> =
        answer["data"].as_array().expect("rows").iter().map(|row| &row["eventType"]).collect();
    assert_eq!(types, [&json!(2), &json!(1), &json!(5)]);
    let newest = &answer["data"][0];
    assert_eq!(newest["createdAt"], "2026-03-03T10:05:00.250Z");
    assert_eq!((&newest["eventName"], &newest["hasData"]), (&json!("click"), &json!(false)));
    assert_eq!(newest["websiteId"], SITE.rsplit('/').next().expect("an id"));
    let view = &answer["data"][1];
    assert_eq!(
        (&view["pageTitle"], &view["country"], &view["eventName"]),
        (&json!("A"), &json!("DE"), &Value::Null)
    );
    assert_eq!(view["sessionId"], newest["sessionId"]);
    assert_ne!(view["id"], newest["id"]);
}

#[actix_web::test]
async fn pages_cover_every_event_once_also_among_equal_times() {
    let seeds: Vec<_> =
        (0..250).map(|n| page("2026-03-03T10:00:00Z", n % 7, n % 7, "/a")).collect();
    let app = TestApp::new(&seeds);
    let mut seen = std::collections::BTreeSet::new();
    for number in 1..=9 {
        let (ids, count) = listed(&app, &format!("page={number}&pageSize=30"), "id").await;
        assert_eq!((ids.len(), count), (if number == 9 { 10 } else { 30 }, 250));
        seen.extend(ids);
    }
    assert_eq!(seen.len(), 250);
    assert_eq!(listed(&app, "page=10&pageSize=30", "id").await, (Vec::new(), 250));
    assert_eq!(
        listed(&app, "page=9223372036854775807&pageSize=1000", "id").await,
        (Vec::new(), 250)
    );
    for query in ["pageSize=0", "pageSize=-1", "pageSize=abc", "page=1.5"] {
        assert_eq!(app.get(&format!("{SITE}/events?{MARCH}&{query}")).await.0, 400, "{query}");
    }
}

/// One more event of website 1, stored as the running program stores it.
fn store_one(append: &mut Append, number: u64, created_at: i64) {
    let event = Event {
        website_key: 1,
        kind: EventKind::PageView,
        session_id: 1_000 + number,
        visit_id: 1_000 + number,
        created_at,
        ..Event::default()
    };
    append.commit([(1 << 40 | number, event)].into_iter(), &[], || Ok(())).expect("commits");
}

#[actix_web::test]
async fn pages_neither_repeat_nor_miss_a_row_while_events_come_in() {
    let seeds: Vec<_> = (0..250)
        .map(|n| page(&format!("2026-03-03T10:{:02}:{:02}Z", n / 60, n % 60), n, n, "/a"))
        .collect();
    let app = TestApp::new(&seeds);
    let mut append = Append::new(&app.store).expect("connects");
    let mut stored = 0;
    for list in ["events", "sessions"] {
        let mut seen = Vec::new();
        let first = app.answer(&format!("{SITE}/{list}?{MARCH}&pageSize=30")).await;
        let count = first["count"].as_i64().expect("a count");
        for number in 1..=count / 30 + 1 {
            // Newer than all, older than all, and in the midst of them.
            for time in ["2026-03-04T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-03T10:02:00Z"] {
                stored += 1;
                store_one(&mut append, stored, at(time));
            }
            let path = format!("{SITE}/{list}?{MARCH}&pageSize=30&page={number}");
            let answer = if number == 1 { first.clone() } else { app.answer(&path).await };
            assert_eq!(answer["count"], count, "{list} {number}");
            let rows = answer["data"].as_array().expect("rows");
            seen.extend(rows.iter().map(|row| row["id"].to_string()));
        }
        let rows = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!((rows, seen.len()), (count as usize, count as usize), "{list}");
        // The first page shows them, and so does a later one of who did not begin with the first.
        let again = app.answer(&format!("{SITE}/{list}?{MARCH}&pageSize=30")).await;
        assert!(again["count"].as_i64() > Some(count), "{list}");
        let other = app.answer(&format!("{SITE}/{list}?{MARCH}&pageSize=29&page=2")).await;
        assert_eq!(other["count"], again["count"], "{list}");
    }
}

#[actix_web::test]
async fn a_search_is_literal_in_names_of_events_and_in_paths_of_the_rest() {
    let app = TestApp::new(&[
        page("2026-03-03T10:00:00Z", 1, 1, "/Pricing_100%"),
        event("2026-03-03T10:01:00Z", 1, 1, "price asked").with("url_path", "/elsewhere"),
        event("2026-03-03T10:02:00Z", 1, 1, "click").with("url_path", "/pricing"),
    ]);
    let both = ["/elsewhere", "/Pricing_100%"].map(str::to_owned).to_vec();
    assert_eq!(listed(&app, "search=PRIC", "urlPath").await, (both, 2));
    assert_eq!(listed(&app, "search=g_100%25", "urlPath").await.1, 1);
    assert_eq!(listed(&app, "search=%25", "urlPath").await.1, 1);
    assert_eq!(listed(&app, "search=", "urlPath").await.1, 3);
}

#[actix_web::test]
async fn figures_are_those_of_custom_events_and_compared_with_the_range_before() {
    let app = TestApp::new(&[
        page("2026-03-03T10:00:00Z", 1, 1, "/a"),
        event("2026-03-03T10:01:00Z", 1, 1, "click"),
        event("2026-03-03T10:02:00Z", 1, 1, "click"),
        event("2026-03-04T10:02:00Z", 1, 2, "buy"),
        event("2026-03-04T10:02:00Z", 3, 3, "buy").with("url_path", "/b"),
        event("2026-02-20T10:02:00Z", 1, 4, "buy"),
    ]);
    let names = ["events", "visitors", "visits", "uniqueEvents"];
    let figures = |figures: [i64; 4]| -> Value {
        names.into_iter().map(str::to_owned).zip(figures.map(Value::from)).collect()
    };
    let answer = async |query: &str| {
        app.answer(&format!("{SITE}/events/stats?{MARCH}{query}")).await["data"].take()
    };
    let mut expected = figures([4, 2, 3, 2]);
    expected["comparison"] = figures([1; 4]);
    assert_eq!(answer("").await, expected);
    assert_eq!(answer("&path=/b").await["events"], 1);
    assert_eq!(answer("&eventType=5").await["events"], 0);
    assert_eq!(answer("&excludeBounce=1").await["events"], 4);
    let none = app.answer(&format!("{RESET_SITE}/events/stats?{MARCH}")).await;
    assert_eq!(none["data"]["comparison"], figures([0; 4]));
}
