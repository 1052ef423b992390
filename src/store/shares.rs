//! The rows of the table of shares. Every change reaches the [`Directory`] before the function returns and while the
//! configuration connection is held: a share that is deleted shows nothing from then on.

use std::collections::HashMap;

use anyhow::{Context, Result};
use duckdb::{Connection, Row, params};
use uuid::Uuid;

use super::Store;
use crate::websites::Directory;
use crate::{clock, limits};

/// A share. Times are in ms since 1970 UTC.
#[derive(Clone, Debug)]
pub struct Share {
    pub id: Uuid,
    /// The website, link or pixel that it shows.
    pub entity_id: Uuid,
    /// 1 website, 2 link, 3 pixel.
    pub share_type: u8,
    pub name: String,
    /// The last part of its address.
    pub slug: String,
    /// A JSON object.
    pub parameters: String,
    pub created_at: i64,
    pub updated_at: i64,
}

/// A share to be made.
pub struct NewShare {
    pub entity_id: Uuid,
    pub share_type: u8,
    pub name: String,
    pub slug: String,
    pub parameters: String,
}

/// What to change; `None` leaves a field as it is.
#[derive(Default)]
pub struct ShareChange {
    pub name: Option<String>,
    pub slug: Option<String>,
    pub parameters: Option<String>,
}

/// Why a share was not made or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    SlugTaken,
    TooMany,
    Unknown,
}

const SELECT: &str = "SELECT share_id::VARCHAR, entity_id::VARCHAR, share_type, name, slug,
    parameters, created_at, updated_at FROM main.share";

/// What a page shows that was shared by its website's share id alone.
pub(super) const WHOLE: &str = r#"{"events":true,"overview":true}"#;

/// All of these block.
impl Store {
    /// One share.
    ///
    /// # Errors
    /// When the database fails; so with all of these.
    pub fn share(&self, id: Uuid) -> Result<Option<Share>> {
        self.with_admin(|connection| find(connection, id))
    }

    /// The share of a slug.
    pub fn share_of_slug(&self, slug: &str) -> Result<Option<Share>> {
        self.with_admin(|connection| by_slug(connection, slug))
    }

    /// One page of the shares of a website, link or pixel in the order in which they were made, and how many there are.
    /// `search` is looked for in names and slugs, in any case.
    pub fn shares_of(
        &self,
        entity_id: Uuid,
        search: &str,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<Share>, i64)> {
        const WHERE: &str = "entity_id = $1::UUID AND ($2 = '' OR
            contains(lower(name), lower($2)) OR contains(lower(slug), lower($2)))";
        let entity_id = entity_id.to_string();
        self.with_admin(|connection| {
            let count = connection.query_row(
                &format!("SELECT count(*) FROM main.share WHERE {WHERE}"),
                params![entity_id, search],
                |row| row.get(0),
            )?;
            let sql =
                format!("{SELECT} WHERE {WHERE} ORDER BY created_at, share_id LIMIT $3 OFFSET $4");
            Ok((rows(connection, &sql, params![entity_id, search, limit, offset])?, count))
        })
    }

    /// Makes a share.
    pub fn create_share(
        &self,
        directory: &Directory,
        new: &NewShare,
    ) -> Result<Result<Share, Refused>> {
        self.with_admin(|connection| {
            if directory.shares_len() >= limits::SHARES_MAX {
                return Ok(Err(Refused::TooMany));
            }
            if by_slug(connection, &new.slug)?.is_some() {
                return Ok(Err(Refused::SlugTaken));
            }
            let id = insert(connection, new)?;
            refresh(connection, directory)?;
            Ok(find(connection, id)?.ok_or(Refused::Unknown))
        })
    }

    /// Changes what is named in `change`.
    pub fn change_share(&self, id: Uuid, change: &ShareChange) -> Result<Result<Share, Refused>> {
        self.with_admin(|connection| {
            let other = match &change.slug {
                Some(slug) => by_slug(connection, slug)?,
                None => None,
            };
            if other.is_some_and(|other| other.id != id) {
                return Ok(Err(Refused::SlugTaken));
            }
            connection.execute(
                "UPDATE main.share SET name = coalesce($2, name), slug = coalesce($3, slug),
                     parameters = coalesce($4, parameters), updated_at = $5
                 WHERE share_id = $1::UUID",
                params![
                    id.to_string(),
                    change.name,
                    change.slug,
                    change.parameters,
                    clock::now_ms()
                ],
            )?;
            Ok(find(connection, id)?.ok_or(Refused::Unknown))
        })
    }

    /// Deletes a share; false when there is no such one.
    pub fn delete_share(&self, directory: &Directory, id: Uuid) -> Result<bool> {
        self.with_admin(|connection| {
            let sql = "DELETE FROM main.share WHERE share_id = ?::UUID";
            let deleted = connection.execute(sql, [id.to_string()])? > 0;
            refresh(connection, directory)?;
            Ok(deleted)
        })
    }
}

