//! What is kept beside a website: segments, cohorts and reports, one table for all. Each belongs to one website and
//! goes with it; nobody finds one by the id of another website.

use anyhow::Result;
use duckdb::{Connection, Row, params};
use uuid::Uuid;

use super::Store;
use crate::websites::Website;
use crate::{clock, limits};

/// One kept thing. Times are in ms since 1970 UTC.
#[derive(Clone, Debug)]
pub struct Saved {
    pub id: Uuid,
    pub website_id: Uuid,
    pub user_id: Uuid,
    /// `segment`, `cohort`, or the type of a report.
    pub kind: String,
    pub name: String,
    pub description: String,
    /// A JSON object.
    pub parameters: String,
    pub created_at: i64,
    pub updated_at: i64,
}

/// What is kept or put in the place of what was kept.
pub struct Content {
    pub kind: String,
    pub name: String,
    /// `None` leaves it as it is.
    pub description: Option<String>,
    pub parameters: String,
}

const SELECT: &str = "SELECT saved_id::VARCHAR, website_id::VARCHAR, user_id::VARCHAR, type, name,
    description, parameters, created_at, updated_at FROM main.saved";

/// All of these block.
impl Store {
    /// Keeps something; `None` when the website has as many as it may have.
    ///
    /// # Errors
    /// When the database fails; so with all of these.
    pub fn save(
        &self,
        website: Website,
        user_id: Uuid,
        content: &Content,
    ) -> Result<Option<Saved>> {
        self.with_admin(|connection| {
            let count: i64 = connection.query_row(
                "SELECT count(*) FROM main.saved WHERE website_key = ?",
                [website.key],
                |row| row.get(0),
            )?;
            if count >= limits::SAVED_PER_WEBSITE_MAX {
                return Ok(None);
            }
            let (id, now) = (Uuid::new_v4(), clock::now_ms());
            let description = content.description.as_deref().unwrap_or_default();
            connection.execute(
                "INSERT INTO main.saved VALUES (?::UUID, ?, ?::UUID, ?::UUID, ?, ?, ?, ?, ?, ?)",
                params![
                    id.to_string(),
                    website.key,
                    website.id.to_string(),
                    user_id.to_string(),
                    content.kind,
                    content.name,
                    description,
                    content.parameters,
                    now,
                    now
                ],
            )?;
            find(connection, website.key, id)
        })
    }

    /// One of a website's.
    pub fn saved(&self, website_key: u32, id: Uuid) -> Result<Option<Saved>> {
        self.with_admin(|connection| find(connection, website_key, id))
    }

    /// The website id of one, whichever website it belongs to.
    pub fn website_of_saved(&self, id: Uuid) -> Result<Option<Uuid>> {
        self.with_admin(|connection| {
            let sql = format!("{SELECT} WHERE saved_id = ?::UUID");
            let found = rows(connection, &sql, params![id.to_string()])?;
            Ok(found.first().map(|saved| saved.website_id))
        })
    }

    /// One page of those of a website whose type is among `kinds` (between commas), oldest first, and how many there
    /// are in all. `search` is looked for in names, in any case.
    pub fn list_saved(
        &self,
        website_key: u32,
        kinds: &str,
        search: &str,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<Saved>, i64)> {
        const WHERE: &str = "website_key = $1 AND list_contains(string_split($2, ','), type)
            AND ($3 = '' OR contains(lower(name), lower($3)))";
        self.with_admin(|connection| {
            let count = connection.query_row(
                &format!("SELECT count(*) FROM main.saved WHERE {WHERE}"),
                params![website_key, kinds, search],
                |row| row.get(0),
            )?;
            let sql =
                format!("{SELECT} WHERE {WHERE} ORDER BY created_at, saved_id LIMIT $4 OFFSET $5");
            let page = rows(connection, &sql, params![website_key, kinds, search, limit, offset])?;
            Ok((page, count))
        })
    }

    /// Puts other content in its place; `None` when there is no such one.
    pub fn change_saved(
        &self,
        website_key: u32,
        id: Uuid,
        content: &Content,
    ) -> Result<Option<Saved>> {
        self.with_admin(|connection| {
            connection.execute(
                "UPDATE main.saved SET type = $3, name = $4, description = coalesce($5, description),
                     parameters = $6, updated_at = $7
                 WHERE website_key = $1 AND saved_id = $2::UUID",
                params![
                    website_key,
                    id.to_string(),
                    content.kind,
                    content.name,
                    content.description,
                    content.parameters,
                    clock::now_ms()
                ],
            )?;
            find(connection, website_key, id)
        })
    }

    /// Deletes one; false when there is no such one.
    pub fn delete_saved(&self, website_key: u32, id: Uuid) -> Result<bool> {
        self.with_admin(|connection| {
            let sql = "DELETE FROM main.saved WHERE website_key = ? AND saved_id = ?::UUID";
            Ok(connection.execute(sql, params![website_key, id.to_string()])? > 0)
        })
    }
}

fn find(connection: &Connection, website_key: u32, id: Uuid) -> Result<Option<Saved>> {
    let sql = format!("{SELECT} WHERE website_key = ? AND saved_id = ?::UUID");
    Ok(rows(connection, &sql, params![website_key, id.to_string()])?.pop())
}

fn rows(connection: &Connection, sql: &str, values: &[&dyn duckdb::ToSql]) -> Result<Vec<Saved>> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn read(row: &Row<'_>) -> Result<Saved> {
    let uuid = |column| -> Result<Uuid> { Ok(row.get::<_, String>(column)?.parse()?) };
    Ok(Saved {
        id: uuid(0)?,
        website_id: uuid(1)?,
        user_id: uuid(2)?,
        kind: row.get(3)?,
        name: row.get(4)?,
        description: row.get(5)?,
        parameters: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
    })
}
