//! Websites over the API: whose they are, what is refused, and that the directory follows at once.

use actix_web::http::Method;
use serde_json::{Value, json};
use sumimi::limits;
use sumimi::store::accounts::Role;
use sumimi::store::websites::NewWebsite;
use sumimi::websites::Owner;
use uuid::Uuid;

use crate::app::{House, code};

const W1: &str = "11111111-1111-4111-8111-111111111111";
const W2: &str = "abcdefab-2222-4222-8222-222222222222";
const UNKNOWN: &str = "99999999-9999-4999-8999-999999999999";

fn path(id: &str) -> String {
    format!("/api/websites/{id}")
}

fn id(text: &str) -> Uuid {
    Uuid::try_parse(text).expect("a UUID")
}

#[actix_web::test]
async fn a_website_lives_from_its_creation_to_its_end() {
    let house = House::new();
    let admin = house.token("admin").await;
    let new = json!({ "id": W1, "name": "Übersicht 山", "domain": "example.com" });
    let (status, created) = house.post("/api/websites", &admin, &new).await;
    assert_eq!(status, 200);
    for (field, expected) in [
        ("id", json!(W1)),
        ("name", json!("Übersicht 山")),
        ("domain", json!("example.com")),
        ("resetAt", Value::Null),
        ("teamId", Value::Null),
        ("createdBy", created["userId"].clone()),
        ("updatedAt", created["createdAt"].clone()),
        ("deletedAt", Value::Null),
        ("replayEnabled", json!(false)),
        ("replayConfig", Value::Null),
        ("shareId", Value::Null),
    ] {
        assert_eq!(created.get(field), Some(&expected), "{field}");
    }
    let key = house.directory.get(id(W1)).expect("known at once").key;
    assert_eq!(house.get(&path(&W1.to_uppercase()), &admin).await, (200, created));

    let (status, changed) = house.post(&path(W1), &admin, &json!({ "name": "N" })).await;
    assert_eq!((status, &changed["name"], &changed["domain"]), (200, &json!("N"), &new["domain"]));

    let ok = (200, json!({ "ok": true }));
    assert_eq!(house.post(&format!("{}/reset", path(W1)), &admin, &Value::Null).await, ok);
    let reset_at = house.directory.get(id(W1)).expect("still known").reset_at;
    assert!(reset_at.is_some());
    assert!(house.get(&path(W1), &admin).await.1["resetAt"].is_string());

    assert_eq!(house.delete(&path(W1), &admin).await, ok);
    assert!(house.directory.get(id(W1)).is_none(), "unknown at once");
    assert_eq!(house.get(&path(W1), &admin).await, (200, Value::Null));
    for answer in [
        house.delete(&path(W1), &admin).await,
        house.post(&path(W1), &admin, &json!({ "name": "x" })).await,
        house.post(&format!("{}/reset", path(W1)), &admin, &Value::Null).await,
    ] {
        assert_eq!((answer.0, code(&answer)), (404, "not-found"));
    }
    house.post("/api/websites", &admin, &new).await;
    assert!(house.directory.get(id(W1)).expect("known again").key > key, "under a new key");
}

#[actix_web::test]
async fn the_directory_is_the_same_after_a_restart() {
    let house = House::new();
    let admin = house.token("admin").await;
    for new in
        [json!({ "id": W1, "name": "", "domain": "" }), json!({ "name": "x", "domain": "y" })]
    {
        assert_eq!(house.post("/api/websites", &admin, &new).await.0, 200);
    }
    house.post(&format!("{}/reset", path(W1)), &admin, &Value::Null).await;
    let before = house.directory.get(id(W1));
    let House { data_dir, store, directory, auth } = house;
    drop((store, directory, auth));
    let house = House::open(data_dir);
    assert_eq!(house.directory.get(id(W1)), before);
    assert_eq!(house.directory.len(), 2);
}

