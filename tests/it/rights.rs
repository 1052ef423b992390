//! Who may do what: every operation of the API, as everybody, on things of one's own, of one's team, of others, and on
//! things that do not exist. `tests/fixtures/rights.txt` says whom each operation is for; an operation without a line
//! there fails, so none can be added without saying who may call it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use sumimi::api::openapi::{ID_MARK, Operation, Parameter, operations};

use crate::http::{Answer, Client, Request};
use crate::process::{PASSWORD, Server};

const TABLE: &str = include_str!("../fixtures/rights.txt");
const UNKNOWN: &str = "99999999-9999-4999-8999-999999999999";

/// `user` has things alone. `owner`, `manager`, `member` and `viewer` have a team; `watcher` is its manager, but may
/// only look on this server. `other` has another team. `share` looks at the shared website of `user`.
const CALLERS: [&str; 10] = [
    "nobody", "share", "user", "other", "owner", "manager", "member", "viewer", "watcher", "admin",
];
const TEAM: [(&str, &str); 4] = [
    ("manager", "team-manager"),
    ("member", "team-member"),
    ("viewer", "team-view-only"),
    ("watcher", "team-manager"),
];

/// Whose the things of a round are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum World {
    User,
    Team,
    /// They do not exist.
    Nobody,
}

/// What the words of the table mean.
fn may(rule: &str, caller: &str, world: World) -> bool {
    let is_signed_in = !["nobody", "share"].contains(&caller);
    let is_in = |names: &[&str]| caller == "admin" || names.contains(&caller);
    let team = ["owner", "manager", "member", "viewer", "watcher"];
    let of_thing = |in_team: &[&str]| match world {
        World::User => is_in(&["user"]),
        World::Team => is_in(in_team),
        World::Nobody => is_in(&[]),
    };
    match rule {
        "anyone" => true,
        "look-in" => caller != "nobody",
        "user" => is_signed_in,
        "create" => is_signed_in && caller != "watcher",
        "admin" => is_in(&[]),
        "self" => is_in(&["user"]),
        "see" => of_thing(&team) || (caller == "share" && world == World::User),
        "see-login" => of_thing(&team),
        "copy" => of_thing(&["owner", "manager", "member", "viewer"]),
        "change" => of_thing(&["owner", "manager", "member"]),
        "give" => of_thing(&["owner"]),
        "see-team" => is_in(&team),
        "manage-team" => is_in(&["owner", "manager"]),
        "delete-team" => is_in(&["owner"]),
        _ => panic!("unknown rule {rule}"),
    }
}

/// One line of the table.
struct Rule {
    name: &'static str,
    /// The status for those who may, when it is not a success.
    status: Option<u16>,
    body: Option<&'static str>,
}

fn table() -> BTreeMap<&'static str, Rule> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let rule = |line: &'static str| {
        let mut fields = line.splitn(3, " | ");
        let (place, rule) = (fields.next()?, fields.next()?);
        let (name, status) = rule.split_once(' ').unwrap_or((rule, ""));
        Some((place, Rule { name, status: status.parse().ok(), body: fields.next() }))
    };
    lines.map(|line| rule(line).unwrap_or_else(|| panic!("not whole: {line}"))).collect()
}

fn person(name: &str, role: &str) -> Value {
    json!({ "username": name, "password": PASSWORD, "role": role })
}

