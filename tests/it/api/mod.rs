//! Questions through their routes, over a database of events written here as literal rows.

mod annotations;
mod answers;
mod definitions;
mod event_data;
mod events;
mod export;
mod filters;
mod metrics;
mod pageviews;
mod readers;
mod reports;
mod segments;
mod session_data;
mod sessions;
mod stats;
mod values;

use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::ServiceResponse;
use actix_web::{App, test, web};
use serde_json::Value;
use sumimi::api;
use sumimi::auth::Auth;
use sumimi::auth::token::{Key, Login};
use sumimi::clock;
use sumimi::store::accounts::Role;
use sumimi::store::reader::Readers;
use sumimi::store::{Store, schema};
use sumimi::websites::{Directory, Owner, Website};
use tempfile::TempDir;

/// The website of the tests, number 1.
pub const SITE: &str = "/api/websites/11111111-1111-4111-8111-111111111111";
/// Another one, number 2, that was reset at 2026-03-02T00:00:00Z.
pub const RESET_SITE: &str = "/api/websites/22222222-2222-4222-8222-222222222222";
/// March 2026 in UTC.
pub const MARCH: &str = "startAt=1772323200000&endAt=1775001599999";

const SECRET: &[u8] = b"a secret for these tests";

/// One row of the event table; what is not set is NULL.
#[derive(Clone)]
pub struct Seed {
    website_key: u32,
    at: i64,
    kind: u8,
    session: u64,
    visit: u64,
    texts: Vec<(&'static str, &'static str)>,
    data: Vec<(&'static str, Data)>,
}

/// A property of an event.
#[derive(Clone)]
pub enum Data {
    Text(&'static str),
    /// As it is written in SQL.
    Number(&'static str),
    Flag(bool),
    /// An ISO time.
    Date(&'static str),
    Array(&'static str),
}

impl Data {
    /// The columns from `data_type` on.
    fn columns(&self) -> String {
        match self {
            Self::Text(text) => format!("1, '{text}', NULL, NULL"),
            Self::Number(number) => format!("2, NULL, {number}, NULL"),
            Self::Flag(value) => format!("3, '{value}', NULL, NULL"),
            Self::Date(time) => format!("4, '{time}', NULL, {}", at(time)),
            Self::Array(json) => format!("5, '{json}', NULL, NULL"),
        }
    }
}

/// Milliseconds since 1970 of an ISO time.
pub fn at(time: &str) -> i64 {
    time.parse::<jiff::Timestamp>().expect("an ISO time").as_millisecond()
}

/// A page view on `example.com`.
pub fn page(time: &str, session: u64, visit: u64, path: &'static str) -> Seed {
    let texts = vec![("hostname", "example.com"), ("url_path", path), ("url_query", "")];
    Seed { website_key: 1, at: at(time), kind: 1, session, visit, texts, data: Vec::new() }
}

/// A custom event on `/`.
pub fn event(time: &str, session: u64, visit: u64, name: &'static str) -> Seed {
    Seed { kind: 2, ..page(time, session, visit, "/") }.with("event_name", name)
}

/// What `identify` tells: properties of a session, and no event.
pub fn identify(time: &str, session: u64) -> Seed {
    Seed {
        website_key: 1,
        at: at(time),
        kind: 0,
        session,
        visit: 0,
        texts: Vec::new(),
        data: Vec::new(),
    }
}

impl Seed {
    pub fn with(mut self, column: &'static str, value: &'static str) -> Self {
        self.texts.retain(|(known, _)| *known != column);
        self.texts.push((column, value));
        self
    }

    /// With a property.
    pub fn data(mut self, key: &'static str, value: Data) -> Self {
        self.data.push((key, value));
        self
    }

    fn text(&self, column: &str) -> String {
        let found = self.texts.iter().find(|(known, _)| *known == column);
        found.map_or_else(|| "NULL".to_owned(), |(_, text)| format!("'{text}'"))
    }

    /// The statements that put the event's properties in.
    fn data_rows(&self, number: usize) -> Vec<String> {
        let Self { website_key, session, at, .. } = self;
        let (name, path) = (self.text("event_name"), self.text("url_path"));
        let distinct_id = self.text("distinct_id");
        let row = |(key, value): &(&str, Data)| {
            let value = value.columns();
            if self.kind == 0 {
                return format!(
                    "INSERT INTO facts.session_data VALUES \
                     ({website_key}, {number}, {session}, {at}, {distinct_id}, '{key}', {value})"
                );
            }
            format!(
                "INSERT INTO facts.event_data VALUES \
                 ({website_key}, {number}, {session}, {at}, {name}, {path}, '{key}', {value})"
            )
        };
        self.data.iter().map(row).collect()
    }

    pub fn kind(self, kind: u8) -> Self {
        Self { kind, ..self }
    }

    pub fn of_website(self, website_key: u32) -> Self {
        Self { website_key, ..self }
    }
}

/// The application over a database of its own.
pub struct TestApp {
    pub store: Arc<Store>,
    pub readers: Readers,
    auth: Arc<Auth>,
    token: String,
    _data_dir: TempDir,
}

impl TestApp {
    pub fn new(seeds: &[Seed]) -> Self {
        Self::with_rows(seeds, &[])
    }

    /// The same with rows of other tables, as statements.
    pub fn with_rows(seeds: &[Seed], statements: &[&str]) -> Self {
        let data_dir = TempDir::new().expect("a directory");
        write(data_dir.path(), seeds, statements);
        let store = Arc::new(Store::open(data_dir.path()).expect("opens"));
        let readers = Readers::new(&store).expect("connects");
        let website = |key: u32, path: &str, reset_at| {
            let id = path.rsplit('/').next().expect("a last part").parse().expect("a UUID");
            Website { key, id, reset_at, owner: Owner::Nobody }
        };
        let reset_at = at("2026-03-02T00:00:00Z");
        let websites = vec![website(1, SITE, None), website(2, RESET_SITE, Some(reset_at))];
        let directory = Arc::new(Directory::new(websites));
        let auth = Arc::new(Auth::open(&store, directory, SECRET).expect("no users yet"));
        let added = auth.accounts().create("reader", Role::Admin, "no password");
        let user_id = added.expect("works").expect("a new name");
        let login = Login { user_id, issued_at: clock::now_ms(), token_epoch: 0, login_id: 1 };
        let token = Key::new(SECRET).expect("a key").sign(&login);
        Self { store, readers, auth, token, _data_dir: data_dir }
    }

    /// Asks with a token.
    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.ask(test::TestRequest::get().uri(path), true).await
    }

    /// Deletes with a token.
    pub async fn delete(&self, path: &str) -> (u16, Value) {
        self.ask(test::TestRequest::delete().uri(path), true).await
    }

    /// Sends a body with a token.
    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask(test::TestRequest::post().uri(path).set_json(body), true).await
    }

    /// Asks as nobody.
    pub async fn get_without_token(&self, path: &str) -> (u16, Value) {
        self.ask(test::TestRequest::get().uri(path), false).await
    }

    /// The answer to a question that must be a good one.
    pub async fn answer(&self, path: &str) -> Value {
        let (status, answer) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Two columns of an answer's rows: `[("a", 1), …]`.
    pub async fn pairs(&self, path: &str, name: &str, figure: &str) -> Vec<(String, i64)> {
        let answer = self.answer(path).await;
        let rows = answer.as_array().unwrap_or_else(|| panic!("{path}: no rows: {answer}"));
        let pair = |row: &Value| Some((row[name].as_str()?.to_owned(), row[figure].as_i64()?));
        rows.iter().map(|row| pair(row).unwrap_or_else(|| panic!("{path}: {row}"))).collect()
    }

    async fn ask(&self, request: test::TestRequest, with_token: bool) -> (u16, Value) {
        let (status, body) = self.ask_for_bytes(request, with_token).await;
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    /// Asks with a token for what is not JSON.
    pub async fn bytes(&self, path: &str) -> (u16, Vec<u8>) {
        self.ask_for_bytes(test::TestRequest::get().uri(path), true).await
    }

    /// The beginning of an answer whose body nobody has read.
    pub async fn response(&self, path: &str) -> ServiceResponse<impl MessageBody> {
        self.begin(test::TestRequest::get().uri(path), true).await
    }

    async fn ask_for_bytes(&self, request: test::TestRequest, with_token: bool) -> (u16, Vec<u8>) {
        let response = self.begin(request, with_token).await;
        let status = response.status().as_u16();
        let body =
            test::try_read_body(response).await.unwrap_or_else(|_| panic!("the body is cut off"));
        (status, body.to_vec())
    }

    async fn begin(
        &self,
        mut request: test::TestRequest,
        with_token: bool,
    ) -> ServiceResponse<impl MessageBody> {
        let app = test::init_service(
            App::new()
                .app_data(web::Data::from(Arc::clone(&self.auth)))
                .app_data(web::Data::new(self.readers.clone()))
                .app_data(web::Data::from(Arc::clone(&self.store)))
                .app_data(api::json_config())
                .configure(api::configure),
        )
        .await;
        if with_token {
            request = request.insert_header(("authorization", format!("Bearer {}", self.token)));
        }
        test::call_service(&app, request.to_request()).await
    }
}

/// Builds the database and puts the rows in, before anyone else opens it.
fn write(data_dir: &std::path::Path, seeds: &[Seed], statements: &[&str]) {
    let path = data_dir.join("sumimi.duckdb");
    schema::create_if_missing(&path).expect("a schema");
    let connection = duckdb::Connection::open(&path).expect("opens");
    for (number, seed) in seeds.iter().enumerate() {
        for statement in seed.data_rows(number) {
            connection.execute_batch(&statement).expect("inserts");
        }
        if seed.kind == 0 {
            continue;
        }
        let names: Vec<&str> = seed.texts.iter().map(|(name, _)| *name).collect();
        let marks = ", ?".repeat(seed.texts.len());
        let insert = format!(
            "INSERT INTO facts.event (website_key, event_id, session_id, visit_id, created_at, event_type, \
             has_data, {}) VALUES ({}, {number}, {}, {}, {}, {}, {}{marks})",
            names.join(", "),
            seed.website_key,
            seed.session,
            seed.visit,
            seed.at,
            seed.kind,
            !seed.data.is_empty()
        );
        let values = seed.texts.iter().map(|(_, value)| value);
        connection.execute(&insert, duckdb::params_from_iter(values)).expect("inserts");
    }
    for statement in statements {
        connection.execute_batch(statement).expect("inserts");
    }
    connection.close().map_err(|(_, error)| error).expect("closes");
}

/// Percent-encodes a query value.
pub fn encoded(value: &str) -> String {
    percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC).to_string()
}
