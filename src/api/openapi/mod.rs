//! `GET /api/openapi.json`: all operations as OpenAPI 3.1, made of the one table `operations.txt`.
//!
//! What must stay true: every line of the table is whole, and the table and the routes are the same; the tests at the
//! foot of this file and `tests/it/openapi.rs` hold it, so a route that is not described cannot be added.

use std::sync::OnceLock;

use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Map, Value, json};

const PATH: &str = "/api/openapi.json";
const TABLE: &str = include_str!("operations.txt");

/// What stands for an id in values of the table.
pub const ID_MARK: &str = "{id}";

/// The sets of query parameters, with what each parameter means.
const RANGE: [(&str, &str); 4] = [
    ("startAt", "First instant, ms since 1970 UTC; needed unless startDate and endDate are there"),
    ("endAt", "Last instant, ms since 1970 UTC"),
    ("startDate", "First ISO date or time, in place of startAt"),
    ("endDate", "Last ISO date or time, in place of endAt; a date means the whole day"),
];
const PAGE: [(&str, &str); 3] = [
    ("page", "Which page, from 1"),
    ("pageSize", "Rows of a page"),
    ("search", "Only rows that contain this"),
];
const FILTERS: [&str; 26] = [
    "path",
    "query",
    "title",
    "referrer",
    "hostname",
    "tag",
    "event",
    "utmSource",
    "utmMedium",
    "utmCampaign",
    "utmContent",
    "utmTerm",
    "browser",
    "os",
    "device",
    "language",
    "country",
    "region",
    "city",
    "distinctId",
    "eventType",
    "excludeBounce",
    "match",
    "segment",
    "cohort",
    "screen1",
];

/// One line of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Operation {
    /// In lower case.
    pub method: &'static str,
    pub path: &'static str,
    pub name: &'static str,
    pub query: Vec<Parameter>,
    /// The type of the body, and its fields.
    pub body: Option<(&'static str, Vec<Field>)>,
    pub answer: &'static str,
    pub is_public: bool,
    pub summary: &'static str,
}

/// What may stand in a query.
#[derive(Debug, PartialEq, Eq)]
pub enum Parameter {
    Set(&'static str),
    /// It must be there; with a value that does.
    Needed(&'static str, &'static str),
    Optional(&'static str),
}

/// A field of a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub kind: &'static str,
    pub is_needed: bool,
}

/// The route.
pub fn routes(cfg: &mut web::ServiceConfig) {
    cfg.service(web::resource(PATH).get(openapi));
}

async fn openapi(request: HttpRequest) -> HttpResponse {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    let mut document = DOCUMENT.get_or_init(|| document(&operations())).clone();
    let base_path = request.path().strip_suffix(PATH).filter(|path| !path.is_empty());
    document["servers"] = json!([{ "url": base_path.unwrap_or("/") }]);
    HttpResponse::Ok().json(document)
}

/// All operations of the table.
#[must_use]
pub fn operations() -> Vec<Operation> {
    lines().filter_map(Operation::parse).collect()
}

fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

impl Operation {
    /// Reads a line; `None` when it is not whole.
    fn parse(line: &'static str) -> Option<Self> {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [method, path, name, query, body, answer, summary] = fields[..] else { return None };
        let is_known = ["get", "post", "delete"].contains(&method) && path.starts_with("/api/");
        let (answer, is_public) = match answer.strip_suffix(" public") {
            Some(answer) => (answer, true),
            None => (answer, false),
        };
        let is_answer = ["object", "list", "page"].contains(&answer);
        let words = |text: &'static str| text.split(' ').filter(|word| *word != "-");
        let query = words(query).map(Parameter::parse).collect::<Option<Vec<_>>>()?;
        let body = match body {
            "-" => None,
            "array" => Some(("array", Vec::new())),
            fields => Some(("object", words(fields).map(Field::parse).collect::<Option<_>>()?)),
        };
        let operation = Self { method, path, name, query, body, answer, is_public, summary };
        (is_known && is_answer && !summary.is_empty()).then_some(operation)
    }

    /// The names in braces of its path.
    fn places(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    fn document(&self) -> Value {
        let place = |name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
        let mut parameters: Vec<Value> = self.places().map(place).collect();
        parameters.extend(self.query.iter().flat_map(Parameter::document));
        let mut document = json!({
            "operationId": self.name,
            "summary": self.summary,
            "parameters": parameters,
            "responses": {
                "200": {
                    "description": "The answer",
                    "content": { "application/json": { "schema": answer_schema(self.answer) } },
                },
                "default": { "$ref": "#/components/responses/Error" },
            },
        });
        if let Some((kind, fields)) = &self.body {
            let properties: Map<String, Value> = fields
                .iter()
                .map(|field| (field.name.to_owned(), json!({ "type": field.kind })))
                .collect();
            let needed: Vec<&str> =
                fields.iter().filter(|field| field.is_needed).map(|field| field.name).collect();
            let mut schema = json!({ "type": kind });
            if *kind == "object" {
                schema["properties"] = Value::Object(properties);
                schema["required"] = json!(needed);
            }
            let content = json!({ "application/json": { "schema": schema } });
            document["requestBody"] = json!({ "required": true, "content": content });
        }
        if self.is_public {
            document["security"] = json!([]);
        }
        document
    }
}

impl Parameter {
    fn parse(word: &'static str) -> Option<Self> {
        if let Some((name, value)) = word.split_once('=') {
            return (!name.is_empty() && !value.is_empty()).then_some(Self::Needed(name, value));
        }
        match word.strip_suffix('?') {
            Some(name) => Some(Self::Optional(name)),
            None => ["range", "filters", "page"].contains(&word).then_some(Self::Set(word)),
        }
    }

