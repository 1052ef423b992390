//! API keys. Kept in memory beside the users, for the same reason: a key is checked with every request that carries
//! one. The copy is replaced before a change returns, so a key that is deleted is worth nothing from then on.
//!
//! Invariants: only the hash of a key is kept; a key belongs to somebody who exists; their number is bounded.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::{Context, Result};
use duckdb::{Connection, Transaction, params};
use uuid::Uuid;

use super::accounts::Accounts;
use crate::{clock, limits};

/// A key. Times are in ms since 1970 UTC.
#[derive(Debug)]
pub struct ApiKey {
    pub id: Uuid,
    pub user_id: Uuid,
    pub name: String,
    /// How it begins.
    pub prefix: String,
    pub may_write: bool,
    pub created_at: i64,
    /// About when it was last used, 0 for never.
    last_used_at: AtomicI64,
}

impl ApiKey {
    /// About when it was last used.
    #[must_use]
    pub fn last_used_at(&self) -> Option<i64> {
        Some(self.last_used_at.load(Ordering::Relaxed)).filter(|at| *at != 0)
    }

    /// Notes that it is used now; true when the note in the table is so old that a new one is worth writing.
    fn is_used(&self, now: i64) -> bool {
        let last = self.last_used_at.load(Ordering::Relaxed);
        let is_old = now.saturating_sub(last) >= limits::API_KEY_USE_MS;
        let order = Ordering::Relaxed;
        is_old && self.last_used_at.compare_exchange(last, now, order, order).is_ok()
    }
}

/// A key to be made.
pub struct NewApiKey {
    pub user_id: Uuid,
    pub name: String,
    pub prefix: String,
    /// Of the whole key, in hex.
    pub hash: String,
    pub may_write: bool,
}

/// All keys by their hashes.
pub(super) type Keys = HashMap<String, Arc<ApiKey>>;

/// Those that change something block.
impl Accounts {
    /// The key of a hash.
    #[must_use]
    pub fn api_key(&self, hash: &str) -> Option<Arc<ApiKey>> {
        self.known.load().api_keys.get(hash).cloned()
    }

    /// Somebody's keys, the newest first.
    #[must_use]
    pub fn api_keys_of(&self, user_id: Uuid) -> Vec<Arc<ApiKey>> {
        let known = self.known.load();
        let mut keys: Vec<_> =
            known.api_keys.values().filter(|key| key.user_id == user_id).cloned().collect();
        keys.sort_by_key(|key| (-key.created_at, key.id));
        keys
    }

    /// Adds a key; `None` when there are too many, or nobody to have it.
    ///
    /// # Errors
    /// When the database fails; so with all of these.
    pub fn create_api_key(&self, new: &NewApiKey) -> Result<Option<Arc<ApiKey>>> {
        let is_added = self.change(|connection| {
            let known = self.known.load();
            let own = known.api_keys.values().filter(|key| key.user_id == new.user_id).count();
            let is_full = own >= limits::API_KEYS_PER_USER_MAX
                || known.api_keys.len() >= limits::API_KEYS_MAX;
            if is_full || !known.by_id.contains_key(&new.user_id) {
                return Ok(false);
            }
            connection.execute(
                "INSERT INTO main.api_key VALUES (?::UUID, ?::UUID, ?, ?, ?, ?, ?, NULL)",
                params![
                    Uuid::new_v4().to_string(),
                    new.user_id.to_string(),
                    new.name,
                    new.prefix,
                    new.hash,
                    new.may_write,
                    clock::now_ms()
                ],
            )?;
            Ok(true)
        })?;
        Ok(self.api_key(&new.hash).filter(|_| is_added))
    }

    /// Deletes one of somebody's keys; false when they have no such one.
    pub fn delete_api_key(&self, user_id: Uuid, id: Uuid) -> Result<bool> {
        self.change(|connection| {
            let sql = "DELETE FROM main.api_key WHERE key_id = ?::UUID AND user_id = ?::UUID";
            Ok(connection.execute(sql, params![id.to_string(), user_id.to_string()])? > 0)
        })
    }

    /// Notes that a key is used. Does not block; a note that has to be written is returned as work that does.
    pub fn use_api_key(&self, key: &ApiKey) -> Option<impl FnOnce() -> Result<()> + Send + use<>> {
        let (id, now, store) = (key.id, clock::now_ms(), Arc::clone(&self.store));
        key.is_used(now).then_some(move || {
            store.with_admin(|connection| {
                let sql = "UPDATE main.api_key SET last_used_at = ? WHERE key_id = ?::UUID";
                connection.execute(sql, params![now, id.to_string()])?;
                Ok(())
            })
        })
    }
}

/// Deletes all keys of somebody who goes.
pub(super) fn delete_all(transaction: &Transaction<'_>, user_id: Uuid) -> Result<()> {
    let sql = "DELETE FROM main.api_key WHERE user_id = ?::UUID";
    transaction.execute(sql, [user_id.to_string()])?;
    Ok(())
}

/// All keys.
pub(super) fn load(connection: &Connection) -> Result<Keys> {
    let mut statement = connection.prepare(
        "SELECT key_id::VARCHAR, user_id::VARCHAR, name, key_prefix, key_hash, may_write,
             created_at, coalesce(last_used_at, 0)
         FROM main.api_key",
    )?;
    let mut rows = statement.query([])?;
    let mut keys = Keys::new();
    while let Some(row) = rows.next()? {
        let (id, user_id): (String, String) = (row.get(0)?, row.get(1)?);
        let key = ApiKey {
            id: id.parse().context("a key's id is no UUID")?,
            user_id: user_id.parse().context("a user id is no UUID")?,
            name: row.get(2)?,
            prefix: row.get(3)?,
            may_write: row.get(5)?,
            created_at: row.get(6)?,
            last_used_at: AtomicI64::new(row.get(7)?),
        };
        keys.insert(row.get(4)?, Arc::new(key));
    }
    Ok(keys)
}
