//! Signing in and out: what a token is good for, and what ends it.

use actix_web::FromRequest;
use actix_web::http::Method;
use actix_web::test::TestRequest;
use serde_json::{Value, json};
use sumimi::auth::token::{Key, Login};
use sumimi::cmd::user;
use sumimi::store::accounts::Role;
use sumimi::{clock, limits};

use crate::app::{House, PASSWORD, SECRET, code};

#[actix_web::test]
async fn who_signs_in_is_known_by_the_token() {
    let house = House::new();
    let credentials = json!({ "username": "admin", "password": PASSWORD });
    let (status, body) = house.post("/api/auth/login", "", &credentials).await;
    assert_eq!(status, 200);
    let user = &body["user"];
    assert_eq!(user["username"], "admin");
    assert_eq!(user["role"], "admin");
    assert_eq!(user["isAdmin"], true);
    assert_eq!(user["teams"], json!([]));
    assert!(user["createdAt"].as_str().is_some_and(|text| text.ends_with('Z')));

    let token = body["token"].as_str().expect("a token");
    let (status, verified) = house.post("/api/auth/verify", token, &Value::Null).await;
    assert_eq!((status, &verified), (200, user));
    let (status, me) = house.get("/api/me", token).await;
    assert_eq!(status, 200);
    assert_eq!(me["user"]["id"], user["id"]);
    assert_eq!(me["shareToken"], Value::Null);
}

#[actix_web::test]
async fn a_wrong_name_and_a_wrong_password_get_the_same_answer() {
    let house = House::new();
    house.add_user("Zoë 山", Role::User).await;
    let mut answers = Vec::new();
    for (username, password) in [
        ("admin", "wrong"),
        ("nobody", PASSWORD),
        ("ADMIN", PASSWORD),
        ("zoë 山", PASSWORD),
        ("", ""),
    ] {
        let credentials = json!({ "username": username, "password": password });
        answers.push(house.post("/api/auth/login", "", &credentials).await);
    }
    assert_eq!(code(&answers[0]), "incorrect-username-password");
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(answers[0].0, 401);
}

#[actix_web::test]
async fn a_hash_by_bcrypt_is_replaced_at_the_first_sign_in() {
    let house = House::new();
    let foreign = "$2b$10$BUli0c.muyCW1ErNJc3jL.vFRFtFJWrT8/GcR4A.sUdCznaXiqFXa";
    let accounts = house.auth.accounts();
    accounts.create("ann", Role::User, foreign).expect("works").expect("new");
    let hash = || accounts.by_name("ann").expect("ann").password_hash.clone();
    let sign_in = async |password: &str| {
        let credentials = json!({ "username": "ann", "password": password });
        house.post("/api/auth/login", "", &credentials).await
    };
    assert_eq!(sign_in("wrong").await.0, 401);
    assert_eq!(hash(), foreign);
    let (status, first) = sign_in("umami").await;
    assert_eq!(status, 200);
    assert!(hash().starts_with("$argon2id$"), "{}", hash());
    assert_eq!(sign_in("umami").await.0, 200);
    assert_eq!(sign_in("wrong").await.0, 401);
    let token = first["token"].as_str().expect("a token");
    assert_eq!(house.get("/api/me", token).await.0, 200, "no login ends by it");
}