#[actix_web::test]
async fn what_does_not_fit_is_a_bad_request_even_without_a_token() {
    let house = House::new();
    let admin = house.token("admin").await;
    let first = json!({ "id": W1, "name": "x", "domain": "x", "shareId": "a-share-id" });
    assert_eq!(house.post("/api/websites", &admin, &first).await.0, 200);
    let with = |field: &str, value: Value| {
        let mut body = json!({ "name": "x", "domain": "x" });
        body[field] = value;
        body
    };
    let good = [
        with("name", json!("é".repeat(limits::WEBSITE_NAME_CHARS_MAX))),
        with("domain", json!("not a domain!!")),
        with("id", Value::Null),
        with("shareId", json!("")),
        with("name", json!("a\0b\u{202e}'; DROP TABLE website; --")),
    ];
    for body in good {
        let (status, created) = house.post("/api/websites", &admin, &body).await;
        assert_eq!((status, &created["name"]), (200, &body["name"]), "{body}");
    }
    let bad = [
        Value::Null,
        json!([]),
        json!({}),
        json!({ "name": "x" }),
        json!({ "domain": "x" }),
        with("name", json!(5)),
        with("name", json!("n".repeat(limits::WEBSITE_NAME_CHARS_MAX + 1))),
        with("domain", json!("d".repeat(limits::WEBSITE_DOMAIN_CHARS_MAX + 1))),
        with("shareId", json!("s".repeat(limits::SHARE_ID_CHARS_MAX + 1))),
        with("id", json!("zzz")),
        with("id", json!("11111111111141118111111111111111")),
        with("id", json!("11111111-1111-0111-8111-111111111111")),
        with("teamId", json!("")),
    ];
    for body in bad {
        for token in [&*admin, "", "not a token"] {
            let answer = house.post("/api/websites", token, &body).await;
            assert_eq!((answer.0, code(&answer)), (400, "bad-request"), "{body}");
        }
    }
    for taken in [with("id", json!(W1)), with("shareId", json!("a-share-id"))] {
        assert_eq!(house.post("/api/websites", &admin, &taken).await.0, 400, "{taken}");
        assert_eq!(house.post("/api/websites", "", &taken).await.0, 401, "{taken}");
    }
    assert_eq!(house.post("/api/websites", &admin, &with("teamId", json!(W1))).await.0, 401);
    let large = vec![b' '; limits::API_BODY_BYTES_MAX + 1];
    for target in ["/api/websites".to_owned(), path(W1)] {
        let answer = house.call(Method::POST, &target, &admin, large.clone()).await;
        assert_eq!((answer.0, code(&answer)), (413, "too-large"));
    }
    assert_eq!(house.directory.len(), 6);
}

#[actix_web::test]
async fn a_change_touches_only_what_it_names() {
    let house = House::new();
    let admin = house.token("admin").await;
    let new = json!({ "id": W1, "name": "one", "domain": "d", "shareId": "sharesharesh" });
    house.post("/api/websites", &admin, &new).await;
    house.post("/api/websites", &admin, &json!({ "id": W2, "name": "two", "domain": "d" })).await;
    let config = json!({ "sampleRate": 0.5, "maskLevel": "strict", "maxDuration": 60 });
    let cases = [
        (json!({}), "shareId", json!("sharesharesh")),
        (json!({ "domain": "" }), "domain", json!("")),
        (json!({ "shareId": "another one" }), "shareId", json!("another one")),
        (json!({ "shareId": null }), "shareId", Value::Null),
        (json!({ "replayEnabled": true, "replayConfig": config }), "replayConfig", config.clone()),
        (json!({ "unknown": 5 }), "replayEnabled", json!(true)),
        (json!({ "replayConfig": null }), "replayConfig", Value::Null),
    ];
    for (body, field, expected) in cases {
        let (status, changed) = house.post(&path(W1), &admin, &body).await;
        assert_eq!((status, &changed[field]), (200, &expected), "{body}");
        assert_eq!(changed["name"], "one");
        assert_eq!(house.get(&path(W1), &admin).await.1, changed);
    }
    for body in [
        json!({ "name": 5 }),
        json!({ "name": null }),
        json!({ "name": "n".repeat(limits::WEBSITE_NAME_CHARS_MAX + 1) }),
        json!({ "replayConfig": [] }),
        json!({ "replayConfig": { "x": "y".repeat(limits::REPLAY_CONFIG_BYTES_MAX) } }),
        Value::Null,
    ] {
        assert_eq!(house.post(&path(W1), &admin, &body).await.0, 400, "{body}");
        assert_eq!(house.post(&path(W1), "", &body).await.0, 400, "{body}");
    }
    assert_eq!(house.get(&path(W2), &admin).await.1["name"], "two");
}

