//! Creates and checks the schema. A `kill -9` at any moment of the first start leaves either no database or a
//! complete one: it is built beside its final name, checkpointed, closed, synced, and only then renamed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use duckdb::Connection;

use crate::clock;

/// The schema files in the order in which they are applied; the version is the number of files.
const FILES: [&str; 9] = [
    include_str!("../../sql/schema/0001_initial.sql"),
    include_str!("../../sql/schema/0002_saved.sql"),
    include_str!("../../sql/schema/0003_links.sql"),
    include_str!("../../sql/schema/0004_boards.sql"),
    include_str!("../../sql/schema/0005_teams.sql"),
    include_str!("../../sql/schema/0006_annotation.sql"),
    include_str!("../../sql/schema/0007_shares.sql"),
    include_str!("../../sql/schema/0008_api_keys.sql"),
    include_str!("../../sql/schema/0009_replay.sql"),
];

/// Builds the database at `path` unless it exists.
///
/// # Errors
/// When the directory cannot be written.
pub fn create_if_missing(path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let aside = path.with_extension("duckdb.new");
    let log = path.with_extension("duckdb.new.wal");
    for leftover in [&aside, &log] {
        if leftover.exists() {
            fs::remove_file(leftover)?;
        }
    }
    let connection = Connection::open_in_memory()?;
    super::attach(&connection, &aside)
        .with_context(|| format!("cannot create a database in {}", path.display()))?;
    for (file, number) in FILES.iter().zip(1..) {
        apply(&connection, file, number)?;
    }
    connection.execute_batch("CHECKPOINT; USE memory; DETACH sumimi")?;
    connection.close().map_err(|(_, error)| error)?;
    fs::File::open(&aside)?.sync_all()?;
    fs::rename(&aside, path)?;
    if let Some(directory) = path.parent() {
        fs::File::open(directory)?.sync_all()?;
    }
    Ok(())
}

/// Brings a database of an older program up to date, each step whole or not at all; refuses one of a newer program.
///
/// # Errors
/// When it is of a newer program, not one of ours, or cannot be written.
pub fn upgrade(connection: &mut Connection) -> Result<()> {
    let version: i64 = connection
        .query_row("SELECT max(version) FROM main.schema_version", [], |row| row.get(0))
        .context("this is not a database of sumimi")?;
    let Some(missing) = usize::try_from(version).ok().and_then(|version| FILES.get(version..))
    else {
        bail!(
            "the database has schema {version}, this program knows {}: use a matching version",
            FILES.len()
        );
    };
    for (file, number) in missing.iter().zip(version + 1..) {
        let transaction = connection.transaction()?;
        apply(&transaction, file, number)?;
        transaction.commit()?;
    }
    Ok(())
}

fn apply(connection: &Connection, file: &str, number: i64) -> Result<()> {
    connection.execute_batch(file)?;
    connection.execute(
        "INSERT INTO main.schema_version VALUES (?, ?)",
        duckdb::params![number, clock::now_ms()],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The version in which share ids became shares.
    const SHARES: usize = 7;

    /// A database of the schema `version`, with a website that has a share id, left as a crash leaves it: its changes
    /// are in the log and not in the file.
    fn old(path: &Path, version: usize) {
        let connection = Connection::open_in_memory().expect("opens");
        crate::store::attach(&connection, path).expect("attached");
        for (file, number) in FILES[..version].iter().zip(1..) {
            apply(&connection, file, number).expect("applied");
        }
        connection.execute_batch("CHECKPOINT").expect("checkpoint");
        let share = if version < SHARES { ", share_id" } else { "" };
        let value = if version < SHARES { ", 'old-share'" } else { "" };
        connection
            .execute_batch(&format!(
                "PRAGMA disable_checkpoint_on_shutdown;
                 INSERT INTO main.website (website_id, name, domain, created_at{share})
                 VALUES ('11111111-1111-4111-8111-111111111111', 'Site', 'd', 5{value})"
            ))
            .expect("a website");
    }

    #[test]
    fn a_database_of_every_version_is_brought_up_to_date_and_keeps_what_it_had() {
        for version in 1..=FILES.len() {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("sumimi.duckdb");
            old(&path, version);
            for _ in 0..2 {
                let store = crate::store::Store::open(dir.path()).expect("opens");
                let website = store.websites().expect("websites").pop().expect("the website");
                let row = store.website(website.id).expect("read").expect("known");
                let share = (version < SHARES).then(|| "old-share".to_owned());
                assert_eq!((row.name.as_str(), row.share_id), ("Site", share), "version {version}");
            }
        }
    }
}