    fn document(&self) -> Vec<Value> {
        let text = json!({ "type": "string" });
        let described = |(name, what): &(&str, &str)| {
            let (place, schema) = ("query", &text);
            json!({ "name": name, "in": place, "description": what, "schema": schema })
        };
        match self {
            Self::Set("range") => RANGE.iter().map(described).collect(),
            Self::Set("page") => PAGE.iter().map(described).collect(),
            Self::Set(_) => {
                let what = "A filter: a value, or an operator, a dot and a value";
                FILTERS.iter().map(|name| described(&(name, what))).collect()
            }
            Self::Needed(name, value) => {
                let example = value.replace(ID_MARK, "11111111-1111-4111-8111-111111111111");
                vec![json!({
                    "name": name, "in": "query", "required": true, "schema": text, "example": example,
                })]
            }
            Self::Optional(name) => vec![json!({ "name": name, "in": "query", "schema": text })],
        }
    }
}

impl Field {
    fn parse(word: &'static str) -> Option<Self> {
        let (name, kind) = word.split_once(':')?;
        let is_kind = ["string", "number", "boolean", "object", "array"].contains(&kind);
        let (name, is_needed) = match name.strip_suffix('?') {
            Some(name) => (name, false),
            None => (name, true),
        };
        is_kind.then_some(Self { name, kind, is_needed })
    }
}

fn answer_schema(answer: &str) -> Value {
    match answer {
        "list" => json!({ "type": "array", "items": {} }),
        "page" => json!({ "$ref": "#/components/schemas/Page" }),
        _ => json!({ "type": "object" }),
    }
}

fn document(operations: &[Operation]) -> Value {
    let mut paths = Map::new();
    for operation in operations {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = operation.document();
    }
    let whole = json!({ "type": "integer" });
    let text = json!({ "type": "string" });
    let error = json!({
        "type": "object",
        "required": ["message", "code", "status"],
        "properties": { "message": text, "code": text, "status": whole },
    });
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Sumimi", "version": env!("CARGO_PKG_VERSION") },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": { "Error": {
                "description": "It could not be done",
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
            } },
            "schemas": {
                "Error": { "type": "object", "required": ["error"], "properties": { "error": error } },
                "Page": {
                    "type": "object",
                    "required": ["data", "count", "page", "pageSize"],
                    "properties": {
                        "data": { "type": "array", "items": { "type": "object" } },
                        "count": whole, "page": whole, "pageSize": whole,
                    },
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_line_of_the_table_is_whole_and_none_comes_twice() {
        let (mut names, mut places) = (HashSet::new(), HashSet::new());
        for line in lines() {
            let operation = Operation::parse(line).unwrap_or_else(|| panic!("not whole: {line}"));
            assert!(names.insert(operation.name), "twice: {line}");
            assert!(places.insert((operation.method, operation.path)), "twice: {line}");
        }
        assert!(names.len() > 100);
        for broken in [
            "get | /api/x | x | - | - | object",
            "fetch | /api/x | x | - | - | object | x",
            "get | /x | x | - | - | object | x",
            "get | /api/x | x | ranges | - | object | x",
            "get | /api/x | x | - | name | object | x",
            "get | /api/x | x | - | - | table | x",
        ] {
            assert_eq!(Operation::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_document_says_what_the_table_says() {
        let line = "post | /api/a/{aId} | doA | range type=path x? | n:string m?:number | list public | Does";
        let document = document(&[Operation::parse(line).expect("whole")]);
        let operation = &document["paths"]["/api/a/{aId}"]["post"];
        let parameters = operation["parameters"].as_array().expect("parameters");
        let names: Vec<&str> = parameters.iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["aId", "startAt", "endAt", "startDate", "endDate", "type", "x"]);
        assert_eq!(
            (&parameters[5]["required"], &parameters[6]["required"]),
            (&json!(true), &Value::Null)
        );
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(
            (&body["required"], &body["properties"]["m"]["type"]),
            (&json!(["n"]), &json!("number"))
        );
        assert_eq!(operation["security"], json!([]));
    }
}
