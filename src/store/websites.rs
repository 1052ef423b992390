//! The rows of the website table, and what goes with a website when it goes. Every change reaches the [`Directory`]
//! before the function returns and while the configuration connection is held: the next event for a new website is
//! accepted, the next one for a deleted website is not, and changes cannot overtake each other.
//!
//! A website's key is never used again, so events that were already in a ring when their website was deleted belong
//! to nobody and are never shown.

use std::collections::HashMap;

use anyhow::{Context, Result};
use duckdb::{Connection, Row, params};
use uuid::Uuid;

use super::{Store, shares};
use crate::websites::{Directory, Owner, Website};
use crate::{clock, limits};

/// A website as the API shows it. Times are in ms since 1970 UTC.
#[derive(Clone, Debug)]
pub struct WebsiteRow {
    pub key: u32,
    pub id: Uuid,
    pub name: String,
    pub domain: String,
    /// The slug of its latest share.
    pub share_id: Option<String>,
    pub user_id: Option<Uuid>,
    pub team_id: Option<Uuid>,
    pub created_by: Option<Uuid>,
    pub reset_at: Option<i64>,
    pub created_at: i64,
    pub updated_at: Option<i64>,
    pub replay_enabled: bool,
    /// A JSON object.
    pub replay_config: Option<String>,
}

/// A website to be created.
pub struct NewWebsite {
    pub id: Uuid,
    pub name: String,
    pub domain: String,
    pub share_id: Option<String>,
    pub owner: Owner,
    pub created_by: Uuid,
}

/// Of whom a list is.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    Everybody,
    Of(Owner),
    /// A user's own, and those of the teams that the user owns.
    WithTeams(Uuid),
}

impl Whose {
    /// The condition on a row, and the id that is `$1` in it.
    fn condition(self) -> (&'static str, Option<String>) {
        match self {
            Self::Everybody => ("$1::UUID IS NULL", None),
            Self::Of(owner) => {
                let id = owner.user().or(owner.team()).unwrap_or_default();
                ("$1::UUID IN (user_id, team_id)", Some(id.to_string()))
            }
            Self::WithTeams(user) => (
                "(user_id = $1::UUID OR team_id IN (SELECT team_id FROM main.team_user
                     WHERE user_id = $1::UUID AND role = 'team-owner'))",
                Some(user.to_string()),
            ),
        }
    }
}

/// What to change; `None` leaves a field as it is.
#[derive(Default)]
pub struct WebsiteChange {
    pub name: Option<String>,
    pub domain: Option<String>,
    /// A slug makes a share, nothing ends all of them.
    pub share_id: Option<Option<String>>,
    pub replay_enabled: Option<bool>,
    pub replay_config: Option<Option<String>>,
}

/// Why a website was not created or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    IdTaken,
    ShareIdTaken,
    TooMany,
    Unknown,
}

const COLUMNS: &str = "website_key, website_id::VARCHAR, name, domain,
    (SELECT arg_max(slug, created_at) FROM main.share WHERE entity_id = website_id), user_id::VARCHAR,
    team_id::VARCHAR, created_by::VARCHAR, reset_at, created_at, updated_at, replay_enabled,
    replay_config";

/// Takes the rows of one website, link or pixel out of the event tables.
pub(super) const FORGET: [&str; 5] = [
    "DELETE FROM facts.event WHERE website_key = ?",
    "DELETE FROM facts.event_data WHERE website_key = ?",
    "DELETE FROM facts.session_data WHERE website_key = ?",
    "DELETE FROM facts.revenue WHERE website_key = ?",
    "DELETE FROM facts.replay_chunk WHERE website_key = ?",
];

/// All of these block.
impl Store {
    /// All websites, for the directory.
    ///
    /// # Errors
    /// When the database fails; so with all of these.
    pub fn websites(&self) -> Result<Vec<Website>> {
        self.with_admin(|connection| all(connection))
    }

    /// One website.
    pub fn website(&self, id: Uuid) -> Result<Option<WebsiteRow>> {
        self.with_admin(|connection| find(connection, id))
    }

