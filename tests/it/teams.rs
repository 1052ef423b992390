//! Teams over the API: what each role may do with a team and with what it has, who may join, and that nothing that a
//! team had is lost when the team or its owner goes.

use serde_json::{Value, json};
use sumimi::limits;
use sumimi::store::accounts::Role;

use crate::app::{House, PASSWORD, code};

const WEBSITE: &str = "11111111-1111-4111-8111-111111111111";
const UNKNOWN: &str = "99999999-9999-4999-8999-999999999999";
const ROLES: [&str; 3] = ["team-manager", "team-member", "team-view-only"];

/// A team of `ann` with a website, and somebody in each role.
struct Cast {
    house: House,
    admin: String,
    /// Tokens by name: `ann` owns the team, the others are named as their role, `stranger` is in another team,
    /// `watcher` is a manager of the team but may only look on this server.
    tokens: Vec<(&'static str, String)>,
    team: String,
    code: String,
}

impl Cast {
    async fn new() -> Self {
        let house = House::new();
        let admin = house.token("admin").await;
        let ann = house.add_user("ann", Role::User).await;
        let (status, made) = house.post("/api/teams", &ann, &json!({ "name": "Team" })).await;
        assert_eq!((status, &made[1]["role"]), (200, &json!("team-owner")), "{made}");
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let (team, code) = (text(&made[0]["id"]), text(&made[0]["accessCode"]));
        let mut cast = Self { house, admin, tokens: vec![("ann", ann.clone())], team, code };
        let website =
            json!({ "id": WEBSITE, "name": "Site", "domain": "d.example", "teamId": cast.team });
        let (status, made) = cast.house.post("/api/websites", &ann, &website).await;
        assert_eq!(
            (status, &made["teamId"], &made["userId"]),
            (200, &json!(cast.team), &Value::Null)
        );
        let people = [
            (ROLES[0], Role::User, ROLES[0]),
            (ROLES[1], Role::User, ROLES[1]),
            (ROLES[2], Role::User, ROLES[2]),
            ("watcher", Role::ViewOnly, ROLES[0]),
        ];
        for (name, role, team_role) in people {
            let token = cast.house.add_user(name, role).await;
            let body = json!({ "userId": cast.user(name), "role": team_role });
            let answer = cast.house.post(&cast.path("/users"), &ann, &body).await;
            assert_eq!(answer.0, 200, "{answer:?}");
            cast.tokens.push((name, token));
        }
        let stranger = cast.house.add_user("stranger", Role::User).await;
        cast.house.post("/api/teams", &stranger, &json!({ "name": "Other" })).await;
        cast.tokens.push(("stranger", stranger));
        cast
    }

    fn path(&self, tail: &str) -> String {
        format!("/api/teams/{}{tail}", self.team)
    }

    fn user(&self, name: &str) -> String {
        self.house.auth.accounts().by_name(name).expect("a user").id.to_string()
    }

    fn token(&self, name: &str) -> &str {
        let found = self.tokens.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, token)| token.as_str())
    }

    async fn status(&self, method: &str, path: &str, name: &str, body: &Value) -> u16 {
        let method = method.parse().expect("a method");
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let token = if name == "admin" { &self.admin } else { self.token(name) };
        self.house.call(method, path, token, body).await.0
    }
}

#[actix_web::test]
async fn each_role_may_do_what_it_says_and_no_more() {
    let cast = Cast::new().await;
    let website = format!("/api/websites/{WEBSITE}");
    let member = cast.path(&format!("/users/{}", cast.user(ROLES[2])));
    let new = json!({ "name": "n", "domain": "d", "teamId": cast.team });
    let link = json!({ "name": "n", "slug": "s", "url": "https://e.example", "teamId": cast.team });
    let board = json!({ "name": "n", "type": "open", "teamId": cast.team });
    let (null, name) = (Value::Null, json!({ "name": "Same" }));
    let role = json!({ "role": "team-view-only" });
    let add = json!({ "userId": cast.user("ann"), "role": "team-member" });
    let see = ["ann", ROLES[0], ROLES[1], ROLES[2], "watcher", "admin"].as_slice();
    let change = ["ann", ROLES[0], ROLES[1], "admin"].as_slice();
    let manage = ["ann", ROLES[0], "admin"].as_slice();
    let cases: Vec<(&str, &str, &Value, &[&str])> = vec![
        ("GET", website.as_str(), &null, see),
        ("POST", &website, &name, change),
        ("POST", "/api/websites", &new, change),
        ("POST", "/api/links", &link, change),
        ("POST", "/api/boards", &board, change),
        ("GET", &member, &null, see),
        ("POST", &member, &role, manage),
    ];
    let team =
        [("GET", "", &null, see), ("POST", "", &name, manage), ("GET", "/users", &null, see)];
    let lists = [
        ("GET", "/websites", &null, see),
        ("GET", "/links", &null, see),
        ("GET", "/boards", &null, see),
    ];
    let adds = [("POST", "/users", &add, manage)];
    let paths: Vec<_> = team
        .into_iter()
        .chain(lists)
        .chain(adds)
        .map(|(method, tail, body, may)| (method, cast.path(tail), body, may))
        .collect();
    let cases = cases
        .into_iter()
        .chain(paths.iter().map(|(method, path, body, may)| (*method, path.as_str(), *body, *may)));
    for (method, path, body, may) in cases {
        for name in ["ann", ROLES[0], ROLES[1], ROLES[2], "watcher", "stranger", "nobody", "admin"]
        {
            let status = cast.status(method, path, name, body).await;
            // Somebody who may is told what is wrong with it, the others are not.
            let allowed = [200, 400].contains(&status);
            assert!(allowed || status == 401, "{method} {path} as {name}: {status}");
            assert_eq!(status != 401, may.contains(&name), "{method} {path} as {name}: {status}");
        }
    }
    for name in [ROLES[0], ROLES[1], ROLES[2], "watcher", "stranger", "nobody"] {
        assert_eq!(cast.status("DELETE", &cast.path(""), name, &null).await, 401, "{name}");
        let give = json!({ "userId": cast.house.auth.accounts().by_name(name).map_or_else(
            || UNKNOWN.to_owned(), |account| account.id.to_string()) });
        let transfer = format!("{website}/transfer");
        assert_eq!(cast.status("POST", &transfer, name, &give).await, 401, "{name}");
    }
}

