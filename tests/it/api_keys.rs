//! API keys over the API: what a key is good for, what it is never good for, and what ends it.

use std::time::Duration;

use actix_web::http::Method;
use serde_json::{Value, json};
use sumimi::limits;
use sumimi::store::accounts::Role;

use crate::app::{Answer, House, PASSWORD, code};
use crate::http::Request;
use crate::process::Server;

const KEYS: &str = "/api/me/api-keys";
const SITE: &str = "11111111-1111-4111-8111-111111111111";

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

async fn key(house: &House, token: &str, scope: &str) -> (String, String) {
    let (status, made) = house.post(KEYS, token, &json!({ "name": "ci", "scope": scope })).await;
    assert_eq!(status, 200, "{made}");
    (text(&made["key"]), text(&made["id"]))
}

/// Asks with a key in the header of its own.
async fn by_header(house: &House, method: Method, path: &str, key: &str) -> Answer {
    let headers = [("x-umami-api-key", key), ("authorization", "Bearer undefined")];
    house.call_with(method, path, &headers, Vec::new()).await
}

async fn site(house: &House, token: &str) -> String {
    let body = json!({ "id": SITE, "name": "Site", "domain": "d" });
    assert_eq!(house.post("/api/websites", token, &body).await.0, 200);
    format!("/api/websites/{SITE}")
}

#[actix_web::test]
async fn a_key_is_shown_once_and_acts_for_its_user() {
    let house = House::new();
    let ann = house.add_user("ann", Role::User).await;
    let site = site(&house, &ann).await;
    let (status, made) = house.post(KEYS, &ann, &json!({ "name": "Zoë’s script" })).await;
    assert_eq!((status, &made["scope"]), (200, &json!("write")));
    let key = text(&made["key"]);
    assert!(key.starts_with("umami_") && key.len() == 6 + limits::API_KEY_RANDOM_CHARS, "{key}");
    assert!(key.starts_with(&text(&made["keyPrefix"])));

    for answer in [house.get(&site, &key).await, by_header(&house, Method::GET, &site, &key).await]
    {
        assert_eq!((answer.0, &answer.1["name"]), (200, &json!("Site")));
    }
    let (_, me) = house.get("/api/me", &key).await;
    assert_eq!((&me["user"]["username"], &me["authType"]), (&json!("ann"), &json!("api-key")));
    assert_eq!(me["token"], Value::Null, "a key is not told again");
    assert_eq!(house.post(&site, &key, &json!({ "name": "New" })).await.0, 200);
    assert_eq!(house.get("/api/admin/users", &key).await.0, 401, "ann is no admin");

    let (status, list) = house.get(KEYS, &ann).await;
    assert_eq!((status, list.as_array().map(Vec::len)), (200, Some(1)));
    assert_eq!(list[0]["name"], "Zoë’s script");
    assert_eq!(list[0]["key"], Value::Null);
    assert!(text(&list[0]["lastUsedAt"]).ends_with('Z'));
    assert!(!list.to_string().contains(&key));
}

#[actix_web::test]
async fn a_key_that_may_read_changes_nothing() {
    let house = House::new();
    let admin = house.token("admin").await;
    let site = site(&house, &admin).await;
    let (reader, _) = key(&house, &admin, "read").await;
    for path in [site.as_str(), "/api/websites", "/api/admin/users", "/api/me"] {
        assert_eq!(house.get(path, &reader).await.0, 200, "{path}");
    }
    assert_eq!(house.post("/api/auth/verify", &reader, &Value::Null).await.0, 200);
    let saved = json!({ "websiteId": SITE, "type": "utm", "name": "x", "parameters": {} });
    let some_id = "/api/reports/11111111-1111-4111-8111-111111111111";
    for (method, path, body) in [
        (Method::POST, site.clone(), json!({ "name": "x" })),
        (Method::DELETE, site.clone(), Value::Null),
        (Method::POST, format!("{site}/reset"), Value::Null),
        (Method::POST, format!("{site}/shares"), json!({ "name": "x" })),
        (Method::POST, "/api/websites".to_owned(), json!({ "name": "x", "domain": "x" })),
        (Method::POST, "/api/teams".to_owned(), json!({ "name": "x" })),
        (Method::POST, "/api/reports".to_owned(), saved.clone()),
        (Method::POST, some_id.to_owned(), saved),
        (Method::DELETE, some_id.to_owned(), Value::Null),
        (Method::POST, "/api/dashboard".to_owned(), json!({ "name": "x" })),
    ] {
        let body = body.to_string().into_bytes();
        let answer = house.call(method.clone(), &path, &reader, body).await;
        assert_eq!((answer.0, code(&answer)), (401, "unauthorized"), "{method} {path}");
    }
    assert_eq!(house.get(&site, &admin).await.1["name"], "Site");
}

#[test]
fn a_report_is_a_question_although_it_is_posted() {
    let mut server = Server::builder().start();
    let token = server.login();
    let mut client = server.client();
    let mut post = |path: &str, token: &str, body: &Value| {
        let request = Request::new("POST", path).bearer(token).body(body.to_string()).json();
        client.send(&request).expect("an answer")
    };
    let made = post(KEYS, &token, &json!({ "name": "x", "scope": "read" })).json();
    let key = text(&made["key"]);
    let site = json!({ "id": SITE, "name": "Site", "domain": "d" });
    assert_eq!(post("/api/websites", &token, &site).status, 200);
    let range = json!({ "startDate": "2026-01-01", "endDate": "2026-01-02" });
    let report = json!({ "websiteId": SITE, "type": "utm", "filters": {}, "parameters": range, "name": "x" });
    assert_eq!(post("/api/reports/utm", &key, &report).status, 200);
    assert_eq!(post("/api/reports", &key, &report).status, 401, "this one saves it");
}