#[actix_web::test]
async fn a_login_without_a_name_or_password_is_a_bad_request() {
    let house = House::new();
    for body in
        ["", "{", "[]", "null", "{}", r#"{"username":"admin"}"#, "{\"username\":5,\"password\":5}"]
    {
        let answer = house.call(Method::POST, "/api/auth/login", "", body.into()).await;
        assert_eq!((answer.0, code(&answer)), (400, "bad-request"), "{body:?}");
    }
    let large = format!(r#"{{"username":"{}"}}"#, "a".repeat(limits::API_BODY_BYTES_MAX));
    let answer = house.call(Method::POST, "/api/auth/login", "", large.into_bytes()).await;
    assert_eq!((answer.0, code(&answer)), (413, "too-large"));
}

#[actix_web::test]
async fn only_a_token_of_ours_that_is_still_valid_is_accepted() {
    let house = House::new();
    let good = house.token("admin").await;
    let account = house.auth.accounts().by_name("admin").expect("an admin");
    let key = Key::new(SECRET).expect("a good secret");
    let login = Login {
        user_id: account.id,
        issued_at: clock::now_ms(),
        token_epoch: account.token_epoch,
        login_id: 1,
    };
    let expired = Login { issued_at: clock::now_ms() - limits::LOGIN_MS_MAX, ..login };
    let other_epoch = Login { token_epoch: account.token_epoch + 1, ..login };
    let other_user = Login { user_id: uuid::Uuid::nil(), ..login };
    let other_key = Key::new(b"replaced by another one").expect("a good secret");
    let cases = [
        ("good", good.clone(), 200),
        ("signed with our secret", key.sign(&login), 200),
        ("none", String::new(), 401),
        ("changed", format!("{}x", &good[..good.len() - 1]), 401),
        ("cut", good[..good.len() - 1].to_owned(), 401),
        ("expired", key.sign(&expired), 401),
        ("of another epoch", key.sign(&other_epoch), 401),
        ("of nobody", key.sign(&other_user), 401),
        ("of another secret", other_key.sign(&login), 401),
        ("unsigned", "eyJhbGciOiJub25lIn0.eyJyb2xlIjoiYWRtaW4ifQ.".to_owned(), 401),
    ];
    for (name, token, expected) in cases {
        let answer = house.get("/api/me", &token).await;
        assert_eq!(answer.0, expected, "{name}");
        assert!(expected == 200 || code(&answer) == "unauthorized", "{name}");
    }
}

#[actix_web::test]
async fn logging_out_ends_this_login_for_good_and_no_other() {
    let house = House::new();
    let (phone, desk) = (house.token("admin").await, house.token("admin").await);
    assert_eq!(house.post("/api/auth/logout", "", &Value::Null).await.0, 401);
    assert_eq!(
        house.post("/api/auth/logout", &phone, &Value::Null).await,
        (200, json!({ "ok": true }))
    );
    assert_eq!(house.post("/api/auth/logout", &phone, &Value::Null).await.0, 401);
    assert_eq!(house.get("/api/me", &phone).await.0, 401);
    assert_eq!(house.get("/api/me", &desk).await.0, 200);

    let House { data_dir, store, directory, auth } = house;
    drop((store, directory, auth));
    let house = House::open(data_dir);
    assert_eq!(house.get("/api/me", &phone).await.0, 401, "also after a restart");
    assert_eq!(house.get("/api/me", &desk).await.0, 200);
}

#[actix_web::test]
async fn a_new_password_and_the_end_of_a_user_end_all_logins() {
    let house = House::new();
    let token = house.add_user("ann", Role::User).await;
    let other = house.token("ann").await;
    let change =
        |current: &str, new: &str| json!({ "currentPassword": current, "newPassword": new });
    let path = "/api/me/password";
    let wrong = house.post(path, &token, &change("wrong", "another password")).await;
    assert_eq!((wrong.0, code(&wrong)), (400, "bad-request"));
    assert_eq!(house.post(path, "", &change(PASSWORD, "short")).await.0, 400);
    assert_eq!(house.post(path, "", &change(PASSWORD, "long enough")).await.0, 401);

    let long = "é".repeat(150);
    let (status, body) = house.post(path, &token, &change(PASSWORD, &long)).await;
    assert_eq!((status, &body["username"]), (200, &json!("ann")));
    for token in [&token, &other] {
        assert_eq!(house.get("/api/me", token).await.0, 401);
    }
    for (password, expected) in [(PASSWORD, 401), (&long[..long.len() - 2], 401), (&*long, 200)] {
        let credentials = json!({ "username": "ann", "password": password });
        let (status, body) = house.post("/api/auth/login", "", &credentials).await;
        assert_eq!(status, expected);
        if status == 200 {
            let token = body["token"].as_str().expect("a token");
            assert_eq!(house.get("/api/me", token).await.0, 200);
            let id = house.auth.accounts().by_name("ann").expect("a user").id;
            let heir = house.auth.accounts().by_name("admin").expect("an admin").id;
            let removed = house.auth.accounts().remove(&house.directory, id, heir);
            removed.expect("works").expect("removed");
            assert_eq!(house.get("/api/me", token).await.0, 401);
        }
    }
}

#[actix_web::test]
async fn the_token_is_the_second_word_whatever_the_first_is() {
    let house = House::new();
    let token = house.token("admin").await;
    for (header, expected) in [
        (format!("Bearer {token}"), Some(token.as_str())),
        (format!("x   {token} more"), Some(token.as_str())),
        (token.clone(), None),
        (String::new(), None),
    ] {
        let request = TestRequest::default().insert_header(("authorization", header));
        let bearer = sumimi::auth::Bearer::extract(&request.to_http_request()).await;
        assert_eq!(bearer.expect("never fails").token.as_deref(), expected);
    }
}

#[actix_web::test]
async fn the_first_password_is_given_or_generated_once() {
    let given = House::new();
    assert_eq!(given.auth.ensure_admin(None).expect("works"), None, "only when nobody is there");

    let house = House::open(tempfile::tempdir().expect("a directory"));
    assert!(house.auth.ensure_admin(Some("umami".to_owned())).is_err(), "too short");
    let generated = house.auth.ensure_admin(None).expect("works").expect("generated");
    assert!(generated.len() >= 16);
    let credentials = json!({ "username": "admin", "password": generated });
    assert_eq!(house.post("/api/auth/login", "", &credentials).await.0, 200);
}

#[actix_web::test]
async fn a_lost_password_is_replaced_from_the_shell_while_the_server_is_stopped() {
    let house = House::new();
    let token = house.token("admin").await;
    let House { data_dir, store, directory, auth } = house;
    drop((store, directory, auth));
    let path = data_dir.path();

    let lock = std::fs::File::create(path.join("lock")).expect("a lock file");
    lock.lock().expect("locked as the server does");
    let running = user::set_password(path, "admin", None).expect_err("the server runs");
    assert!(running.to_string().contains("stop it"), "{running}");
    drop(lock);

    let nobody = user::set_password(path, "Admin", None).expect_err("no such user");
    assert!(nobody.to_string().contains("Admin"), "{nobody}");
    assert!(user::set_password(path, "admin", Some("short".to_owned())).is_err());
    assert!(user::set_password(&path.join("elsewhere"), "admin", None).is_err());
    assert_eq!(
        user::set_password(path, "admin", Some("another one".to_owned())).expect("works"),
        None
    );
    let generated = user::set_password(path, "admin", None).expect("works").expect("generated");

    let house = House::open(data_dir);
    assert_eq!(house.get("/api/me", &token).await.0, 401);
    for (password, expected) in [(PASSWORD, 401), ("another one", 401), (&*generated, 200)] {
        let credentials = json!({ "username": "admin", "password": password });
        assert_eq!(house.post("/api/auth/login", "", &credentials).await.0, expected);
    }
}

#[actix_web::test]
async fn the_configuration_is_public() {
    let (status, body) = House::new().get("/api/config", "").await;
    assert_eq!((status, &body["cloudMode"]), (200, &json!(false)));
    for field in ["privateMode", "telemetryDisabled", "updatesDisabled", "sessionDeletionEnabled"] {
        assert!(body[field].is_boolean(), "{field}");
    }
    for field in ["faviconUrl", "linksUrl", "pixelsUrl", "trackerScriptName"] {
        assert!(body[field].is_string(), "{field}");
    }
}