    /// One page of somebody's websites in the order in which they were created, or of everybody's, newest first, and
    /// how many there are in all. `search` is looked for in names and domains, in any case.
    pub fn websites_of(
        &self,
        whose: Whose,
        search: &str,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<WebsiteRow>, i64)> {
        let (condition, owner) = whose.condition();
        let condition = format!(
            "{condition} AND ($2 = '' OR contains(lower(name), lower($2)) OR
                contains(lower(domain), lower($2)))"
        );
        let direction = if owner.is_some() { "ASC" } else { "DESC" };
        self.with_admin(|connection| {
            let count = connection.query_row(
                &format!("SELECT count(*) FROM main.website WHERE {condition}"),
                params![owner, search],
                |row| row.get(0),
            )?;
            let mut statement = connection.prepare(&format!(
                "SELECT {COLUMNS} FROM main.website WHERE {condition}
                 ORDER BY website_key {direction} LIMIT $3 OFFSET $4"
            ))?;
            let mut rows = statement.query(params![owner, search, limit, offset])?;
            let mut page = Vec::new();
            while let Some(row) = rows.next()? {
                page.push(read(row)?);
            }
            Ok((page, count))
        })
    }

    /// How many websites each user and each team has.
    pub fn website_counts(&self) -> Result<HashMap<Uuid, i64>> {
        self.with_admin(|connection| {
            let mut statement = connection.prepare(
                "SELECT coalesce(team_id, user_id)::VARCHAR, count(*) FROM main.website
                 WHERE coalesce(team_id, user_id) IS NOT NULL GROUP BY ALL",
            )?;
            let mut rows = statement.query([])?;
            let mut counts = HashMap::new();
            while let Some(row) = rows.next()? {
                counts.insert(row.get::<_, String>(0)?.parse()?, row.get(1)?);
            }
            Ok(counts)
        })
    }

    /// Creates a website and gives it its key.
    pub fn create_website(
        &self,
        directory: &Directory,
        new: &NewWebsite,
    ) -> Result<Result<WebsiteRow, Refused>> {
        self.with_admin(|connection| {
            if directory.len() >= limits::WEBSITES_MAX {
                return Ok(Err(Refused::TooMany));
            }
            if find(connection, new.id)?.is_some() || directory.subject(new.id).is_some() {
                return Ok(Err(Refused::IdTaken));
            }
            if shares::is_taken(connection, new.share_id.as_deref(), new.id)? {
                return Ok(Err(Refused::ShareIdTaken));
            }
            let (now, text) = (clock::now_ms(), |id: Uuid| id.to_string());
            let transaction = connection.transaction()?;
            transaction.execute(
                "INSERT INTO main.website (website_key, website_id, name, domain, user_id,
                     team_id, created_by, created_at, updated_at)
                 VALUES (nextval('main.website_key_sequence'), ?::UUID, ?, ?, ?::UUID, ?::UUID,
                     ?::UUID, ?, ?)",
                params![
                    new.id.to_string(),
                    new.name,
                    new.domain,
                    new.owner.user().map(text),
                    new.owner.team().map(text),
                    text(new.created_by),
                    now,
                    now
                ],
            )?;
            if let Some(share_id) = &new.share_id {
                shares::put_whole(&transaction, new.id, &new.name, share_id)?;
            }
            transaction.commit()?;
            shares::refresh(connection, directory)?;
            let row = find(connection, new.id)?.context("the new website is not there")?;
            directory.put(entry(&row));
            Ok(Ok(row))
        })
    }

    /// Changes what is named in `change`.
    pub fn change_website(
        &self,
        directory: &Directory,
        id: Uuid,
        change: &WebsiteChange,
    ) -> Result<Result<WebsiteRow, Refused>> {
        self.with_admin(|connection| {
            let Some(mut row) = find(connection, id)? else { return Ok(Err(Refused::Unknown)) };
            let wanted = change.share_id.as_ref().and_then(Option::as_deref);
            if shares::is_taken(connection, wanted, id)? {
                return Ok(Err(Refused::ShareIdTaken));
            }
            set(&mut row.name, change.name.as_ref());
            set(&mut row.domain, change.domain.as_ref());
            set(&mut row.replay_enabled, change.replay_enabled.as_ref());
            set(&mut row.replay_config, change.replay_config.as_ref());
            row.updated_at = Some(clock::now_ms());
            let transaction = connection.transaction()?;
            transaction.execute(
                "UPDATE main.website SET name = ?, domain = ?, replay_enabled = ?,
                     replay_config = ?, updated_at = ?
                 WHERE website_id = ?::UUID",
                params![
                    row.name,
                    row.domain,
                    row.replay_enabled,
                    row.replay_config,
                    row.updated_at,
                    id.to_string()
                ],
            )?;
            match &change.share_id {
                None => {}
                Some(None) => shares::forget(&transaction, id)?,
                Some(Some(slug)) => shares::put_whole(&transaction, id, &row.name, slug)?,
            }
            transaction.commit()?;
            shares::refresh(connection, directory)?;
            Ok(find(connection, id)?.ok_or(Refused::Unknown))
        })
    }

    /// Gives a website to somebody else.
    pub fn give_website(
        &self,
        directory: &Directory,
        id: Uuid,
        owner: Owner,
    ) -> Result<Option<WebsiteRow>> {
        self.with_admin(|connection| {
            let text = |id: Uuid| id.to_string();
            connection.execute(
                "UPDATE main.website SET user_id = ?::UUID, team_id = ?::UUID, updated_at = ?
                 WHERE website_id = ?::UUID",
                params![owner.user().map(text), owner.team().map(text), clock::now_ms(), text(id)],
            )?;
            let row = find(connection, id)?;
            if let Some(row) = &row {
                directory.put(entry(row));
            }
            Ok(row)
        })
    }

    /// Deletes a website and all its events, together or not at all; false when there is no such website.
    pub fn delete_website(&self, directory: &Directory, id: Uuid) -> Result<bool> {
        self.with_admin(|connection| {
            let Some(row) = find(connection, id)? else { return Ok(false) };
            let transaction = connection.transaction()?;
            for sql in FORGET {
                transaction.execute(sql, [row.key])?;
            }
            transaction.execute("DELETE FROM main.saved WHERE website_key = ?", [row.key])?;
            transaction
                .execute("DELETE FROM main.saved_replay WHERE website_key = ?", [row.key])?;
            transaction.execute("DELETE FROM main.annotation WHERE website_key = ?", [row.key])?;
            let sql = "DELETE FROM main.website WHERE website_id = ?::UUID";
            transaction.execute(sql, [id.to_string()])?;
            shares::forget(&transaction, id)?;
            transaction.commit()?;
            shares::refresh(connection, directory)?;
            directory.remove(id);
            Ok(true)
        })
    }

    /// Deletes all events of a website. What comes later with an earlier time is kept but not shown.
    pub fn reset_website(&self, directory: &Directory, id: Uuid) -> Result<bool> {
        self.with_admin(|connection| {
            let Some(mut row) = find(connection, id)? else { return Ok(false) };
            let now = clock::now_ms();
            let transaction = connection.transaction()?;
            for sql in FORGET {
                transaction.execute(sql, [row.key])?;
            }
            transaction.execute(
                "UPDATE main.website SET reset_at = ?, updated_at = ? WHERE website_id = ?::UUID",
                params![now, now, id.to_string()],
            )?;
            transaction.commit()?;
            row.reset_at = Some(now);
            directory.put(entry(&row));
            Ok(true)
        })
    }
}

