//! `…/annotations`: dated notes are kept, found by time and text, changed and deleted, each with its website only.

use serde_json::{Value, json};

use super::{MARCH, RESET_SITE, SITE, TestApp};

async fn add(app: &TestApp, body: Value) -> Value {
    let (status, answer) = app.post(&format!("{SITE}/annotations"), &body).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// The notes of a list, and how many there are in all.
async fn notes(app: &TestApp, query: &str) -> (Vec<String>, i64) {
    let answer = app.answer(&format!("{SITE}/annotations?{query}")).await;
    let rows = answer["data"].as_array().expect("rows").clone();
    let note = |row: &Value| row["note"].as_str().expect("a note").to_owned();
    (rows.iter().map(note).collect(), answer["count"].as_i64().expect("a count"))
}

#[actix_web::test]
async fn notes_are_listed_the_latest_first_by_time_and_by_text() {
    let app = TestApp::new(&[]);
    add(&app, json!({ "date": "2026-03-05", "note": "New prices" })).await;
    add(&app, json!({ "date": "2026-04-01T00:00:00Z", "note": "April" })).await;
    add(&app, json!({ "date": "2026-03-05T12:00:00+02:00", "note": "100% off" })).await;
    let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(notes(&app, "").await, (all(&["April", "100% off", "New prices"]), 3));
    assert_eq!(notes(&app, MARCH).await, (all(&["100% off", "New prices"]), 2));
    assert_eq!(notes(&app, "startAt=1775001600000").await, (all(&["April"]), 1));
    assert_eq!(notes(&app, "endAt=1772668800000").await, (all(&["New prices"]), 1));
    assert_eq!(notes(&app, "search=PRI").await, (all(&["April", "New prices"]), 2));
    assert_eq!(notes(&app, "search=%25").await, (all(&["100% off"]), 1));
    assert_eq!(notes(&app, "page=2&pageSize=2").await, (all(&["New prices"]), 3));
    let other = app.answer(&format!("{RESET_SITE}/annotations")).await;
    assert_eq!((&other["count"], &other["data"]), (&json!(0), &json!([])));
}

#[actix_web::test]
async fn a_note_is_shown_changed_and_deleted_and_is_nobody_elses() {
    let app = TestApp::new(&[]);
    let note = add(&app, json!({ "date": "2026-03-05", "note": "Launch" })).await;
    assert_eq!(note["websiteId"], SITE.rsplit('/').next().expect("an id"));
    assert_eq!(
        (&note["date"], &note["allDay"], &note["note"]),
        (&json!("2026-03-05T00:00:00.000Z"), &json!(true), &json!("Launch"))
    );
    let id = note["id"].as_str().expect("an id");
    let path = format!("{SITE}/annotations/{id}");
    assert_eq!(app.answer(&path).await, note);
    let body = json!({ "date": "2026-03-05T10:00:00.000Z", "note": "Launched" });
    let (status, changed) = app.post(&path, &body).await;
    assert_eq!(
        (status, &changed["date"], &changed["allDay"], &changed["id"], &changed["createdAt"]),
        (200, &body["date"], &json!(false), &note["id"], &note["createdAt"])
    );
    assert_eq!(app.answer(&path).await, changed);
    let with_day = json!({ "date": body["date"], "note": "x", "allDay": true });
    assert_eq!(app.post(&path, &with_day).await.1["allDay"], true);

    let elsewhere = format!("{RESET_SITE}/annotations/{id}");
    assert_eq!(app.get(&elsewhere).await.0, 404);
    assert_eq!(app.post(&elsewhere, &body).await.0, 404);
    assert_eq!(app.delete(&elsewhere).await.0, 404);
    assert_eq!(app.get_without_token(&path).await.0, 401);
    assert_eq!(app.delete(&path).await, (200, json!({ "ok": true })));
    assert_eq!(app.delete(&path).await.0, 404);
    assert_eq!(app.get(&path).await.0, 404);
}

#[actix_web::test]
async fn a_note_that_is_none_is_refused() {
    let app = TestApp::new(&[]);
    let long = "x".repeat(501);
    for body in [
        json!({}),
        json!({ "date": "2026-03-05" }),
        json!({ "note": "x" }),
        json!({ "date": "yesterday", "note": "x" }),
        json!({ "date": "2026-13-05", "note": "x" }),
        json!({ "date": 5, "note": "x" }),
        json!({ "date": "2026-03-05", "note": " " }),
        json!({ "date": "2026-03-05", "note": long }),
        json!({ "date": "2026-03-05", "note": "x", "allDay": "yes" }),
    ] {
        assert_eq!(app.post(&format!("{SITE}/annotations"), &body).await.0, 400, "{body}");
    }
    for query in ["startAt=x", "endAt=x", "page=0"] {
        assert_eq!(app.get(&format!("{SITE}/annotations?{query}")).await.0, 400, "{query}");
    }
    assert_eq!(app.get(&format!("{SITE}/annotations/x")).await.0, 400);
}
