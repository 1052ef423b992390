//! Recordings of visits: pieces are kept while their website wants them and there is room, and forgotten after a time
//! unless somebody saved the recording. All bounds are asked in the transaction that keeps a piece.

use anyhow::Result;
use duckdb::{Connection, params};

use super::Store;
use super::websites::WebsiteRow;
use crate::{clock, disk, limits};

/// A piece of a recording.
#[derive(Clone, Debug)]
pub struct NewChunk {
    pub website_key: u32,
    pub session_id: u64,
    pub visit_id: u64,
    /// ms since 1970 UTC.
    pub started_at: i64,
    pub ended_at: i64,
    pub event_count: usize,
    /// Of the events before they were compressed.
    pub json_bytes: usize,
    pub events: Vec<u8>,
}

/// What became of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Kept,
    /// Its website does not record.
    Off,
    /// The recording is as long as one may be.
    Long,
    /// All recordings together take the room that they may take.
    Full,
    /// There is too little room on the disk.
    Disk,
}

/// A recording that somebody saved.
#[derive(Clone, Debug)]
pub struct SavedReplay {
    pub visit_id: u64,
    pub name: String,
    pub created_at: i64,
    pub updated_at: i64,
}

impl WebsiteRow {
    /// Whether visits are recorded: older clients say so beside the settings, newer ones among them.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        is_on(self.replay_enabled, self.replay_config.as_deref())
    }
}

fn is_on(enabled: bool, config: Option<&str>) -> bool {
    let config = config.and_then(|config| serde_json::from_str::<serde_json::Value>(config).ok());
    enabled || config.is_some_and(|config| config["replayEnabled"] == true)
}

/// Whether the visits of a website are recorded.
fn is_recorded(connection: &Connection, website_key: u32) -> Result<bool> {
    let sql = "SELECT replay_enabled, replay_config FROM main.website WHERE website_key = ?";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([website_key])?;
    let Some(row) = rows.next()? else { return Ok(false) };
    let config: Option<String> = row.get(1)?;
    Ok(is_on(row.get(0)?, config.as_deref()))
}

const IS_SAVED: &str =
    "SELECT count(*) FROM main.saved_replay WHERE website_key = ? AND visit_id = ?";

/// All of these block.
impl Store {
    /// Keeps a piece, if its website records and there is room.
    ///
    /// # Errors
    /// When the database fails; so with all of these.
    pub fn keep_chunk(&self, chunk: &NewChunk) -> Result<Fate> {
        let folder = self.path().parent().unwrap_or(self.path());
        if disk::free_bytes(folder).is_ok_and(|free| free < limits::REPLAY_DISK_RESERVE_BYTES) {
            return Ok(Fate::Disk);
        }
        self.with_admin(|connection| {
            let transaction = connection.transaction()?;
            let is_recorded = is_recorded(&transaction, chunk.website_key)?;
            if !is_recorded {
                return Ok(Fate::Off);
            }
            if let Some(refused) = no_room(&transaction, chunk)? {
                return Ok(refused);
            }
            transaction.execute(
                "INSERT INTO facts.replay_chunk VALUES
                     (nextval('main.replay_chunk_sequence'), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    chunk.website_key,
                    chunk.session_id,
                    chunk.visit_id,
                    chunk.started_at,
                    chunk.ended_at,
                    clock::now_ms(),
                    chunk.event_count,
                    chunk.json_bytes,
                    chunk.events.len(),
                    chunk.events,
                ],
            )?;
            transaction.commit()?;
            Ok(Fate::Kept)
        })
    }

    /// Forgets what came before a time, but not what is saved; how many pieces that were.
    pub fn forget_chunks(&self, before: i64) -> Result<usize> {
        self.with_admin(|connection| {
            Ok(connection.execute(
                "DELETE FROM facts.replay_chunk
                 WHERE received_at < ? AND NOT EXISTS (
                     FROM main.saved_replay AS saved
                     WHERE saved.website_key = replay_chunk.website_key
                         AND saved.visit_id = replay_chunk.visit_id)",
                [before],
            )?)
        })
    }

