//! Boards and dashboards over the API: what is kept comes back, whose it is, what is refused.

use serde_json::{Value, json};
use sumimi::limits;
use sumimi::store::accounts::Role;

use crate::app::{House, code};

const UNKNOWN: &str = "99999999-9999-4999-8999-999999999999";

fn board(name: &str) -> Value {
    let parameters = json!({ "websiteId": UNKNOWN, "rows": [{ "x": [1, null, "é"] }] });
    json!({ "type": "open", "name": name, "description": "D", "parameters": parameters })
}

async fn create(house: &House, token: &str, body: &Value) -> Value {
    let (status, created) = house.post("/api/boards", token, body).await;
    assert_eq!(status, 200, "{created}");
    created
}

fn path(board: &Value) -> String {
    format!("/api/boards/{}", board["id"].as_str().expect("an id"))
}

#[actix_web::test]
async fn a_board_lives_from_creation_to_deletion() {
    let house = House::new();
    let admin = house.token("admin").await;
    let me = house.get("/api/me", &admin).await.1["user"]["id"].clone();
    let created = create(&house, &admin, &board("One")).await;
    for field in ["type", "name", "description", "parameters"] {
        assert_eq!(created[field], board("One")[field], "{field}");
    }
    assert_eq!((&created["userId"], created.get("teamId")), (&me, Some(&Value::Null)));
    let path = path(&created);
    assert_eq!(house.get(&path, &admin).await, (200, created.clone()));

    let (status, changed) = house.post(&path, &admin, &json!({ "description": "" })).await;
    assert_eq!(
        (status, &changed["name"], &changed["description"]),
        (200, &json!("One"), &json!(""))
    );
    assert_eq!(changed["parameters"], created["parameters"]);
    let change = json!({ "name": "1", "type": "open", "parameters": {} });
    let (_, changed) = house.post(&path, &admin, &change).await;
    assert_eq!((&changed["name"], &changed["parameters"]), (&json!("1"), &json!({})));
    assert_eq!(house.get(&path, &admin).await, (200, changed.clone()));

    let clone = format!("{path}/clone");
    let (status, copied) = house.post(&clone, &admin, &json!({ "name": "Copy" })).await;
    assert_eq!((status, &copied["name"], &copied["userId"]), (200, &json!("Copy"), &me));
    assert_ne!(copied["id"], changed["id"]);
    let (_, same) = house.post(&clone, &admin, &json!({})).await;
    assert_eq!((&same["name"], &same["parameters"]), (&json!("1"), &json!({})));

    assert_eq!(house.delete(&path, &admin).await, (200, json!({ "ok": true })));
    assert_eq!(house.get(&path, &admin).await, (200, Value::Null));
    for answer in [
        house.delete(&path, &admin).await,
        house.post(&path, &admin, &change).await,
        house.post(&clone, &admin, &change).await,
    ] {
        assert_eq!((answer.0, code(&answer)), (404, "not-found"));
    }
    assert_eq!(house.get("/api/boards", &admin).await.1["count"], 2, "the copies stay");
}

#[actix_web::test]
async fn others_boards_look_as_if_they_did_not_exist() {
    let house = House::new();
    let admin = house.token("admin").await;
    let ann = house.add_user("ann", Role::User).await;
    let viewer = house.add_user("viewer", Role::ViewOnly).await;
    let of_admin = create(&house, &admin, &board("a")).await;
    let of_ann = create(&house, &ann, &board("b")).await;
    let unknown = json!({ "id": UNKNOWN });
    for (token, board, expected) in [
        (&*ann, &of_admin, 401),
        (&ann, &unknown, 401),
        (&viewer, &of_ann, 401),
        ("", &of_ann, 401),
        ("", &json!({ "id": "no-id" }), 401),
        (&ann, &json!({ "id": "no-id" }), 400),
        (&ann, &of_ann, 200),
        (&admin, &of_ann, 200),
    ] {
        let path = path(board);
        assert_eq!(house.get(&path, token).await.0, expected, "{path}");
        assert_eq!(house.post(&path, token, &json!({ "name": "x" })).await.0, expected, "{path}");
        let copied = house.post(&format!("{path}/clone"), token, &json!({})).await;
        assert_eq!(copied.0, expected, "{path}");
        if expected != 200 {
            assert_eq!(house.delete(&path, token).await.0, expected, "{path}");
        }
    }
    // Who creates something for somebody else must be an admin, and that somebody must exist.
    let for_user = |id: &Value| {
        let mut body = board("c");
        body["userId"] = id.clone();
        body
    };
    let of_ann_by_admin = create(&house, &admin, &for_user(&of_ann["userId"])).await;
    assert_eq!(of_ann_by_admin["userId"], of_ann["userId"]);
    create(&house, &ann, &for_user(&of_ann["userId"])).await;
    for (token, body, expected) in [
        (&*ann, for_user(&of_admin["userId"]), 401),
        (&admin, for_user(&json!(UNKNOWN)), 400),
        (&viewer, board("d"), 401),
        ("", board("d"), 401),
    ] {
        assert_eq!(house.post("/api/boards", token, &body).await.0, expected, "{body}");
    }
    let mut for_team = board("e");
    for_team["teamId"] = json!(UNKNOWN);
    assert_eq!(house.post("/api/boards", &admin, &for_team).await.0, 401);
}

