//! The management API over a new store in its own directory, and a client that speaks to it in process.

use std::sync::Arc;

use actix_web::http::Method;
use actix_web::{App, test, web};
use serde_json::{Value, json};
use sumimi::auth::Auth;
use sumimi::store::Store;
use sumimi::store::accounts::Role;
use sumimi::websites::Directory;
use sumimi::{api, auth};
use tempfile::TempDir;

pub const SECRET: &[u8] = b"a secret for these tests";
pub const PASSWORD: &str = "correct horse battery";

/// What a server has, without its network.
pub struct House {
    pub data_dir: TempDir,
    pub store: Arc<Store>,
    pub directory: Arc<Directory>,
    pub auth: Arc<Auth>,
}

/// Status and body; an empty body or one that is not JSON is null.
pub type Answer = (u16, Value);

impl House {
    /// A new one with the user `admin`.
    pub fn new() -> Self {
        let house = Self::open(tempfile::tempdir().expect("a directory"));
        house.auth.ensure_admin(Some(PASSWORD.to_owned())).expect("an admin");
        house
    }

    /// One on a directory that may have been used before.
    pub fn open(data_dir: TempDir) -> Self {
        let store = Arc::new(Store::open(data_dir.path()).expect("a store"));
        let directory = Arc::new(store.directory().expect("websites"));
        let auth = Auth::open(&store, Arc::clone(&directory), SECRET).expect("users");
        Self { data_dir, store, directory, auth: Arc::new(auth) }
    }

    /// Adds a user with [`PASSWORD`] and signs in; returns the token.
    pub async fn add_user(&self, username: &str, role: Role) -> String {
        let hash = auth::password::hash(PASSWORD).expect("hashed");
        self.auth.accounts().create(username, role, &hash).expect("works").expect("a new name");
        self.token(username).await
    }

    /// Signs in with [`PASSWORD`].
    pub async fn token(&self, username: &str) -> String {
        let credentials = json!({ "username": username, "password": PASSWORD });
        let (status, body) = self.post("/api/auth/login", "", &credentials).await;
        assert_eq!(status, 200, "{body}");
        body["token"].as_str().expect("a token").to_owned()
    }

    pub async fn get(&self, path: &str, token: &str) -> Answer {
        self.call(Method::GET, path, token, Vec::new()).await
    }

    pub async fn delete(&self, path: &str, token: &str) -> Answer {
        self.call(Method::DELETE, path, token, Vec::new()).await
    }

    pub async fn post(&self, path: &str, token: &str, body: &Value) -> Answer {
        self.call(Method::POST, path, token, body.to_string().into_bytes()).await
    }

    /// Any request; without a token when it is empty.
    pub async fn call(&self, method: Method, path: &str, token: &str, body: Vec<u8>) -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        self.call_with(method, path, if token.is_empty() { &[] } else { &headers }, body).await
    }

    /// Any request with any headers.
    pub async fn call_with(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Answer {
        let app = App::new()
            .app_data(web::Data::from(Arc::clone(&self.store)))
            .app_data(web::Data::from(Arc::clone(&self.directory)))
            .app_data(web::Data::from(Arc::clone(&self.auth)))
            .app_data(api::json_config())
            .configure(api::configure);
        let app = test::init_service(app).await;
        let mut request = test::TestRequest::default().method(method).uri(path).set_payload(body);
        for header in headers {
            request = request.insert_header(*header);
        }
        let response = test::call_service(&app, request.to_request()).await;
        let status = response.status().as_u16();
        let body = test::read_body(response).await;
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }
}

/// The code of an error in Umami's shape, which must repeat the status.
pub fn code((status, body): &Answer) -> &str {
    assert_eq!(body["error"]["status"], *status, "{body}");
    assert!(body["error"]["message"].is_string(), "{body}");
    body["error"]["code"].as_str().expect("a code")
}