#[actix_web::test]
async fn a_website_is_given_to_a_team_and_taken_back_by_its_owner() {
    let cast = Cast::new().await;
    let transfer = format!("/api/websites/{WEBSITE}/transfer");
    let give = |name| json!({ "userId": cast.user(name) });
    let ann = cast.token("ann");
    for body in
        [json!({}), json!({ "userId": UNKNOWN, "teamId": UNKNOWN }), json!({ "teamId": "x" })]
    {
        let answer = cast.house.post(&transfer, ann, &body).await;
        assert_eq!((answer.0, code(&answer)), (400, "bad-request"));
    }
    let to_other = cast.house.post(&transfer, ann, &give("stranger")).await;
    assert_eq!(to_other.0, 401, "nobody is given what they did not ask for");
    let unknown = cast.house.post(&transfer, &cast.admin, &json!({ "teamId": UNKNOWN })).await;
    assert_eq!((unknown.0, code(&unknown)), (404, "not-found"));

    let (status, row) = cast.house.post(&transfer, ann, &give("ann")).await;
    assert_eq!(
        (status, &row["userId"], &row["teamId"]),
        (200, &json!(cast.user("ann")), &Value::Null)
    );
    let website = format!("/api/websites/{WEBSITE}");
    assert_eq!(cast.status("GET", &website, ROLES[0], &Value::Null).await, 401, "at once");
    let to_team = json!({ "teamId": cast.team });
    assert_eq!(cast.status("POST", &transfer, ROLES[0], &to_team).await, 401, "not theirs");
    assert_eq!(cast.status("POST", &transfer, "ann", &to_team).await, 200);
    assert_eq!(cast.status("GET", &website, ROLES[0], &Value::Null).await, 200, "at once");
    let (_, own) = cast.house.get("/api/websites", ann).await;
    assert_eq!(own["count"], 0);
    let (_, with_teams) = cast.house.get("/api/websites?includeTeams=1", ann).await;
    assert_eq!(with_teams["data"][0]["id"], WEBSITE);
    assert_eq!(with_teams["data"][0]["createUser"]["username"], "ann");
}

