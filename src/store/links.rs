//! The rows of the table of links and pixels. As with websites, every change reaches the [`Directory`] before the
//! function returns and while the configuration connection is held, and a key is never used again.

use anyhow::{Context, Result};
use duckdb::{Connection, Row, params};
use uuid::Uuid;

use super::websites::FORGET;
use super::{Store, shares};
use crate::websites::{Directory, Link, LinkKind, Owner, Website};
use crate::{clock, limits};

/// A link or pixel as the API shows it. Times are in ms since 1970 UTC.
#[derive(Clone, Debug)]
pub struct LinkRow {
    pub key: u32,
    pub id: Uuid,
    pub kind: LinkKind,
    pub name: String,
    pub slug: String,
    /// A pixel has none.
    pub url: Option<String>,
    pub user_id: Option<Uuid>,
    pub team_id: Option<Uuid>,
    pub created_at: i64,
    pub updated_at: i64,
}

/// One to be created.
pub struct NewLink {
    pub id: Uuid,
    pub kind: LinkKind,
    pub name: String,
    pub slug: String,
    pub url: Option<String>,
    pub owner: Owner,
}

/// What to change; `None` leaves a field as it is.
#[derive(Default)]
pub struct LinkChange {
    pub name: Option<String>,
    pub slug: Option<String>,
    pub url: Option<String>,
}

/// Why one was not created or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    IdTaken,
    SlugTaken,
    TooMany,
    Unknown,
}

const SELECT: &str =
    "SELECT website_key, link_id::VARCHAR, kind, name, slug, url, user_id::VARCHAR,
    team_id::VARCHAR, created_at, updated_at FROM main.link";

/// All of these block.
impl Store {
    /// Everything that may receive events.
    ///
    /// # Errors
    /// When the database fails; so with all of these.
    pub fn directory(&self) -> Result<Directory> {
        let directory = Directory::new(self.websites()?);
        self.with_admin(|connection| {
            directory.replace_links(all(connection)?);
            shares::refresh(connection, &directory)
        })?;
        Ok(directory)
    }

    /// One link or pixel.
    pub fn link(&self, kind: LinkKind, id: Uuid) -> Result<Option<LinkRow>> {
        self.with_admin(|connection| find(connection, kind, id))
    }