fn set<T: Clone>(field: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}

/// All websites, for the directory; for changes that hold the connection already.
pub(super) fn all(connection: &Connection) -> Result<Vec<Website>> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM main.website"))?;
    let mut rows = statement.query([])?;
    let mut websites = Vec::new();
    while let Some(row) = rows.next()? {
        websites.push(entry(&read(row)?));
    }
    Ok(websites)
}

fn find(connection: &Connection, id: Uuid) -> Result<Option<WebsiteRow>> {
    let mut statement = connection
        .prepare(&format!("SELECT {COLUMNS} FROM main.website WHERE website_id = ?::UUID"))?;
    let mut rows = statement.query([id.to_string()])?;
    rows.next()?.map(read).transpose()
}

/// Reads the [`COLUMNS`].
fn read(row: &Row<'_>) -> Result<WebsiteRow> {
    let uuid = |column| -> Result<Option<Uuid>> {
        let text: Option<String> = row.get(column)?;
        Ok(text.as_deref().map(Uuid::try_parse).transpose()?)
    };
    Ok(WebsiteRow {
        key: row.get(0)?,
        id: uuid(1)?.context("a website without id")?,
        name: row.get(2)?,
        domain: row.get(3)?,
        share_id: row.get(4)?,
        user_id: uuid(5)?,
        team_id: uuid(6)?,
        created_by: uuid(7)?,
        reset_at: row.get(8)?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
        replay_enabled: row.get(11)?,
        replay_config: row.get(12)?,
    })
}

fn entry(row: &WebsiteRow) -> Website {
    let owner = Owner::of(row.user_id, row.team_id);
    Website { key: row.key, id: row.id, reset_at: row.reset_at, owner }
}

#[cfg(test)]
#[path = "websites_tests.rs"]
mod tests;