/// Tells the directory what the table says now.
pub(super) fn refresh(connection: &Connection, directory: &Directory) -> Result<()> {
    let mut statement =
        connection.prepare("SELECT share_id::VARCHAR, entity_id::VARCHAR FROM main.share")?;
    let mut rows = statement.query([])?;
    let mut shares = HashMap::new();
    while let Some(row) = rows.next()? {
        shares.insert(row.get::<_, String>(0)?.parse()?, row.get::<_, String>(1)?.parse()?);
    }
    directory.replace_shares(shares);
    Ok(())
}

/// Whether a slug is taken by what is not `entity_id`'s.
pub(super) fn is_taken(connection: &Connection, slug: Option<&str>, entity: Uuid) -> Result<bool> {
    let Some(slug) = slug else { return Ok(false) };
    Ok(by_slug(connection, slug)?.is_some_and(|share| share.entity_id != entity))
}

/// Makes a website's share id a share, unless it is one.
pub(super) fn put_whole(
    connection: &Connection,
    website_id: Uuid,
    name: &str,
    slug: &str,
) -> Result<()> {
    if by_slug(connection, slug)?.is_none() {
        let (name, slug, parameters) = (name.to_owned(), slug.to_owned(), WHOLE.to_owned());
        insert(
            connection,
            &NewShare { entity_id: website_id, share_type: 1, name, slug, parameters },
        )?;
    }
    Ok(())
}

/// Ends all shares of a website, link or pixel.
pub(super) fn forget(connection: &Connection, entity_id: Uuid) -> Result<()> {
    let sql = "DELETE FROM main.share WHERE entity_id = ?::UUID";
    connection.execute(sql, [entity_id.to_string()])?;
    Ok(())
}

fn insert(connection: &Connection, new: &NewShare) -> Result<Uuid> {
    let (id, now) = (Uuid::new_v4(), clock::now_ms());
    connection.execute(
        "INSERT INTO main.share VALUES (?::UUID, ?::UUID, ?, ?, ?, ?, ?, ?)",
        params![
            id.to_string(),
            new.entity_id.to_string(),
            new.share_type,
            new.name,
            new.slug,
            new.parameters,
            now,
            now
        ],
    )?;
    Ok(id)
}

fn find(connection: &Connection, id: Uuid) -> Result<Option<Share>> {
    let sql = format!("{SELECT} WHERE share_id = ?::UUID");
    Ok(rows(connection, &sql, params![id.to_string()])?.pop())
}

fn by_slug(connection: &Connection, slug: &str) -> Result<Option<Share>> {
    Ok(rows(connection, &format!("{SELECT} WHERE slug = ?"), params![slug])?.pop())
}

fn rows(connection: &Connection, sql: &str, values: &[&dyn duckdb::ToSql]) -> Result<Vec<Share>> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row).context("a share cannot be read")?);
    }
    Ok(found)
}

/// Reads the columns of [`SELECT`].
fn read(row: &Row<'_>) -> Result<Share> {
    Ok(Share {
        id: row.get::<_, String>(0)?.parse()?,
        entity_id: row.get::<_, String>(1)?.parse()?,
        share_type: row.get(2)?,
        name: row.get(3)?,
        slug: row.get(4)?,
        parameters: row.get(5)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
    })
}