#[actix_web::test]
async fn others_websites_look_as_if_they_did_not_exist() {
    let house = House::new();
    let admin = house.token("admin").await;
    let ann = house.add_user("ann", Role::User).await;
    let viewer = house.add_user("viewer", Role::ViewOnly).await;
    let new = json!({ "id": W1, "name": "admin's", "domain": "x" });
    assert_eq!(house.post("/api/websites", &admin, &new).await.0, 200);
    let new = json!({ "id": W2, "name": "ann's", "domain": "x" });
    assert_eq!(house.post("/api/websites", &ann, &new).await.0, 200);
    assert_eq!(
        house.post("/api/websites", &viewer, &json!({ "name": "", "domain": "" })).await.0,
        401
    );

    for (token, target, expected) in [
        (&*ann, W1, 401),
        (&ann, UNKNOWN, 401),
        (&viewer, W1, 401),
        (&viewer, W2, 401),
        ("", W1, 401),
        ("", "no-id", 401),
        (&ann, "no-id", 400),
        (&admin, "no-id", 400),
        (&admin, "%00%ff", 400),
    ] {
        for answer in [
            house.get(&path(target), token).await,
            house.post(&path(target), token, &json!({ "name": "h" })).await,
            house.delete(&path(target), token).await,
            house.post(&format!("{}/reset", path(target)), token, &Value::Null).await,
        ] {
            assert_eq!(answer.0, expected, "{target} {answer:?}");
        }
    }
    for (token, target, expected) in
        [(&ann, W2, 200), (&admin, W2, 200), (&admin, W1, 200), (&ann, W1, 401)]
    {
        let bearer =
            sumimi::auth::Bearer { token: Some(token.clone()), share: None, ..Default::default() };
        let website = house.auth.website(&bearer, target).await;
        assert_eq!(website.is_ok(), expected == 200);
        assert_eq!(house.get(&path(target), token).await.0, expected);
    }
    let bearer =
        sumimi::auth::Bearer { token: Some(admin.clone()), share: None, ..Default::default() };
    assert_eq!(house.auth.website(&bearer, UNKNOWN).await.expect("for an admin").key, 0);
    assert_eq!(house.post(&path(W2), &admin, &json!({ "name": "by admin" })).await.0, 200);
    assert_eq!(house.get(&path(W1), &admin).await.1["name"], "admin's");
}

#[actix_web::test]
async fn who_may_only_look_cannot_change_even_their_own_website() {
    let house = House::new();
    let viewer = house.add_user("viewer", Role::ViewOnly).await;
    let owner = house.auth.accounts().by_name("viewer").expect("a user").id;
    let new = NewWebsite {
        id: id(W1),
        name: "theirs".to_owned(),
        domain: String::new(),
        share_id: None,
        owner: Owner::User(owner),
        created_by: owner,
    };
    house.store.create_website(&house.directory, &new).expect("works").expect("created");
    assert_eq!(house.get(&path(W1), &viewer).await.1["name"], "theirs");
    for answer in [
        house.post(&path(W1), &viewer, &json!({ "name": "h" })).await,
        house.delete(&path(W1), &viewer).await,
        house.post(&format!("{}/reset", path(W1)), &viewer, &Value::Null).await,
    ] {
        assert_eq!((answer.0, code(&answer)), (401, "unauthorized"));
    }
}

#[actix_web::test]
async fn a_list_shows_ones_own_websites_page_by_page() {
    let house = House::new();
    let admin = house.token("admin").await;
    let ann = house.add_user("ann", Role::User).await;
    for (name, domain) in [("One", "a.example"), ("Two", "b.example"), ("ÉTÉ", "one.example")] {
        house.post("/api/websites", &admin, &json!({ "name": name, "domain": domain })).await;
    }
    house.post("/api/websites", &ann, &json!({ "name": "Ann's", "domain": "one.example" })).await;
    let cases = [
        ("", vec!["One", "Two", "ÉTÉ"], 3),
        ("?pageSize=2", vec!["One", "Two"], 3),
        ("?page=2&pageSize=2", vec!["ÉTÉ"], 3),
        ("?page=9", vec![], 3),
        ("?search=one", vec!["One", "ÉTÉ"], 2),
        ("?search=%C3%A9t%C3%A9&orderBy=name&includeTeams=true", vec!["ÉTÉ"], 1),
        ("?search=%25", vec![], 0),
        ("?search=", vec!["One", "Two", "ÉTÉ"], 3),
    ];
    for (query, names, count) in cases {
        for route in ["/api/websites", "/api/me/websites"] {
            let (status, body) = house.get(&format!("{route}{query}"), &admin).await;
            let found: Vec<&str> = body["data"]
                .as_array()
                .expect("rows")
                .iter()
                .map(|row| row["name"].as_str().expect("a name"))
                .collect();
            assert_eq!(
                (status, found, &body["count"]),
                (200, names.clone(), &json!(count)),
                "{query}"
            );
        }
    }
    let (_, body) = house.get("/api/websites?search=one&pageSize=5", &ann).await;
    assert_eq!(body["data"][0]["user"]["username"], "ann");
    assert_eq!(
        (&body["search"], &body["pageSize"], &body["page"]),
        (&json!("one"), &json!(5), &json!(1))
    );
    for query in ["?page=0", "?pageSize=-1", "?pageSize=x", "?page=%ff"] {
        let answer = house.get(&format!("/api/websites{query}"), "").await;
        assert_eq!((answer.0, code(&answer)), (400, "bad-request"), "{query}");
    }
    assert_eq!(house.get("/api/websites", "").await.0, 401);
    assert_eq!(house.call(Method::PUT, "/api/websites", &admin, Vec::new()).await.0, 405);
}