#[actix_web::test]
async fn no_key_signs_in_or_changes_people_or_keys() {
    let house = House::new();
    let admin = house.token("admin").await;
    let (writer, id) = key(&house, &admin, "write").await;
    let (_, users) = house.get("/api/admin/users", &writer).await;
    let own = format!("/api/users/{}", text(&users["data"][0]["id"]));
    let password = json!({ "currentPassword": PASSWORD, "newPassword": "another password" });
    let user = json!({ "username": "eve", "password": "another password", "role": "admin" });
    for (method, path, body) in [
        (Method::GET, KEYS.to_owned(), Value::Null),
        (Method::POST, KEYS.to_owned(), json!({ "name": "more" })),
        (Method::DELETE, format!("{KEYS}/{id}"), Value::Null),
        (Method::POST, "/api/me/password".to_owned(), password),
        (Method::POST, "/api/auth/logout".to_owned(), Value::Null),
        (Method::POST, "/api/users".to_owned(), user),
        (Method::POST, own.clone(), json!({ "password": "another password" })),
        (Method::DELETE, own, Value::Null),
    ] {
        let body = body.to_string().into_bytes();
        let answer = house.call(method.clone(), &path, &writer, body).await;
        assert_eq!((answer.0, code(&answer)), (401, "unauthorized"), "{method} {path}");
    }
    let credentials = json!({ "username": "admin", "password": writer });
    assert_eq!(house.post("/api/auth/login", "", &credentials).await.0, 401);
    let as_share = [("x-umami-share-token", writer.as_str()), ("x-umami-share-context", "1")];
    assert_eq!(house.call_with(Method::GET, "/api/me", &as_share, Vec::new()).await.0, 401);
    assert_eq!(by_header(&house, Method::GET, "/api/me", &admin).await.0, 401, "a login is no key");
    let cut = &writer[..writer.len() - 1];
    for wrong in ["umami_", cut, &writer[6..], &writer.to_uppercase()] {
        assert_eq!(house.get("/api/me", wrong).await.0, 401, "{wrong}");
        assert_eq!(by_header(&house, Method::GET, "/api/me", wrong).await.0, 401, "{wrong}");
    }
}

#[actix_web::test]
async fn a_key_ends_when_it_is_deleted_and_with_its_user_and_not_with_the_server() {
    let house = House::new();
    let admin = house.token("admin").await;
    let ann = house.add_user("ann", Role::User).await;
    let (first, id) = key(&house, &ann, "write").await;
    let (second, _) = key(&house, &ann, "read").await;
    let foreign = house.delete(&format!("{KEYS}/{id}"), &admin).await;
    assert_eq!((foreign.0, code(&foreign)), (404, "not-found"), "one's own keys only");
    assert_eq!(house.get("/api/me", &first).await.0, 200);
    let deleted = house.delete(&format!("{KEYS}/{id}"), &ann).await;
    assert_eq!(deleted, (200, json!({ "ok": true })));
    assert_eq!(house.get("/api/me", &first).await.0, 401, "at once");
    assert_eq!(house.delete(&format!("{KEYS}/{id}"), &ann).await.0, 404);
    assert_eq!(house.delete(&format!("{KEYS}/x"), &ann).await.0, 400);

    assert_eq!(house.get("/api/me", &second).await.0, 200);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let House { data_dir, store, directory, auth } = house;
    drop((store, directory, auth));
    for entry in std::fs::read_dir(data_dir.path()).expect("readable") {
        let path = entry.expect("an entry").path();
        let bytes = if path.is_file() { std::fs::read(&path).expect("a file") } else { Vec::new() };
        let found = bytes.windows(second.len()).any(|window| window == second.as_bytes());
        assert!(!found, "{} has the key itself", path.display());
    }
    let house = House::open(data_dir);
    let ann = house.token("ann").await;
    let (_, list) = house.get(KEYS, &ann).await;
    assert!(list[0]["lastUsedAt"].is_string(), "the use was written: {list}");
    assert_eq!(house.get("/api/me", &second).await.0, 200, "also after a restart");

    let (_, me) = house.get("/api/me", &second).await;
    let user = format!("/api/users/{}", text(&me["user"]["id"]));
    let admin = house.token("admin").await;
    assert_eq!(house.delete(&user, &admin).await.0, 200);
    assert_eq!(house.get("/api/me", &second).await.0, 401, "dies with its user");
}

#[actix_web::test]
async fn keys_are_bounded_and_bad_ones_are_not_made() {
    let house = House::new();
    let ann = house.add_user("ann", Role::ViewOnly).await;
    let long = "é".repeat(limits::API_KEY_NAME_CHARS_MAX + 1);
    for body in [
        json!({}),
        json!({ "name": 5 }),
        json!({ "name": " " }),
        json!({ "name": long }),
        json!({ "name": "x", "scope": "admin" }),
        json!({ "name": "x", "scope": 1 }),
    ] {
        let answer = house.post(KEYS, &ann, &body).await;
        assert_eq!((answer.0, code(&answer)), (400, "bad-request"), "{body}");
        assert_eq!(house.post(KEYS, "", &body).await.0, 400, "before anybody is asked");
    }
    assert_eq!(house.post(KEYS, "", &json!({ "name": "x" })).await.0, 401);
    for _ in 0..limits::API_KEYS_PER_USER_MAX {
        key(&house, &ann, "read").await;
    }
    let answer = house.post(KEYS, &ann, &json!({ "name": "x" })).await;
    assert_eq!((answer.0, code(&answer)), (400, "bad-request"));
}
