//! People over the API: who may do what to whom, what ends a login, and what stays when somebody leaves.

use serde_json::{Value, json};
use sumimi::limits;
use sumimi::store::accounts::Role;

use crate::app::{Answer, House, PASSWORD, code};

const UNKNOWN: &str = "99999999-9999-4999-8999-999999999999";

async fn id_of(house: &House, token: &str) -> String {
    let (status, me) = house.get("/api/me", token).await;
    assert_eq!(status, 200, "{me}");
    me["user"]["id"].as_str().expect("an id").to_owned()
}

fn path(id: &str) -> String {
    format!("/api/users/{id}")
}

fn is_bad(answer: &Answer) -> bool {
    answer.0 == 400 && code(answer) == "bad-request"
}

#[actix_web::test]
async fn a_user_lives_from_creation_to_removal() {
    let house = House::new();
    let admin = house.token("admin").await;
    let new = json!({ "username": "Zoë 山", "password": PASSWORD, "role": "user" });
    let (status, created) = house.post("/api/users", &admin, &new).await;
    assert_eq!(
        (status, &created["username"], &created["role"]),
        (200, &new["username"], &json!("user"))
    );
    assert!(created.get("password").is_none());
    let id = created["id"].as_str().expect("an id").to_owned();
    assert!(is_bad(&house.post("/api/users", &admin, &new).await), "the name is taken");

    let (status, shown) = house.get(&path(&id), &admin).await;
    assert_eq!((status, &shown["username"]), (200, &new["username"]));
    let (status, list) = house.get("/api/admin/users", &admin).await;
    assert_eq!((status, &list["count"], &list["data"][0]["id"]), (200, &json!(2), &json!(id)));
    let (_, found) = house.get("/api/admin/users?search=ZO%C3%AB", &admin).await;
    assert_eq!((&found["count"], &found["data"][0]["id"]), (&json!(1), &json!(id)));
    let (_, second) = house.get("/api/admin/users?page=2&pageSize=1", &admin).await;
    assert_eq!((&second["count"], &second["data"][0]["username"]), (&json!(2), &json!("admin")));

    let renamed = json!({ "username": "zoe", "password": "" });
    let (status, changed) = house.post(&path(&id), &admin, &renamed).await;
    assert_eq!((status, &changed["username"]), (200, &json!("zoe")));
    house.token("zoe").await;

    assert_eq!(house.delete(&path(&id), &admin).await, (200, json!({ "ok": true })));
    assert_eq!(house.get(&path(&id), &admin).await, (200, Value::Null));
    for answer in [
        house.delete(&path(&id), &admin).await,
        house.post(&path(&id), &admin, &json!({ "username": "x" })).await,
    ] {
        assert_eq!((answer.0, code(&answer)), (404, "not-found"));
    }
}

#[actix_web::test]
async fn who_is_no_admin_sees_only_themselves_and_changes_nobody() {
    let house = House::new();
    let admin = house.token("admin").await;
    let admin_id = id_of(&house, &admin).await;
    let new = json!({ "username": "x", "password": PASSWORD, "role": "admin" });
    for (name, role) in [("ann", Role::User), ("vic", Role::ViewOnly)] {
        let token = house.add_user(name, role).await;
        let own = id_of(&house, &token).await;
        assert_eq!(house.get(&path(&own), &token).await.1["username"], name);
        assert_eq!(house.get(&format!("{}/websites", path(&own)), &token).await.0, 200);
        for token in [token.as_str(), "", "abc"] {
            let raise = json!({ "role": "admin", "password": "another password" });
            for answer in [
                house.post("/api/users", token, &new).await,
                house.get(&path(&admin_id), token).await,
                house.get(&path(UNKNOWN), token).await,
                house.get(&format!("{}/websites", path(&admin_id)), token).await,
                house.post(&path(&own), token, &raise).await,
                house.post(&path(&admin_id), token, &raise).await,
                house.delete(&path(&own), token).await,
                house.delete(&path(&admin_id), token).await,
                house.get("/api/admin/users", token).await,
                house.get("/api/admin/websites", token).await,
            ] {
                assert_eq!((answer.0, code(&answer)), (401, "unauthorized"), "{name}");
            }
        }
    }
    assert_eq!(house.get("/api/admin/users", &admin).await.1["count"], 3);
}

