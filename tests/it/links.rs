//! Links and pixels over the API: whose they are, what is refused, and what leaves with them.

use serde_json::{Value, json};
use sumimi::limits;
use sumimi::store::accounts::Role;
use sumimi::websites::LinkKind;

use crate::app::{House, code};

const W1: &str = "11111111-1111-4111-8111-111111111111";
const L1: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const UNKNOWN: &str = "99999999-9999-4999-8999-999999999999";

fn link(slug: &str) -> Value {
    json!({ "name": "N", "slug": slug, "url": "https://target.example/x?y=1#z" })
}

/// Creates one; its id.
async fn create(house: &House, base: &str, token: &str, body: &Value) -> String {
    let (status, created) = house.post(base, token, body).await;
    assert_eq!(status, 200, "{body} {created}");
    created["id"].as_str().expect("an id").to_owned()
}

#[actix_web::test]
async fn a_link_and_a_pixel_live_from_creation_to_their_end() {
    let house = House::new();
    let admin = house.token("admin").await;
    for (base, kind) in [("/api/links", LinkKind::Link), ("/api/pixels", LinkKind::Pixel)] {
        let new = json!({ "id": L1, "name": "Ü", "slug": "s-1", "url": "http://a.example" });
        let (status, created) = house.post(base, &admin, &new).await;
        assert_eq!(status, 200, "{created}");
        for (field, expected) in [
            ("id", json!(L1)),
            ("name", json!("Ü")),
            ("slug", json!("s-1")),
            ("teamId", Value::Null),
            ("deletedAt", Value::Null),
            ("updatedAt", created["createdAt"].clone()),
        ] {
            assert_eq!(created.get(field), Some(&expected), "{field}");
        }
        let url = (kind == LinkKind::Link).then(|| json!("http://a.example"));
        assert_eq!(created.get("url"), url.as_ref(), "a pixel leads nowhere");
        let path = format!("{base}/{L1}");
        assert_eq!(house.get(&path, &admin).await, (200, created));

        let known = house.directory.link_of_slug(kind, "s-1").expect("known at once");
        assert_eq!(house.directory.subject(L1.parse().expect("a UUID")), Some(known.subject));
        assert!(house.directory.get(known.subject.id).is_none(), "it is no website");
        let renamed = json!({ "slug": "s2", "name": null });
        let (status, changed) = house.post(&path, &admin, &renamed).await;
        assert_eq!((status, &changed["slug"], &changed["name"]), (200, &json!("s2"), &json!("Ü")));
        assert!(house.directory.link_of_slug(kind, "s-1").is_none());
        assert!(house.directory.link_of_slug(kind, "s2").is_some());

        assert_eq!(house.delete(&path, &admin).await, (200, json!({ "ok": true })));
        assert!(house.directory.link_of_slug(kind, "s2").is_none(), "unknown at once");
        assert_eq!(house.get(&path, &admin).await, (200, Value::Null));
        for answer in [house.delete(&path, &admin).await, house.post(&path, &admin, &renamed).await]
        {
            assert_eq!((answer.0, code(&answer)), (404, "not-found"));
        }
        assert_eq!(create(&house, base, &admin, &new).await, L1);
        let again = house.directory.link_of_slug(kind, "s-1").expect("known again");
        assert!(again.subject.key > known.subject.key, "under a new key");
        house.delete(&path, &admin).await;
    }
}

#[actix_web::test]
async fn what_does_not_fit_is_a_bad_request_even_without_a_token() {
    let house = House::new();
    let admin = house.token("admin").await;
    house.post("/api/websites", &admin, &json!({ "id": W1, "name": "", "domain": "" })).await;
    let taken = create(&house, "/api/links", &admin, &link("taken")).await;
    let with = |field: &str, value: Value| {
        let mut body = link("new");
        body[field] = value;
        body
    };
    let long = format!("https://a.example/{}", "x".repeat(limits::LINK_URL_BYTES_MAX));
    let mut bad = vec![
        Value::Null,
        json!({}),
        with("name", json!(5)),
        with("name", json!("n".repeat(limits::LINK_NAME_CHARS_MAX + 1))),
        with("slug", Value::Null),
        with("slug", json!("s".repeat(limits::LINK_SLUG_CHARS_MAX + 1))),
        with("url", Value::Null),
        with("id", json!("zzz")),
        with("teamId", json!("zzz")),
    ];
    for slug in ["", ".", "..", "a/b", "a b", "a?b", "a#b", "a%2fb", "a\\b", "a\nb", "a\0"] {
        bad.push(with("slug", json!(slug)));
    }
    for url in [
        "",
        "target.example",
        "/path",
        "//target.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://a.example/",
        "mailto:a@a.example",
        "http://",
        "https://[bad",
        &long,
    ] {
        bad.push(with("url", json!(url)));
    }
    for body in bad {
        for token in [&*admin, "", "not a token"] {
            let answer = house.post("/api/links", token, &body).await;
            assert_eq!((answer.0, code(&answer)), (400, "bad-request"), "{body}");
        }
    }
    for body in [link("taken"), with("id", json!(taken)), with("id", json!(W1))] {
        assert_eq!(house.post("/api/links", &admin, &body).await.0, 400, "{body}");
        assert_eq!(house.post("/api/links", "", &body).await.0, 401, "{body}");
    }
    let website = json!({ "id": taken, "name": "", "domain": "" });
    assert_eq!(house.post("/api/websites", &admin, &website).await.0, 400, "the id is a link's");
    assert_eq!(house.post("/api/links", &admin, &with("teamId", json!(W1))).await.0, 401);
    create(&house, "/api/pixels", &admin, &link("taken")).await;
    let other = create(&house, "/api/links", &admin, &link("Ä-other_1.~")).await;
    let path = format!("/api/links/{other}");
    for body in [json!({ "slug": "taken" }), json!({ "slug": "a/b" }), json!({ "url": "x:y" })] {
        assert_eq!(house.post(&path, &admin, &body).await.0, 400, "{body}");
    }
    assert_eq!(house.post(&path, &admin, &json!({ "slug": "Ä-other_1.~" })).await.0, 200);
    assert_eq!(house.directory.links_len(), 3);
}