/// A server with everybody and everything.
struct Cast {
    server: Server,
    client: RefCell<Client>,
    tokens: RefCell<HashMap<&'static str, String>>,
    ids: HashMap<&'static str, String>,
    /// Things by kind and whose they are.
    things: RefCell<HashMap<(&'static str, World), String>>,
    unique: RefCell<usize>,
    code: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

impl Cast {
    fn new() -> Self {
        let mut server = Server::builder().start();
        let admin = server.login();
        let mut cast = Self {
            client: RefCell::new(server.client()),
            server,
            tokens: RefCell::new(HashMap::from([("admin", admin)])),
            ids: HashMap::new(),
            things: RefCell::default(),
            unique: RefCell::new(0),
            code: String::new(),
        };
        for name in CALLERS.into_iter().filter(|name| !["nobody", "share", "admin"].contains(name))
        {
            let role = if name == "watcher" { "view-only" } else { "user" };
            let id = cast.make("admin", "/api/users", &person(name, role));
            cast.ids.insert(name, id);
            cast.sign_in(name);
        }
        let id = cast.make("admin", "/api/users", &person("victim", "user"));
        cast.ids.insert("victim", id);
        let me = cast.ask("GET", "/api/me", "admin", None).json();
        cast.ids.insert("admin", text(&me["user"]["id"]));
        let team =
            cast.ask("POST", "/api/teams", "other", Some(&json!({ "name": "Other" }))).json();
        cast.code = text(&team[0]["accessCode"]);
        cast.renew("team", World::Team);
        for world in [World::User, World::Team] {
            for kind in ["website", "link", "pixel", "board"] {
                cast.renew(kind, world);
            }
        }
        cast
    }

    fn sign_in(&self, name: &'static str) {
        let credentials = json!({ "username": name, "password": PASSWORD });
        let answer = self.ask("POST", "/api/auth/login", "nobody", Some(&credentials));
        self.tokens.borrow_mut().insert(name, text(&answer.json()["token"]));
    }

    fn ask(&self, method: &str, path: &str, caller: &str, body: Option<&Value>) -> Answer {
        let mut request = Request::new(method, path);
        if let Some(token) = self.tokens.borrow().get(caller) {
            request = if caller == "share" {
                request.header("x-umami-share-token", token).header("x-umami-share-context", "1")
            } else {
                request.bearer(token)
            };
        }
        if let Some(body) = body {
            request = request.body(body.to_string()).json();
        }
        let answer = self.client.borrow_mut().send(&request);
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}\n{}", self.server.log()))
    }

    /// Creates something; returns its id.
    fn make(&self, caller: &str, path: &str, body: &Value) -> String {
        let answer = self.ask("POST", path, caller, Some(body));
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        text(&answer.json()["id"])
    }

    fn next_name(&self) -> String {
        *self.unique.borrow_mut() += 1;
        format!("name-{}", self.unique.borrow())
    }

    fn thing(&self, kind: &'static str, world: World) -> String {
        self.things.borrow().get(&(kind, world)).cloned().unwrap_or_else(|| UNKNOWN.to_owned())
    }

    /// Puts a new thing in the place of the one that is there, which may have gone.
    fn renew(&self, kind: &'static str, world: World) {
        let caller = if world == World::Team { "owner" } else { "user" };
        let website = self.thing("website", world);
        let with_team = |mut body: Value| {
            if world == World::Team {
                body["teamId"] = json!(self.thing("team", World::Team));
            }
            body
        };
        let name = self.next_name();
        let id = match kind {
            "website" => {
                let body = with_team(json!({ "name": "n", "domain": "d" }));
                self.make(caller, "/api/websites", &body)
            }
            "link" => {
                let body =
                    with_team(json!({ "name": "n", "slug": name, "url": "https://e.example" }));
                self.make(caller, "/api/links", &body)
            }
            "pixel" => {
                self.make(caller, "/api/pixels", &with_team(json!({ "name": "n", "slug": name })))
            }
            "board" => {
                self.make(caller, "/api/boards", &with_team(json!({ "name": "n", "type": "open" })))
            }
            "share" => {
                let path = format!("/api/websites/{website}/shares");
                self.make(caller, &path, &json!({ "name": "n" }))
            }
            "report" => {
                let parameters = json!({ "type": "path", "value": "/" });
                let body = json!({ "websiteId": website, "type": "goal", "name": "n",
                    "parameters": parameters });
                self.make(caller, "/api/reports", &body)
            }
            "user" => self.make("admin", "/api/users", &person(&name, "user")),
            "team" => self.new_team(),
            _ => panic!("{kind}"),
        };
        self.things.borrow_mut().insert((kind, world), id);
        match (kind, world) {
            // What belonged to the website before has gone with it.
            ("website", _) => {
                for kind in ["share", "report"] {
                    self.renew(kind, world);
                }
            }
            ("share", World::User) => self.look(),
            _ => {}
        }
    }

    /// Opens the share of the website of `user`.
    fn look(&self) {
        let path = format!("/api/share/id/{}", self.thing("share", World::User));
        let share = self.ask("GET", &path, "user", None).json();
        let opened = format!("/api/share/{}", text(&share["slug"]));
        let token = text(&self.ask("GET", &opened, "nobody", None).json()["token"]);
        self.tokens.borrow_mut().insert("share", token);
    }

    fn new_team(&self) -> String {
        let made = self.ask("POST", "/api/teams", "owner", Some(&json!({ "name": "Team" }))).json();
        let id = text(&made[0]["id"]);
        for (name, role) in TEAM.into_iter().chain([("victim", "team-member")]) {
            let body = json!({ "userId": self.ids[name], "role": role });
            self.make("owner", &format!("/api/teams/{id}/users"), &body);
        }
        id
    }

    /// Makes what an operation takes away, so that it is there for each who tries.
    fn prepare(&self, operation: &Operation, world: World) {
        if operation.path.ends_with("/users/{userId}") && operation.path.contains("{teamId}") {
            let path = format!("/api/teams/{}/users", self.thing("team", World::Team));
            let body = json!({ "userId": self.ids["victim"], "role": "team-member" });
            self.ask("POST", &path, "owner", Some(&body));
            return;
        }
        let is_taken = operation.method == "delete" || operation.path.ends_with("/transfer");
        let last = operation.path.trim_end_matches("/transfer").rsplit('/').next();
        let kind = match last {
            Some("{websiteId}") => "website",
            Some("{linkId}") => "link",
            Some("{pixelId}") => "pixel",
            Some("{boardId}") => "board",
            Some("{shareId}") => "share",
            Some("{reportId}") => "report",
            Some("{teamId}") => "team",
            Some("{userId}") => "user",
            _ => return,
        };
        if is_taken && world != World::Nobody {
            self.renew(kind, if kind == "team" { World::Team } else { world });
        }
    }

    fn path(&self, operation: &Operation, world: World) -> String {
        let part = |part: &str| match part {
            "{websiteId}" => self.thing("website", world),
            "{linkId}" => self.thing("link", world),
            "{pixelId}" => self.thing("pixel", world),
            "{boardId}" => self.thing("board", world),
            "{shareId}" => self.thing("share", world),
            "{reportId}" => self.thing("report", world),
            "{teamId}" => self.thing("team", World::Team),
            "{userId}" if operation.path.contains("{teamId}") => self.ids["victim"].clone(),
            "{userId}" if operation.method == "delete" => self.thing("user", world),
            "{userId}" => self.ids["user"].clone(),
            part if part.starts_with('{') => UNKNOWN.to_owned(),
            part => part.to_owned(),
        };
        let path: Vec<String> = operation.path.split('/').map(part).collect();
        let website = self.thing("website", world);
        let query = operation.query.iter().flat_map(|parameter| match parameter {
            Parameter::Set("range") => vec![("startAt", "0"), ("endAt", "1")],
            Parameter::Needed(name, value) => vec![(*name, *value)],
            _ => Vec::new(),
        });
        let encoded = |value: &str| {
            let value = value.replace(ID_MARK, &website);
            utf8_percent_encode(&value, NON_ALPHANUMERIC).to_string()
        };
        let query: Vec<String> =
            query.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        format!("{}?{}", path.join("/"), query.join("&"))
    }

    fn body(&self, body: &str, caller: &str, world: World) -> Value {
        let id = self.ids.get(caller).map_or(UNKNOWN, String::as_str);
        let body = body
            .replace("{website}", &self.thing("website", world))
            .replace("{caller}", id)
            .replace("{victim}", &self.ids["victim"])
            .replace("{code}", &self.code)
            .replace("{unique}", &self.next_name())
            .replace("{password}", PASSWORD);
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
    }

    /// Tries an operation as everybody on the things of a world; returns the statuses of those who may.
    fn try_all(&self, operation: &Operation, rule: &Rule, world: World) -> BTreeSet<u16> {
        let mut statuses = BTreeSet::new();
        for caller in CALLERS {
            self.prepare(operation, world);
            let path = self.path(operation, world);
            let body = rule.body.map(|body| self.body(body, caller, world));
            let method = operation.method.to_uppercase();
            let answer = self.ask(&method, &path, caller, body.as_ref());
            let what = format!("{method} {path} of {world:?} as {caller}: {}", answer.text());
            if may(rule.name, caller, world) {
                assert!([200, 400, 404].contains(&answer.status), "may: {what}");
                statuses.insert(answer.status);
            } else {
                assert_eq!(answer.status, 401, "may not: {what}");
            }
            if operation.path == "/api/auth/logout" && self.ids.contains_key(caller) {
                self.sign_in(caller);
            }
        }
        self.prepare(operation, world);
        statuses
    }
}

#[test]
fn everybody_may_do_what_the_table_says_and_nothing_else() {
    let table = table();
    let cast = Cast::new();
    for operation in operations() {
        let place = format!("{} {}", operation.method, operation.path);
        let rule = table
            .get(place.as_str())
            .unwrap_or_else(|| panic!("add a line for {place} to tests/fixtures/rights.txt"));
        let is_public = rule.name == "anyone";
        assert_eq!(operation.is_public, is_public, "{place}: the two tables disagree");
        let of_thing = ["see", "see-login", "copy", "change", "give"].contains(&rule.name);
        let worlds: &[World] =
            if of_thing { &[World::User, World::Team, World::Nobody] } else { &[World::User] };
        for world in worlds {
            let statuses = cast.try_all(&operation, rule, *world);
            let expected = |status: &u16| match rule.status {
                Some(expected) => *status == expected,
                None => *status != 400,
            };
            // What nobody could do because of a bad request would show nothing.
            assert!(statuses.iter().any(expected), "{place} of {world:?}: {statuses:?}");
        }
    }
    let known: BTreeSet<String> =
        operations().iter().map(|one| format!("{} {}", one.method, one.path)).collect();
    for place in table.keys() {
        assert!(known.contains(*place), "{place} is no operation");
    }
}
