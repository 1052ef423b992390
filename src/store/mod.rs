//! The DuckDB side, and the only module that names `duckdb`. One database object, opened once with every limit
//! set and then locked; one connection appends (`append`), a few answer (`reader`), one changes configuration.
//!
//! Invariants: the engine's memory, threads and spill are bounded from the first open; no extension is fetched;
//! event tables carry no key and no index; nothing a client sent is ever pasted into SQL.

pub mod accounts;
pub mod annotations;
pub mod answers;
pub mod api_keys;
pub mod append;
pub mod boards;
mod columns;
pub mod horizons;
pub mod links;
pub mod question;
pub mod reader;
mod rehash;
pub mod replays;
mod rows;
pub mod saved;
pub mod schema;
mod sessions;
pub mod shares;
pub mod sql;
pub mod teams;
pub mod versions;
pub mod websites;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use duckdb::{Config, Connection};

use self::versions::Versions;
use crate::{disk, limits};

/// An open database. Cheap to share behind an `Arc`.
pub struct Store {
    path: PathBuf,
    /// Raised by everything that changes event tables.
    versions: Arc<Versions>,
    /// The connection that changes configuration tables, one caller at a time.
    admin: Mutex<Connection>,
}

impl Store {
    /// Opens (or creates, kill-safe) the database in `data_dir`.
    ///
    /// # Errors
    /// When the file cannot be opened, is locked by another process, or has a newer schema.
    pub fn open(data_dir: &Path) -> Result<Self> {
        let path = data_dir.join("sumimi.duckdb");
        schema::create_if_missing(&path)?;
        let mut connection = open_limited(&path, data_dir)?;
        schema::upgrade(&mut connection)?;
        Ok(Self { path, versions: Arc::default(), admin: Mutex::new(connection) })
    }

    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Another connection to the same database.
    ///
    /// # Errors
    /// When the engine is dead.
    fn connect(&self) -> Result<Connection> {
        let connection = self.with_admin(|admin| Ok(admin.try_clone()?))?;
        connection.execute_batch(USE)?;
        Ok(connection)
    }

    /// Runs `work` on the configuration connection; blocks, so call it from `web::block`.
    fn with_admin<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        work(&mut self.admin.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The tables of what belongs to somebody, by `user_id` or `team_id`.
const OWNED: [&str; 3] = ["website", "link", "board"];

/// What every connection says first: the names in our statements are those of the attached file.
const USE: &str = "USE sumimi";

/// Opens with every bound set, then locks the settings. The file is attached to an empty database in memory, since
/// only so the size of its row groups can be chosen.
fn open_limited(path: &Path, data_dir: &Path) -> Result<Connection> {
    let spill = data_dir.join("spill");
    // A question that spills must not take the room that events need.
    let free_mb = disk::free_bytes(data_dir).map_or(usize::MAX, |bytes| (bytes >> 20) as usize);
    let spill_mb = limits::ENGINE_SPILL_MB.min(free_mb / 4);
    let config = Config::default()
        .threads(1)?
        .max_memory(&format!("{}MB", limits::ENGINE_MEMORY_MB))?
        .enable_autoload_extension(false)?
        .with("autoinstall_known_extensions", "false")?
        .with("preserve_insertion_order", "false")?
        .with("wal_autocheckpoint", format!("{}B", limits::WAL_BYTES_MAX))?
        .with("temp_directory", spill.to_string_lossy())?
        .with("max_temp_directory_size", format!("{spill_mb}MB"))?;
    let connection = Connection::open_in_memory_with_flags(config)?;
    attach(&connection, path)?;
    connection
        .execute_batch("SET enable_external_access = false; SET lock_configuration = true;")?;
    Ok(connection)
}

/// Opens the database file (or creates it) as the one that statements mean.
fn attach(connection: &Connection, path: &Path) -> Result<()> {
    let file = path.to_string_lossy().replace('\'', "''");
    let rows = limits::BATCH_ROWS_MAX;
    connection
        .execute_batch(&format!(
            "ATTACH '{file}' AS sumimi (ROW_GROUP_SIZE {rows}, STORAGE_VERSION 'v1.5.0'); {USE}"
        ))
        .with_context(|| format!("cannot open {}", path.display()))
}