#[actix_web::test]
async fn what_does_not_fit_is_a_bad_request_even_without_a_token() {
    let house = House::new();
    let admin = house.token("admin").await;
    let path = path(&create(&house, &admin, &board("a")).await);
    let with = |field: &str, value: Value| {
        let mut body = board("n");
        body[field] = value;
        body
    };
    let bad = [
        json!([]),
        with("type", json!("dashboard")),
        with("type", json!(5)),
        with("name", json!("n".repeat(limits::BOARD_NAME_CHARS_MAX + 1))),
        with("description", json!("d".repeat(limits::BOARD_DESCRIPTION_CHARS_MAX + 1))),
        with("parameters", json!([])),
        with("parameters", json!("{}")),
        with("parameters", json!({ "websiteId": 5 })),
        with("parameters", json!({ "x": "y".repeat(limits::BOARD_BYTES_MAX) })),
    ];
    for body in bad {
        for token in [&*admin, ""] {
            for path in ["/api/boards", &path, &format!("{path}/clone"), "/api/dashboard"] {
                let answer = house.post(path, token, &body).await;
                assert_eq!((answer.0, code(&answer)), (400, "bad-request"), "{path} {body}");
            }
        }
    }
    let only_new = [
        json!({}),
        with("name", Value::Null),
        with("type", Value::Null),
        with("userId", json!("x")),
    ];
    for body in only_new {
        assert_eq!(house.post("/api/boards", "", &body).await.0, 400, "{body}");
    }
    let deep = format!(r#"{{"parameters":{}1{}}}"#, r#"{"a":"#.repeat(500), "}".repeat(500));
    let post = actix_web::http::Method::POST;
    assert_eq!(house.call(post, "/api/dashboard", &admin, deep.into_bytes()).await.0, 400);
    assert_eq!(house.get("/api/boards", &admin).await.1["count"], 1);
    assert_eq!(house.get("/api/dashboard", &admin).await, (200, Value::Null));
}

#[actix_web::test]
async fn a_list_shows_ones_own_boards_page_by_page() {
    let house = House::new();
    let admin = house.token("admin").await;
    let ann = house.add_user("ann", Role::User).await;
    for name in ["One", "Two", "ÉTÉ"] {
        create(&house, &admin, &board(name)).await;
        // Those of one millisecond have no order that anybody could know.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    create(&house, &ann, &board("Ann's")).await;
    for (query, names, count) in [
        ("", vec!["One", "Two", "ÉTÉ"], 3),
        ("?page=2&pageSize=2", vec!["ÉTÉ"], 3),
        ("?search=%C3%A9t", vec!["ÉTÉ"], 1),
        ("?search=%25", vec![], 0),
    ] {
        let (status, body) = house.get(&format!("/api/boards{query}"), &admin).await;
        let rows = body["data"].as_array().expect("rows");
        let found: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
        assert_eq!((status, found, &body["count"]), (200, names, &json!(count)), "{query}");
    }
    assert_eq!(house.get("/api/boards?page=0", "").await.0, 400);
    assert_eq!(house.get("/api/boards", "").await.0, 401);
}

#[actix_web::test]
async fn everybody_has_one_dashboard_of_their_own() {
    let house = House::new();
    let admin = house.token("admin").await;
    let viewer = house.add_user("viewer", Role::ViewOnly).await;
    for (token, name) in [(&*admin, "A"), (&viewer, "V")] {
        assert_eq!(house.get("/api/dashboard", token).await, (200, Value::Null));
        let body = json!({ "name": name, "parameters": { "websites": [name] } });
        let (status, saved) = house.post("/api/dashboard", token, &body).await;
        assert_eq!(
            (status, &saved["name"], &saved["type"]),
            (200, &json!(name), &json!("dashboard"))
        );
        let (_, again) = house.post("/api/dashboard", token, &json!({ "description": "d" })).await;
        assert_eq!((&again["id"], &again["name"]), (&saved["id"], &saved["name"]));
        assert_eq!(again["parameters"], body["parameters"]);
        assert_eq!(house.get("/api/dashboard", token).await, (200, again.clone()));
        assert_eq!(house.get("/api/boards", token).await.1["count"], 0, "it is not listed");
        assert_eq!(house.get(&path(&again), &admin).await, (200, Value::Null));
        assert_eq!(house.delete(&path(&again), &admin).await.0, 404);
    }
    assert_eq!(house.get("/api/dashboard", "").await.0, 401);
    assert_eq!(house.post("/api/dashboard", "", &json!({})).await.0, 401);
}

#[actix_web::test]
async fn boards_survive_a_restart_and_pass_to_the_heir_but_dashboards_do_not() {
    let house = House::new();
    let admin = house.token("admin").await;
    let ann = house.add_user("ann", Role::User).await;
    let created = create(&house, &ann, &board("a")).await;
    for token in [&admin, &ann] {
        house.post("/api/dashboard", token, &json!({ "name": "mine" })).await;
    }
    let House { data_dir, store, directory, auth } = house;
    drop((store, directory, auth));
    let house = House::open(data_dir);
    assert_eq!(house.get(&path(&created), &ann).await, (200, created.clone()));
    let user = created["userId"].as_str().expect("an id");
    assert_eq!(house.delete(&format!("/api/users/{user}"), &admin).await.0, 200);
    let (_, list) = house.get("/api/boards", &admin).await;
    assert_eq!((&list["count"], &list["data"][0]["id"]), (&json!(1), &created["id"]));
    assert_eq!(house.get("/api/dashboard", &admin).await.1["name"], "mine");
}

#[actix_web::test]
async fn a_teams_boards_are_its_members() {
    let house = House::new();
    let ann = house.add_user("ann", Role::User).await;
    let (_, made) = house.post("/api/teams", &ann, &json!({ "name": "Team" })).await;
    let team = format!("/api/teams/{}", made[0]["id"].as_str().expect("an id"));
    let mut tokens = Vec::new();
    for role in ["team-member", "team-view-only"] {
        let token = house.add_user(role, Role::User).await;
        let id = house.auth.accounts().by_name(role).expect("a user").id.to_string();
        let body = json!({ "userId": id, "role": role });
        assert_eq!(house.post(&format!("{team}/users"), &ann, &body).await.0, 200);
        tokens.push(token);
    }
    let stranger = house.add_user("stranger", Role::User).await;
    let mut of_team = board("Shared");
    of_team["teamId"] = made[0]["id"].clone();
    let created = create(&house, &tokens[0], &of_team).await;
    assert_eq!((&created["teamId"], &created["userId"]), (&of_team["teamId"], &Value::Null));
    let list = format!("{team}/boards");
    for (token, see, change) in
        [(&ann, 200, 200), (&tokens[0], 200, 200), (&tokens[1], 200, 401), (&stranger, 401, 401)]
    {
        assert_eq!(house.get(&path(&created), token).await.0, see);
        assert_eq!(house.get(&list, token).await.0, see);
        let change_it = json!({ "name": "Renamed" });
        assert_eq!(house.post(&path(&created), token, &change_it).await.0, change);
        assert_eq!(house.post("/api/boards", token, &of_team).await.0, change);
        let (status, copied) =
            house.post(&format!("{}/clone", path(&created)), token, &json!({})).await;
        assert_eq!(status, see);
        assert_eq!(copied.get("teamId"), (see == 200).then_some(&Value::Null), "it is one's own");
    }
    for token in [&tokens[1], &stranger] {
        assert_eq!(house.delete(&path(&created), token).await.0, 401);
    }
    let (_, listed) = house.get(&list, &tokens[1]).await;
    assert_eq!((&listed["count"], &listed["data"][0]["id"]), (&json!(3), &created["id"]));
    assert_eq!(house.get("/api/boards", &ann).await.1["count"], 1, "only the copy");
    assert_eq!(house.delete(&team, &ann).await.0, 200);
    assert_eq!(house.get("/api/boards", &ann).await.1["count"], 4, "nothing is lost");
    assert_eq!(house.get(&path(&created), &tokens[0]).await.0, 401);
}