#[actix_web::test]
async fn others_links_look_as_if_they_did_not_exist() {
    let house = House::new();
    let admin = house.token("admin").await;
    let ann = house.add_user("ann", Role::User).await;
    let viewer = house.add_user("viewer", Role::ViewOnly).await;
    let website = json!({ "id": W1, "name": "ann's", "domain": "" });
    house.post("/api/websites", &ann, &website).await;
    for base in ["/api/links", "/api/pixels"] {
        let of_admin = create(&house, base, &admin, &link("a")).await;
        let of_ann = create(&house, base, &ann, &link("b")).await;
        assert_eq!(house.post(base, &viewer, &link("c")).await.0, 401);
        assert_eq!(house.post(base, "", &link("c")).await.0, 401);
        let cases = [
            (&*ann, &*of_admin, 401),
            (&ann, UNKNOWN, 401),
            (&ann, W1, 401),
            (&viewer, &of_ann, 401),
            ("", &of_ann, 401),
            ("", "no-id", 401),
            (&ann, "no-id", 400),
            (&ann, &of_ann, 200),
            (&admin, &of_ann, 200),
        ];
        for (token, id, expected) in cases {
            let path = format!("{base}/{id}");
            assert_eq!(house.get(&path, token).await.0, expected, "{path}");
            let changed = house.post(&path, token, &json!({ "name": "x" })).await;
            assert_eq!(changed.0, expected, "{path}");
            if expected != 200 {
                assert_eq!(house.delete(&path, token).await.0, expected, "{path}");
            }
        }
        let other = if base == "/api/links" { "/api/pixels" } else { "/api/links" };
        assert_eq!(house.get(&format!("{other}/{of_ann}"), &ann).await.0, 401, "another kind");
        for tail in ["", "/reset"] {
            let path = format!("/api/websites/{of_ann}{tail}");
            let body = json!({ "name": "x" });
            assert_eq!(house.post(&path, &ann, &body).await.0, 404, "it is no website");
        }
        assert_eq!(house.delete(&format!("/api/websites/{of_ann}"), &ann).await.0, 404);
        assert_eq!(house.get(&format!("{base}/{of_ann}"), &ann).await.0, 200);
    }
}

#[actix_web::test]
async fn a_list_shows_ones_own_page_by_page() {
    let house = House::new();
    let admin = house.token("admin").await;
    let ann = house.add_user("ann", Role::User).await;
    for (name, slug, url) in [
        ("One", "first", "https://a.example"),
        ("Two", "second", "https://one.example"),
        ("ÉTÉ", "one", "https://b.example"),
        ("Four", "fourth", "https://b.example"),
    ] {
        let body = json!({ "name": name, "slug": slug, "url": url });
        create(&house, "/api/links", &admin, &body).await;
    }
    create(&house, "/api/links", &ann, &link("one-of-ann")).await;
    create(&house, "/api/pixels", &admin, &link("one")).await;
    for (query, names, count) in [
        ("", vec!["One", "Two", "ÉTÉ", "Four"], 4),
        ("?page=2&pageSize=3", vec!["Four"], 4),
        ("?page=9", vec![], 4),
        ("?search=ONE", vec!["One", "Two", "ÉTÉ"], 3),
        ("?search=%C3%A9t%C3%A9", vec!["ÉTÉ"], 1),
        ("?search=%25", vec![], 0),
    ] {
        let (status, body) = house.get(&format!("/api/links{query}"), &admin).await;
        let rows = body["data"].as_array().expect("rows");
        let found: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
        assert_eq!((status, found, &body["count"]), (200, names, &json!(count)), "{query}");
    }
    assert_eq!(house.get("/api/pixels", &admin).await.1["count"], 1);
    assert_eq!(house.get("/api/pixels", &ann).await.1["count"], 0);
    assert_eq!(house.get("/api/links?page=0", "").await.0, 400);
    assert_eq!(house.get("/api/links", "").await.0, 401);
}

#[actix_web::test]
async fn links_survive_a_restart_and_pass_to_the_heir() {
    let house = House::new();
    let admin = house.token("admin").await;
    let ann = house.add_user("ann", Role::User).await;
    let id = create(&house, "/api/links", &ann, &link("Größe")).await;
    let before = house.directory.link_of_slug(LinkKind::Link, "Größe").expect("known");
    let House { data_dir, store, directory, auth } = house;
    drop((store, directory, auth));
    let house = House::open(data_dir);
    assert_eq!(house.directory.link_of_slug(LinkKind::Link, "Größe").as_ref(), Some(&before));

    let owner = before.subject.owner.user().expect("an owner");
    assert_eq!(house.delete(&format!("/api/users/{owner}"), &admin).await.0, 200);
    let path = format!("/api/links/{id}");
    let me = house.get("/api/me", &admin).await.1["user"]["id"].clone();
    assert_eq!(house.get(&path, &admin).await.1["userId"], me);
    assert_eq!(house.get("/api/links", &admin).await.1["count"], 1);
    let after = house.directory.link_of_slug(LinkKind::Link, "Größe").expect("still known");
    assert_eq!(json!(after.subject.owner.user().map(|id| id.to_string())), me);
}