    /// Saves a recording under a name, or names it anew; false when the website has saved as many as it may.
    pub fn save_replay(&self, website_key: u32, visit_id: u64, name: &str) -> Result<bool> {
        self.with_admin(|connection| {
            let now = clock::now_ms();
            let changed = connection.execute(
                "UPDATE main.saved_replay SET name = ?, updated_at = ?
                 WHERE website_key = ? AND visit_id = ?",
                params![name, now, website_key, visit_id],
            )?;
            if changed > 0 {
                return Ok(true);
            }
            let sql = "SELECT count(*) FROM main.saved_replay WHERE website_key = ?";
            let count: i64 = connection.query_row(sql, [website_key], |row| row.get(0))?;
            if count >= limits::SAVED_PER_WEBSITE_MAX {
                return Ok(false);
            }
            connection.execute(
                "INSERT INTO main.saved_replay VALUES (?, ?, ?, ?, ?)",
                params![website_key, visit_id, name, now, now],
            )?;
            Ok(true)
        })
    }

    /// Saves a recording no longer.
    pub fn unsave_replay(&self, website_key: u32, visit_id: u64) -> Result<()> {
        self.with_admin(|connection| {
            let sql = "DELETE FROM main.saved_replay WHERE website_key = ? AND visit_id = ?";
            connection.execute(sql, params![website_key, visit_id])?;
            Ok(())
        })
    }

    /// Whether somebody saved it.
    pub fn is_replay_saved(&self, website_key: u32, visit_id: u64) -> Result<bool> {
        self.with_admin(|connection| {
            let found = params![website_key, visit_id];
            Ok(connection.query_row(IS_SAVED, found, |row| row.get::<_, i64>(0))? > 0)
        })
    }

    /// A page of the saved ones whose name contains a text, the newest first, and how many there are.
    pub fn saved_replays(
        &self,
        website_key: u32,
        (search, limit, offset): &(String, i64, i64),
    ) -> Result<(Vec<SavedReplay>, i64)> {
        const WHERE: &str =
            "FROM main.saved_replay WHERE website_key = ? AND contains(lower(name), lower(?))";
        self.with_admin(|connection| {
            let count = connection.query_row(
                &format!("SELECT count(*) {WHERE}"),
                params![website_key, search],
                |row| row.get(0),
            )?;
            let mut statement = connection.prepare(&format!(
                "SELECT visit_id, name, created_at, updated_at {WHERE}
                 ORDER BY created_at DESC, visit_id LIMIT ? OFFSET ?"
            ))?;
            let rows = statement.query_map(params![website_key, search, limit, offset], |row| {
                Ok(SavedReplay {
                    visit_id: row.get(0)?,
                    name: row.get(1)?,
                    created_at: row.get(2)?,
                    updated_at: row.get(3)?,
                })
            })?;
            Ok((rows.collect::<duckdb::Result<_>>()?, count))
        })
    }
}

/// Why there is no room for a piece, if there is none.
fn no_room(connection: &Connection, chunk: &NewChunk) -> Result<Option<Fate>> {
    let (all, own, chunks): (u64, u64, u64) = connection.query_row(
        "SELECT
             coalesce(sum(kept_bytes), 0)::UBIGINT,
             coalesce(sum(json_bytes) FILTER (website_key = $1 AND visit_id = $2), 0)::UBIGINT,
             count(*) FILTER (website_key = $1 AND visit_id = $2)::UBIGINT
         FROM facts.replay_chunk",
        params![chunk.website_key, chunk.visit_id],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let (json_bytes, kept_bytes) = (chunk.json_bytes as u64, chunk.events.len() as u64);
    Ok(if all + kept_bytes > limits::REPLAYS_BYTES_MAX {
        Some(Fate::Full)
    } else if own + json_bytes > limits::REPLAY_BYTES_MAX || chunks >= limits::REPLAY_CHUNKS_MAX {
        Some(Fate::Long)
    } else {
        None
    })
}
