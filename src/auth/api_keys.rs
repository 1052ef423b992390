//! API keys: what programs send in place of a login, `umami_` and 200 random bits. Only a key's hash is kept; so much
//! randomness needs no slow one.
//!
//! Invariants: a key acts for its user with the role that the user has now, and dies with the user; one that may only
//! read is accepted nowhere but where requests read; no key is a login, so none signs in or out, changes people or
//! passwords, or makes keys.

use std::fmt::Write;
use std::sync::Arc;

use actix_web::http::Method;
use actix_web::{HttpRequest, web};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Auth, Bearer, password};
use crate::error::ApiError;
use crate::limits;
use crate::store::accounts::Account;
use crate::store::api_keys::{ApiKey, NewApiKey};

/// How every key begins. No login does: its first letter tells its kind.
pub(super) const MARK: &str = "umami_";

/// What is asked with POST although it changes nothing: the questions of reports, which are one word behind this, and
/// who is asking.
const QUESTIONS: &str = "/api/reports/";
const VERIFY: &str = "/api/auth/verify";

/// Whether a request can change nothing, whoever sends it. What is not known to read counts as writing.
pub(super) fn reads(request: &HttpRequest) -> bool {
    if request.method() == Method::POST {
        // Patterns and not paths: what stands in braces is an id, and what has one there is changed.
        let pattern = request.match_pattern().unwrap_or_default();
        let question = pattern.split_once(QUESTIONS).map(|(_, kind)| kind);
        return pattern.ends_with(VERIFY) || question.is_some_and(|kind| !kind.contains('{'));
    }
    [Method::GET, Method::HEAD].contains(request.method())
}

impl Auth {
    /// The user for whom the key of a request acts.
    pub(super) fn user_of_key(&self, bearer: &Bearer) -> Option<Arc<Account>> {
        let key = self.accounts.api_key(&hash(bearer.api_key.as_deref()?))?;
        let account = self.accounts.by_id(key.user_id)?;
        if !key.may_write && !bearer.reads {
            return None;
        }
        if let Some(note) = self.accounts.use_api_key(&key) {
            // Nobody waits for it. One that is lost is written with the next use.
            actix_web::rt::task::spawn_blocking(move || {
                if let Err(error) = note() {
                    tracing::warn!("cannot note the use of an API key: {error:#}");
                }
            });
        }
        Some(account)
    }

    /// The caller's keys.
    ///
    /// # Errors
    /// 401 without a login.
    pub fn api_keys(&self, bearer: &Bearer) -> Result<Vec<Arc<ApiKey>>, ApiError> {
        let (_, account) = self.login(bearer)?;
        Ok(self.accounts.api_keys_of(account.id))
    }

    /// Makes a key of the caller; the key itself is told this once.
    ///
    /// # Errors
    /// 401 without a login, 400 when there are too many.
    pub async fn create_api_key(
        auth: &Arc<Self>,
        bearer: &Bearer,
        name: String,
        may_write: bool,
    ) -> Result<(String, Arc<ApiKey>), ApiError> {
        let (_, account) = auth.login(bearer)?;
        let key = format!("{MARK}{}", password::random_text(limits::API_KEY_RANDOM_CHARS)?);
        let prefix = key.chars().take(limits::API_KEY_SHOWN_CHARS).collect();
        let new = NewApiKey { user_id: account.id, name, prefix, hash: hash(&key), may_write };
        let set = Arc::clone(auth);
        let made = web::block(move || set.accounts.create_api_key(&new)).await??;
        let made = made.ok_or_else(|| ApiError::bad_request("There are too many API keys"))?;
        Ok((key, made))
    }

    /// Deletes a key of the caller; it is worth nothing from then on.
    ///
    /// # Errors
    /// 401 without a login, 404 when the caller has no such key.
    pub async fn delete_api_key(
        auth: &Arc<Self>,
        bearer: &Bearer,
        id: Uuid,
    ) -> Result<(), ApiError> {
        let (_, account) = auth.login(bearer)?;
        let set = Arc::clone(auth);
        let delete = move || set.accounts.delete_api_key(account.id, id);
        if web::block(delete).await?? { Ok(()) } else { Err(ApiError::NotFound) }
    }
}

/// What a key is looked up by. That a lookup may take longer for some hashes than for others tells nothing of a key.
fn hash(key: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(key.as_bytes()) {
        // Writing to a text does not fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
