//! Shares over the API: what a share's token opens, what it never opens, and that it is worth nothing once its share
//! has gone.

use actix_web::http::Method;
use serde_json::{Value, json};
use sumimi::limits;
use sumimi::store::accounts::Role;

use crate::app::{Answer, House, code};

const MINE: &str = "11111111-1111-4111-8111-111111111111";
const OTHER: &str = "22222222-2222-4222-8222-222222222222";
const UNKNOWN: &str = "99999999-9999-4999-8999-999999999999";

fn website(id: &str) -> String {
    format!("/api/websites/{id}")
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

/// Two websites of `admin`; the first one is shared. Returns the share as well.
async fn shared(house: &House, admin: &str) -> Value {
    for id in [MINE, OTHER] {
        let body = json!({ "id": id, "name": id, "domain": "d" });
        assert_eq!(house.post("/api/websites", admin, &body).await.0, 200);
    }
    let body = json!({ "name": "Public", "parameters": { "overview": true } });
    let (status, share) = house.post(&format!("{}/shares", website(MINE)), admin, &body).await;
    assert_eq!((status, &share["shareType"], &share["entityId"]), (200, &json!(1), &json!(MINE)));
    share
}

/// Asks with a share's token, as its page does.
async fn look(house: &House, method: &str, path: &str, token: &str) -> Answer {
    let headers = [("x-umami-share-token", token), ("x-umami-share-context", "1")];
    let method: Method = method.parse().expect("a method");
    let body = if method == Method::GET { Vec::new() } else { br#"{"name":"x"}"#.to_vec() };
    house.call_with(method, path, &headers, body).await
}

async fn open(house: &House, slug: &str) -> Value {
    let (status, opened) = house.get(&format!("/api/share/{slug}"), "").await;
    assert_eq!(status, 200, "{opened}");
    opened
}

#[actix_web::test]
async fn a_token_reads_its_own_website_and_nothing_else() {
    let house = House::new();
    let admin = house.token("admin").await;
    let share = shared(&house, &admin).await;
    let opened = open(&house, &text(&share["slug"])).await;
    assert_eq!((&opened["websiteId"], &opened["shareId"]), (&json!(MINE), &share["id"]));
    assert_eq!(opened["parameters"], json!({ "overview": true }));
    let token = text(&opened["token"]);
    assert_eq!(look(&house, "GET", &website(MINE), &token).await.1["name"], MINE);
    let (_, me) = look(&house, "GET", "/api/me", &token).await;
    assert_eq!((&me["user"], &me["authType"]), (&Value::Null, &json!("share")));
    assert_eq!(me["shareToken"]["websiteId"], MINE);

    let share_id = text(&share["id"]);
    let own = format!("/api/share/id/{share_id}");
    for (method, path) in [
        ("GET", website(OTHER)),
        ("GET", website(UNKNOWN)),
        ("POST", website(MINE)),
        ("DELETE", website(MINE)),
        ("POST", format!("{}/reset", website(MINE))),
        ("GET", format!("{}/shares", website(MINE))),
        ("POST", format!("{}/shares", website(MINE))),
        ("GET", own.clone()),
        ("POST", own.clone()),
        ("DELETE", own),
        ("GET", "/api/websites".to_owned()),
        ("GET", "/api/teams".to_owned()),
        ("GET", "/api/links".to_owned()),
        ("GET", "/api/admin/users".to_owned()),
        ("GET", "/api/boards".to_owned()),
        ("GET", "/api/dashboard".to_owned()),
        ("POST", "/api/auth/verify".to_owned()),
        ("POST", "/api/auth/logout".to_owned()),
    ] {
        let answer = look(&house, method, &path, &token).await;
        assert_eq!((answer.0, code(&answer)), (401, "unauthorized"), "{method} {path}");
    }
}

#[actix_web::test]
async fn a_token_of_one_kind_is_never_another() {
    let house = House::new();
    let admin = house.token("admin").await;
    let share = shared(&house, &admin).await;
    let token = text(&open(&house, &text(&share["slug"])).await["token"]);
    let bearer = format!("Bearer {token}");
    let (one, two) = ("x-umami-share-token", "x-umami-share-context");
    let cases: [&[(&str, &str)]; 6] = [
        &[("authorization", &bearer)],
        &[(one, &token)],
        &[(one, &token), (two, "")],
        &[(one, &admin), (two, "1")],
        &[(one, "bad"), (two, "1")],
        &[(two, "1")],
    ];
    for headers in cases {
        for path in [website(MINE), "/api/me".to_owned()] {
            let answer = house.call_with(Method::GET, &path, headers, Vec::new()).await;
            assert_eq!((answer.0, code(&answer)), (401, "unauthorized"), "{headers:?}");
        }
    }
    // Whoever is signed in may see more than the share shows, and not less.
    let bearer = format!("Bearer {admin}");
    let both = [("authorization", bearer.as_str()), (one, &token), (two, "1")];
    assert_eq!(house.call_with(Method::GET, &website(OTHER), &both, Vec::new()).await.0, 200);
    let ann = format!("Bearer {}", house.add_user("ann", Role::User).await);
    let both = [("authorization", ann.as_str()), (one, &token), (two, "1")];
    assert_eq!(house.call_with(Method::GET, &website(MINE), &both, Vec::new()).await.0, 200);
    assert_eq!(house.call_with(Method::GET, &website(OTHER), &both, Vec::new()).await.0, 401);
    let change = br#"{"name":"x"}"#.to_vec();
    assert_eq!(house.call_with(Method::POST, &website(MINE), &both, change).await.0, 401);
}

#[actix_web::test]
async fn a_share_that_ends_shows_nothing_from_then_on() {
    let house = House::new();
    let admin = house.token("admin").await;
    let first = shared(&house, &admin).await;
    let id = |share: &Value| format!("/api/share/id/{}", text(&share["id"]));
    let token = text(&open(&house, &text(&first["slug"])).await["token"]);
    assert_eq!(house.delete(&id(&first), &admin).await.0, 200);
    assert_eq!(look(&house, "GET", &website(MINE), &token).await.0, 401, "at once");
    assert_eq!(look(&house, "GET", "/api/me", &token).await.0, 401);
    assert_eq!(house.get(&format!("/api/share/{}", text(&first["slug"])), "").await.0, 404);
    for answer in [house.get(&id(&first), &admin).await, house.delete(&id(&first), &admin).await] {
        assert_eq!((answer.0, code(&answer)), (404, "not-found"));
    }

    // The share id of a website, as older clients know it.
    let with = |share_id: Value| json!({ "shareId": share_id });
    let (_, row) = house.post(&website(MINE), &admin, &with(json!("older"))).await;
    assert_eq!(row["shareId"], "older");
    let opened = open(&house, "older").await;
    assert_eq!(opened["parameters"], json!({ "events": true, "overview": true }));
    let token = text(&opened["token"]);
    assert_eq!(look(&house, "GET", &website(MINE), &token).await.0, 200);
    let taken = house.post(&website(OTHER), &admin, &with(json!("older"))).await;
    assert_eq!((taken.0, code(&taken)), (400, "bad-request"));
    let (_, row) = house.post(&website(MINE), &admin, &with(Value::Null)).await;
    assert_eq!(row["shareId"], Value::Null);
    assert_eq!(look(&house, "GET", &website(MINE), &token).await.0, 401);

    house.post(&website(MINE), &admin, &with(json!("again"))).await;
    let token = text(&open(&house, "again").await["token"]);
    assert_eq!(house.delete(&website(MINE), &admin).await.0, 200);
    assert_eq!(look(&house, "GET", &website(MINE), &token).await.0, 401);
    assert_eq!(house.get("/api/share/again", "").await.0, 404);
}

#[actix_web::test]
async fn shares_are_renamed_listed_and_there_after_a_restart() {
    let house = House::new();
    let admin = house.token("admin").await;
    let share = shared(&house, &admin).await;
    let custom = json!({ "entityId": MINE, "shareType": 1, "name": "Custom", "slug": "custom-1",
        "parameters": {} });
    let (status, second) = house.post("/api/share", &admin, &custom).await;
    assert_eq!((status, &second["slug"]), (200, &json!("custom-1")));
    assert_eq!(house.post("/api/share", &admin, &custom).await.0, 400, "the slug is taken");
    let path = format!("/api/share/id/{}", text(&share["id"]));
    let change = json!({ "name": "N2", "slug": "renamed-2", "parameters": { "overview": false } });
    let (status, changed) = house.post(&path, &admin, &change).await;
    assert_eq!(
        (status, &changed["slug"], &changed["name"]),
        (200, &json!("renamed-2"), &json!("N2"))
    );
    assert_eq!(house.post(&path, &admin, &json!({ "slug": "custom-1" })).await.0, 400);
    assert_eq!(open(&house, "renamed-2").await["parameters"], json!({ "overview": false }));
    let list = format!("{}/shares", website(MINE));
    let (_, found) = house.get(&format!("{list}?search=CUST"), &admin).await;
    assert_eq!((&found["count"], &found["data"][0]["name"]), (&json!(1), &json!("Custom")));
    assert_eq!(house.get(&list, &admin).await.1["count"], 2);

    let ann = house.add_user("ann", Role::User).await;
    for answer in [
        house.get(&path, &ann).await,
        house.post(&path, &ann, &change).await,
        house.delete(&path, &ann).await,
        house.get(&list, &ann).await,
        house.post("/api/share", &ann, &custom).await,
        house.get(&format!("/api/share/id/{UNKNOWN}"), &ann).await,
    ] {
        assert_eq!((answer.0, code(&answer)), (401, "unauthorized"));
    }
    let token = text(&open(&house, "custom-1").await["token"]);
    let House { data_dir, store, directory, auth } = house;
    drop((store, directory, auth));
    let house = House::open(data_dir);
    assert_eq!(look(&house, "GET", &website(MINE), &token).await.0, 200);
}

#[actix_web::test]
async fn links_and_pixels_are_shared_too_and_what_does_not_fit_is_refused() {
    let house = House::new();
    let admin = house.token("admin").await;
    shared(&house, &admin).await;
    let link = json!({ "name": "l", "slug": "l", "url": "https://e.example" });
    for (things, body, number, field) in [
        ("links", &link, 2, "linkId"),
        ("pixels", &json!({ "name": "p", "slug": "p" }), 3, "pixelId"),
    ] {
        let (_, made) = house.post(&format!("/api/{things}"), &admin, body).await;
        let path = format!("/api/{things}/{}", text(&made["id"]));
        let name = json!({ "name": "Public" });
        let (status, share) = house.post(&format!("{path}/shares"), &admin, &name).await;
        assert_eq!((status, &share["shareType"]), (200, &json!(number)));
        let opened = open(&house, &text(&share["slug"])).await;
        assert_eq!(opened[field], made["id"]);
        let token = text(&opened["token"]);
        assert_eq!(look(&house, "GET", &path, &token).await.0, 200);
        assert_eq!(house.delete(&path, &admin).await.0, 200);
        assert_eq!(look(&house, "GET", &path, &token).await.0, 401);
    }
    let base = json!({ "entityId": MINE, "shareType": 1, "name": "n", "parameters": {} });
    let with = |field: &str, value: Value| {
        let mut body = base.clone();
        body[field] = value;
        body
    };
    for body in [
        with("entityId", json!("x")),
        with("shareType", json!(2)),
        with("shareType", json!("1")),
        with("name", json!(" ")),
        with("name", json!("n".repeat(limits::SHARE_NAME_CHARS_MAX + 1))),
        with("slug", json!("a/b")),
        with("slug", json!("s".repeat(limits::SHARE_SLUG_CHARS_MAX + 1))),
        with("parameters", json!([1])),
        with("parameters", json!({ "x": "y".repeat(limits::SHARE_BYTES_MAX) })),
    ] {
        let answer = house.post("/api/share", &admin, &body).await;
        assert_eq!((answer.0, code(&answer)), (400, "bad-request"), "{body}");
    }
    let unknown = house.post("/api/share", &admin, &with("entityId", json!(UNKNOWN))).await;
    assert_eq!((unknown.0, code(&unknown)), (404, "not-found"));
}