#[actix_web::test]
async fn a_new_role_or_password_ends_every_login_at_once() {
    let house = House::new();
    let admin = house.token("admin").await;
    let first = house.add_user("ann", Role::User).await;
    let id = id_of(&house, &first).await;
    let second = house.token("ann").await;
    assert_eq!(house.post(&path(&id), &admin, &json!({ "username": "anna" })).await.0, 200);
    assert_eq!(house.get("/api/me", &first).await.0, 200, "another name changes no right");

    assert_eq!(house.post(&path(&id), &admin, &json!({ "role": "view-only" })).await.0, 200);
    for token in [&first, &second] {
        assert_eq!(house.get("/api/me", token).await.0, 401);
    }
    let token = house.token("anna").await;
    let site = json!({ "name": "n", "domain": "d" });
    assert_eq!(house.post("/api/websites", &token, &site).await.0, 401, "view-only");

    let changed = house.post(&path(&id), &admin, &json!({ "password": "another password" })).await;
    assert_eq!(changed.0, 200);
    assert_eq!(house.get("/api/me", &token).await.0, 401);
    let old = json!({ "username": "anna", "password": PASSWORD });
    assert_eq!(house.post("/api/auth/login", "", &old).await.0, 401);
    let new = json!({ "username": "anna", "password": "another password" });
    assert_eq!(house.post("/api/auth/login", "", &new).await.0, 200);
}

#[actix_web::test]
async fn somebody_may_always_do_everything() {
    let house = House::new();
    let admin = house.token("admin").await;
    let id = id_of(&house, &admin).await;
    assert!(is_bad(&house.delete(&path(&id), &admin).await), "nobody removes themselves");
    assert!(is_bad(&house.post(&path(&id), &admin, &json!({ "role": "user" })).await));
    assert_eq!(house.get("/api/me", &admin).await.0, 200, "nothing was changed");
    house.add_user("second", Role::Admin).await;
    assert_eq!(house.post(&path(&id), &admin, &json!({ "role": "user" })).await.0, 200);
    assert_eq!(house.get("/api/me", &admin).await.0, 401);
}

#[actix_web::test]
async fn the_websites_of_who_leaves_go_to_who_removed_them() {
    let house = House::new();
    let admin = house.token("admin").await;
    let token = house.add_user("ann", Role::User).await;
    let id = id_of(&house, &token).await;
    let site = json!({ "name": "n", "domain": "d" });
    let (_, site) = house.post("/api/websites", &token, &site).await;
    let site_id = site["id"].as_str().expect("an id");
    let (_, all) = house.get("/api/admin/websites", &admin).await;
    assert_eq!((&all["count"], &all["data"][0]["user"]["username"]), (&json!(1), &json!("ann")));
    assert_eq!(
        house.get("/api/admin/users?search=ann", &admin).await.1["data"][0]["_count"]["websites"],
        1
    );
    assert_eq!(house.get(&format!("{}/websites", path(&id)), &admin).await.1["count"], 1);
    assert_eq!(house.get("/api/websites", &admin).await.1["count"], 0);

    assert_eq!(house.delete(&path(&id), &admin).await.0, 200);
    let (_, own) = house.get("/api/websites", &admin).await;
    assert_eq!((&own["count"], &own["data"][0]["id"]), (&json!(1), &json!(site_id)));
    let owner = house.directory.get(uuid::Uuid::try_parse(site_id).expect("a UUID"));
    assert_eq!(
        owner.expect("still known").owner.user().map(|id| id.to_string()),
        Some(id_of(&house, &admin).await)
    );
    assert_eq!(house.get(&format!("/api/websites/{site_id}"), &token).await.0, 401);
}

#[actix_web::test]
async fn what_is_no_user_is_a_bad_request_even_from_strangers() {
    let house = House::new();
    let admin = house.token("admin").await;
    let long = "n".repeat(limits::USERNAME_CHARS_MAX + 1);
    for token in ["", admin.as_str()] {
        for body in [
            json!({}),
            json!([]),
            json!({ "username": "x", "password": PASSWORD }),
            json!({ "username": "x", "password": "short", "role": "user" }),
            json!({ "username": " ", "password": PASSWORD, "role": "user" }),
            json!({ "username": long, "password": PASSWORD, "role": "user" }),
            json!({ "username": "x", "password": PASSWORD, "role": "owner" }),
            json!({ "username": 5, "password": PASSWORD, "role": "user" }),
            json!({ "id": "1", "username": "x", "password": PASSWORD, "role": "user" }),
        ] {
            assert!(is_bad(&house.post("/api/users", token, &body).await), "{body}");
        }
        for body in [
            json!({ "username": "" }),
            json!({ "username": long }),
            json!({ "password": "short" }),
            json!({ "role": "" }),
        ] {
            assert!(is_bad(&house.post(&path(UNKNOWN), token, &body).await), "{body}");
        }
        for id in ["1", "not-a-uuid", "%00"] {
            assert!(is_bad(&house.get(&path(id), token).await), "{id}");
            assert!(is_bad(&house.delete(&path(id), token).await), "{id}");
        }
    }
    assert_eq!(house.get("/api/users", &admin).await.0, 405);
}
