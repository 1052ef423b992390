//! The table of operations against the routes, in both directions: what is served is described, what is described is
//! served, with the methods, the query and the body that the description says.

use std::collections::{BTreeMap, BTreeSet};

use actix_web::test as probe;
use actix_web::{App, HttpRequest, HttpResponse, web};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use sumimi::api::openapi::{Field, ID_MARK, Operation, Parameter, operations};
use sumimi::{api, health};

use crate::http::{Answer, Client, Request};
use crate::process::Server;

/// A path without the names in its braces, and of choices only that there is one.
fn shape(path: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { "{}".to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// The patterns of all routes, as the framework's table of resources shows them.
async fn served() -> BTreeSet<String> {
    let show = async |request: HttpRequest| {
        HttpResponse::Ok().body(format!("{:?}", request.resource_map()))
    };
    let app = App::new()
        .configure(api::configure)
        .configure(health::routes)
        .default_service(web::to(show));
    let app = probe::init_service(app).await;
    let body =
        probe::call_and_read_body(&app, probe::TestRequest::get().uri("/").to_request()).await;
    let text = String::from_utf8(body.to_vec()).expect("UTF-8");
    // What ends in a slash is the beginning of a pattern, which is shown beside it.
    let is_path = |piece: &&str| piece.starts_with("/api/") && !piece.ends_with('/');
    text.split('"').filter(is_path).map(shape).collect()
}

/// Those that no table of resources knows.
const OF_THE_INTAKE: [&str; 2] = ["/api/send", "/api/batch"];

#[actix_web::test]
async fn every_route_is_described_and_every_description_has_a_route() {
    let served = served().await;
    assert!(served.len() > 50, "the framework shows its routes differently: {served:?}");
    let described: BTreeSet<String> = operations().iter().map(|one| shape(one.path)).collect();
    let missing: Vec<&String> = served.difference(&described).collect();
    assert!(missing.is_empty(), "add these to src/api/openapi/operations.txt: {missing:#?}");
    let surplus: Vec<&String> = described
        .difference(&served)
        .filter(|path| !OF_THE_INTAKE.contains(&path.as_str()))
        .collect();
    assert!(surplus.is_empty(), "nobody serves these: {surplus:#?}");
}

/// A real server, an admin's token and a website.
struct House {
    client: Client,
    token: String,
    website: String,
}

impl House {
    fn path(&self, operation: &Operation, query: &[(&str, &str)]) -> String {
        let nobody = "99999999-9999-4999-8999-999999999999";
        // What deletes or resets does so to nobody.
        let is_gentle = operation.method == "get" || !operation.path.ends_with("{websiteId}");
        let website = if is_gentle { self.website.as_str() } else { nobody };
        let part = |part: &str| match part {
            "{websiteId}" => website.to_owned(),
            part if part.starts_with('{') => nobody.to_owned(),
            part => part.to_owned(),
        };
        let path: Vec<String> = operation.path.split('/').map(part).collect();
        let encoded = |value: &str| {
            let value = value.replace(ID_MARK, &self.website);
            utf8_percent_encode(&value, NON_ALPHANUMERIC).to_string()
        };
        let query: Vec<String> =
            query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        format!("{}?{}", path.join("/"), query.join("&"))
    }

    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        let request = Request::new(&method.to_uppercase(), path).bearer(&self.token);
        let request =
            if method == "post" { request.body(body.to_string()).json() } else { request };
        self.client.send(&request).expect("an answer")
    }
}

/// What must stand in the query.
fn needed(operation: &Operation) -> Vec<(&'static str, &'static str)> {
    let values = |parameter: &Parameter| match parameter {
        Parameter::Set("range") => vec![("startAt", "0"), ("endAt", "1")],
        Parameter::Needed(name, value) => vec![(*name, *value)],
        _ => Vec::new(),
    };
    operation.query.iter().flat_map(values).collect()
}

fn body(fields: &[Field]) -> Value {
    let value = |field: &Field| match field.kind {
        "string" => json!("x"),
        "number" => json!(1),
        "boolean" => json!(true),
        "array" => json!([]),
        _ => json!({}),
    };
    let fields = fields.iter().filter(|field| field.is_needed);
    Value::Object(fields.map(|field| (field.name.to_owned(), value(field))).collect::<Map<_, _>>())
}

#[test]
fn methods_queries_and_bodies_are_as_described() {
    let mut server = Server::builder().start();
    let token = server.login();
    let client = server.client();
    let mut house = House { client, token, website: String::new() };
    let website = json!({ "name": "x", "domain": "x" });
    let answer = house.ask("post", "/api/websites", &website).json();
    answer["id"].as_str().expect("an id").clone_into(&mut house.website);

    let operations = operations();
    let mut methods: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for operation in &operations {
        methods.entry(operation.path).or_default().push(operation.method);
    }
    let mut wrong = Vec::new();
    // Logging out is last: it ends the token.
    let (last, others): (Vec<_>, Vec<_>) =
        operations.iter().partition(|one| one.path == "/api/auth/logout");
    for operation in others.into_iter().chain(last) {
        wrong.extend(house.offences(operation, &methods[operation.path]));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

impl House {
    /// In what an operation differs from its description.
    fn offences(&mut self, operation: &Operation, methods: &[&str]) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut say = |what: &str, answer: &Answer| {
            wrong.push(format!(
                "{} {}: {what}: {} {}",
                operation.method,
                operation.path,
                answer.status,
                answer.text()
            ));
        };
        let query = needed(operation);
        for method in ["get", "post", "delete"].into_iter().filter(|one| !methods.contains(one)) {
            let answer = self.ask(method, &self.path(operation, &query), &json!({}));
            if answer.status != 405 {
                say(&format!("{method} is not described"), &answer);
            }
        }
        // A field or parameter less than needed is a bad request; with all of them it is not the query's fault.
        for (index, (name, _)) in query.iter().enumerate() {
            let mut rest = query.clone();
            rest.remove(index);
            let answer = self.ask(operation.method, &self.path(operation, &rest), &json!({}));
            if answer.status != 400 {
                say(&format!("not needed: {name}"), &answer);
            }
        }
        let whole = match &operation.body {
            Some((_, fields)) => body(fields),
            None => json!({}),
        };
        for (name, _) in whole.as_object().into_iter().flatten() {
            let mut rest = whole.clone();
            rest.as_object_mut().expect("an object").remove(name);
            let answer = self.ask(operation.method, &self.path(operation, &query), &rest);
            if answer.status != 400 {
                say(&format!("not needed in the body: {name}"), &answer);
            }
        }
        let answer = self.ask(operation.method, &self.path(operation, &query), &whole);
        let is_fine = answer.status < 500 && answer.status != 405;
        if !is_fine || operation.method == "get" && answer.status == 400 {
            say("not served", &answer);
        }
        let json = answer.json();
        let is_answer = match operation.answer {
            "list" => json.is_array(),
            "page" => json["data"].is_array() && json["count"].is_number(),
            _ => json.is_object() || json.is_null(),
        };
        if answer.status == 200 && !is_answer {
            say(&format!("it is no {}", operation.answer), &answer);
        }
        wrong
    }
}