#[actix_web::test]
async fn one_joins_with_the_code_leaves_and_finds_the_list_right() {
    let cast = Cast::new().await;
    let (stranger, ann) = (cast.token("stranger"), cast.token("ann"));
    let join = |code: &str| json!({ "accessCode": code });
    let wrong = cast.house.post("/api/teams/join", stranger, &join("nope")).await;
    assert_eq!((wrong.0, code(&wrong)), (404, "team-not-found"));
    assert_eq!(cast.house.post("/api/teams/join", "", &join(&cast.code)).await.0, 401);
    let (status, joined) = cast.house.post("/api/teams/join", stranger, &join(&cast.code)).await;
    assert_eq!((status, &joined["role"]), (200, &json!("team-member")), "{joined}");
    assert_eq!(cast.house.post("/api/teams/join", stranger, &join(&cast.code)).await.0, 400);
    let (_, teams) = cast.house.get("/api/teams", stranger).await;
    let names: Vec<_> =
        teams["data"].as_array().expect("rows").iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["Other", "Team"]);
    assert_eq!(teams["data"][1]["_count"], json!({ "websites": 1, "members": 6 }));
    let (_, verified) = cast.house.post("/api/auth/verify", stranger, &Value::Null).await;
    assert_eq!(verified["teams"][1]["id"], cast.team);
    let (_, found) = cast.house.get(&cast.path("/users?search=STRANG&pageSize=5"), ann).await;
    assert_eq!(
        (&found["count"], &found["data"][0]["user"]["username"]),
        (&json!(1), &json!("stranger"))
    );

    let own = cast.path(&format!("/users/{}", cast.user("stranger")));
    assert_eq!(cast.status("DELETE", &own, ROLES[2], &Value::Null).await, 401);
    assert_eq!(cast.status("DELETE", &own, "stranger", &Value::Null).await, 200, "one may leave");
    assert_eq!(cast.status("GET", &cast.path(""), "stranger", &Value::Null).await, 401);
    assert_eq!(cast.status("DELETE", &own, "ann", &Value::Null).await, 400, "is gone");

    let taken = json!({ "accessCode": "another-code" });
    assert_eq!(cast.house.post(&cast.path(""), ann, &taken).await.0, 200);
    assert_eq!(cast.house.post("/api/teams/join", stranger, &join(&cast.code)).await.0, 404);
    let other = cast.house.get("/api/teams", stranger).await.1["data"][0]["id"].clone();
    let other = format!("/api/teams/{}", other.as_str().expect("an id"));
    assert_eq!(cast.house.post(&other, stranger, &taken).await.0, 400, "the code is taken");
    for code in ["short".to_owned(), "x".repeat(limits::ACCESS_CODE_CHARS_MAX + 1)] {
        assert_eq!(cast.house.post(&other, stranger, &json!({ "accessCode": code })).await.0, 400);
    }
}

#[actix_web::test]
async fn the_owner_stays_until_the_team_ends_or_the_user_does() {
    let cast = Cast::new().await;
    let owner = cast.path(&format!("/users/{}", cast.user("ann")));
    let (null, role) = (Value::Null, json!({ "role": "team-member" }));
    for name in ["ann", ROLES[0], "admin"] {
        assert_eq!(cast.status("POST", &owner, name, &role).await, 400, "{name}");
        assert_eq!(cast.status("DELETE", &owner, name, &null).await, 400, "{name}");
    }
    let raise = json!({ "role": "team-owner" });
    let manager = cast.path(&format!("/users/{}", cast.user(ROLES[0])));
    assert_eq!(cast.status("POST", &manager, "ann", &raise).await, 400);

    let gone = format!("/api/users/{}", cast.user("ann"));
    assert_eq!(cast.status("DELETE", &gone, "admin", &null).await, 200);
    let (_, team) = cast.house.get(&cast.path(""), &cast.admin).await;
    let owners = team["members"].as_array().expect("members").iter();
    let owners: Vec<_> = owners.filter(|member| member["role"] == "team-owner").collect();
    assert_eq!(owners.len(), 1);
    assert_eq!(owners[0]["userId"], cast.user("admin"), "who removed the owner is it now");
    let website = format!("/api/websites/{WEBSITE}");
    assert_eq!(cast.status("GET", &website, ROLES[0], &null).await, 200, "the team goes on");

    assert_eq!(cast.status("DELETE", &cast.path(""), "admin", &null).await, 200);
    assert_eq!(cast.status("GET", &website, ROLES[0], &null).await, 401);
    let (_, row) = cast.house.get(&website, &cast.admin).await;
    assert_eq!((&row["userId"], &row["teamId"]), (&json!(cast.user("admin")), &null), "is kept");
    for method in ["GET", "DELETE"] {
        assert_eq!(cast.status(method, &cast.path(""), "admin", &null).await, 404);
        assert_eq!(cast.status(method, &cast.path(""), ROLES[0], &null).await, 401);
    }
}

#[actix_web::test]
async fn teams_are_there_after_a_restart_and_what_does_not_fit_is_refused() {
    let cast = Cast::new().await;
    let Cast { house, team, admin, .. } = cast;
    let long = "t".repeat(limits::TEAM_NAME_CHARS_MAX + 1);
    for body in [json!({ "name": long }), json!({ "name": " " }), json!({}), json!({ "name": 5 })] {
        assert_eq!(house.post("/api/teams", "", &body).await.0, 400, "{body}");
    }
    let team_path = format!("/api/teams/{team}");
    let unknown = json!({ "userId": UNKNOWN, "role": "team-member" });
    let answer = house.post(&format!("{team_path}/users"), &admin, &unknown).await;
    assert_eq!((answer.0, code(&answer)), (404, "not-found"));
    let bad = json!({ "userId": UNKNOWN, "role": "bogus" });
    assert_eq!(house.post(&format!("{team_path}/users"), &admin, &bad).await.0, 400);
    assert_eq!(house.get("/api/teams/no-id", &admin).await.0, 400);
    let House { data_dir, store, directory, auth } = house;
    drop((store, directory, auth));
    let house = House::open(data_dir);
    let credentials = json!({ "username": "ann", "password": PASSWORD });
    let (_, login) = house.post("/api/auth/login", "", &credentials).await;
    assert_eq!(login["user"]["teams"], json!([{ "id": team, "name": "Team", "logoUrl": null }]));
}