    /// One page of an owner's links or pixels in the order in which they were created, and how many there are in all.
    /// `search` is looked for in names, slugs and addresses, in any case.
    pub fn links_of(
        &self,
        kind: LinkKind,
        owner: Owner,
        search: &str,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<LinkRow>, i64)> {
        const WHERE: &str = "kind = $1 AND $2::UUID IN (user_id, team_id) AND ($3 = '' OR
            contains(lower(name), lower($3)) OR contains(lower(slug), lower($3)) OR
            contains(lower(coalesce(url, '')), lower($3)))";
        let (kind, owner) = (kind.name(), owner.user().or(owner.team()).map(|id| id.to_string()));
        self.with_admin(|connection| {
            let count = connection.query_row(
                &format!("SELECT count(*) FROM main.link WHERE {WHERE}"),
                params![kind, owner, search],
                |row| row.get(0),
            )?;
            let sql = format!("{SELECT} WHERE {WHERE} ORDER BY website_key LIMIT $4 OFFSET $5");
            Ok((rows(connection, &sql, params![kind, owner, search, limit, offset])?, count))
        })
    }

    /// Creates one and gives it its key.
    pub fn create_link(
        &self,
        directory: &Directory,
        new: &NewLink,
    ) -> Result<Result<LinkRow, Refused>> {
        self.with_admin(|connection| {
            if directory.links_len() >= limits::LINKS_MAX {
                return Ok(Err(Refused::TooMany));
            }
            if directory.subject(new.id).is_some() {
                return Ok(Err(Refused::IdTaken));
            }
            if directory.link_of_slug(new.kind, &new.slug).is_some() {
                return Ok(Err(Refused::SlugTaken));
            }
            let now = clock::now_ms();
            connection.execute(
                "INSERT INTO main.link (website_key, link_id, kind, name, slug, url, user_id,
                     team_id, created_at, updated_at)
                 VALUES (nextval('main.website_key_sequence'), ?::UUID, ?, ?, ?, ?, ?::UUID,
                     ?::UUID, ?, ?)",
                params![
                    new.id.to_string(),
                    new.kind.name(),
                    new.name,
                    new.slug,
                    new.url,
                    new.owner.user().map(|id| id.to_string()),
                    new.owner.team().map(|id| id.to_string()),
                    now,
                    now
                ],
            )?;
            directory.replace_links(all(connection)?);
            let row = find(connection, new.kind, new.id)?.context("the new link is not there")?;
            Ok(Ok(row))
        })
    }

    /// Changes what is named in `change`.
    pub fn change_link(
        &self,
        directory: &Directory,
        kind: LinkKind,
        id: Uuid,
        change: &LinkChange,
    ) -> Result<Result<LinkRow, Refused>> {
        self.with_admin(|connection| {
            let other = change.slug.as_ref().and_then(|slug| directory.link_of_slug(kind, slug));
            if other.is_some_and(|other| other.subject.id != id) {
                return Ok(Err(Refused::SlugTaken));
            }
            connection.execute(
                "UPDATE main.link SET name = coalesce($3, name), slug = coalesce($4, slug),
                     url = coalesce($5, url), updated_at = $6
                 WHERE kind = $1 AND link_id = $2::UUID",
                params![
                    kind.name(),
                    id.to_string(),
                    change.name,
                    change.slug,
                    change.url,
                    clock::now_ms()
                ],
            )?;
            directory.replace_links(all(connection)?);
            Ok(find(connection, kind, id)?.ok_or(Refused::Unknown))
        })
    }

    /// Deletes one and all its events, together or not at all; false when there is no such one.
    pub fn delete_link(&self, directory: &Directory, kind: LinkKind, id: Uuid) -> Result<bool> {
        self.with_admin(|connection| {
            let Some(row) = find(connection, kind, id)? else { return Ok(false) };
            let transaction = connection.transaction()?;
            for sql in FORGET {
                transaction.execute(sql, [row.key])?;
            }
            transaction.execute("DELETE FROM main.saved WHERE website_key = ?", [row.key])?;
            transaction.execute("DELETE FROM main.annotation WHERE website_key = ?", [row.key])?;
            transaction.execute("DELETE FROM main.link WHERE website_key = ?", [row.key])?;
            shares::forget(&transaction, id)?;
            transaction.commit()?;
            shares::refresh(connection, directory)?;
            directory.replace_links(all(connection)?);
            Ok(true)
        })
    }
}

/// All links and pixels, for the directory; for changes that hold the connection already.
pub(super) fn all(connection: &Connection) -> Result<Vec<Link>> {
    let entry = |row: LinkRow| Link {
        kind: row.kind,
        subject: Website {
            key: row.key,
            id: row.id,
            reset_at: None,
            owner: Owner::of(row.user_id, row.team_id),
        },
        slug: row.slug,
        url: row.url.unwrap_or_default(),
    };
    Ok(rows(connection, SELECT, params![])?.into_iter().map(entry).collect())
}

fn find(connection: &Connection, kind: LinkKind, id: Uuid) -> Result<Option<LinkRow>> {
    let sql = format!("{SELECT} WHERE kind = ? AND link_id = ?::UUID");
    Ok(rows(connection, &sql, params![kind.name(), id.to_string()])?.pop())
}

fn rows(connection: &Connection, sql: &str, values: &[&dyn duckdb::ToSql]) -> Result<Vec<LinkRow>> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Reads the columns of [`SELECT`].
fn read(row: &Row<'_>) -> Result<LinkRow> {
    let uuid = |column| -> Result<Option<Uuid>> {
        let text: Option<String> = row.get(column)?;
        Ok(text.as_deref().map(Uuid::try_parse).transpose()?)
    };
    Ok(LinkRow {
        key: row.get(0)?,
        id: uuid(1)?.context("a link without id")?,
        kind: LinkKind::from_name(&row.get::<_, String>(2)?).context("a link of no known kind")?,
        name: row.get(3)?,
        slug: row.get(4)?,
        url: row.get(5)?,
        user_id: uuid(6)?,
        team_id: uuid(7)?,
        created_at: row.get(8)?,
        updated_at: row.get(9)?,
    })
}
