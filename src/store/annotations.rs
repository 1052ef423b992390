//! Dated notes of websites. Each belongs to one website and goes with it; nobody finds one by the id of another
//! website.

use anyhow::Result;
use duckdb::{Connection, Row, params};
use uuid::Uuid;

use super::Store;
use crate::{clock, limits};

/// What a note says. Times are in ms since 1970 UTC, here and below.
#[derive(Clone, Debug)]
pub struct Note {
    pub noted_at: i64,
    pub all_day: bool,
    pub text: String,
}

/// One note.
#[derive(Clone, Debug)]
pub struct Annotation {
    pub id: Uuid,
    pub user_id: Uuid,
    pub note: Note,
    pub created_at: i64,
    pub updated_at: i64,
}

/// Which notes are listed: of these times (both ends included), with this piece of text in any case.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub since: i64,
    pub until: i64,
    pub search: String,
    pub limit: i64,
    pub offset: i64,
}

const SELECT: &str = "SELECT annotation_id::VARCHAR, user_id::VARCHAR, noted_at, all_day, note,
    created_at, updated_at FROM main.annotation";

/// All of these block.
impl Store {
    /// Keeps a note; `None` when the website has as many as it may have.
    ///
    /// # Errors
    /// When the database fails; so with all of these.
    pub fn annotate(
        &self,
        website_key: u32,
        user_id: Uuid,
        note: &Note,
    ) -> Result<Option<Annotation>> {
        self.with_admin(|connection| {
            let count: i64 = connection.query_row(
                "SELECT count(*) FROM main.annotation WHERE website_key = ?",
                [website_key],
                |row| row.get(0),
            )?;
            if count >= limits::ANNOTATIONS_PER_WEBSITE_MAX {
                return Ok(None);
            }
            let (id, now) = (Uuid::new_v4(), clock::now_ms());
            connection.execute(
                "INSERT INTO main.annotation VALUES (?::UUID, ?, ?::UUID, ?, ?, ?, ?, ?)",
                params![
                    id.to_string(),
                    website_key,
                    user_id.to_string(),
                    note.noted_at,
                    note.all_day,
                    note.text,
                    now,
                    now
                ],
            )?;
            find(connection, website_key, id)
        })
    }

    /// One of a website's.
    pub fn annotation(&self, website_key: u32, id: Uuid) -> Result<Option<Annotation>> {
        self.with_admin(|connection| find(connection, website_key, id))
    }

    /// One page of those that are wanted, the latest first, and how many there are in all.
    pub fn annotations(&self, website_key: u32, wanted: &Wanted) -> Result<(Vec<Annotation>, i64)> {
        const WHERE: &str = "website_key = $1 AND noted_at BETWEEN $2 AND $3
            AND ($4 = '' OR contains(lower(note), lower($4)))";
        let Wanted { since, until, search, limit, offset } = wanted;
        self.with_admin(|connection| {
            let count = connection.query_row(
                &format!("SELECT count(*) FROM main.annotation WHERE {WHERE}"),
                params![website_key, since, until, search],
                |row| row.get(0),
            )?;
            let sql = format!(
                "{SELECT} WHERE {WHERE} ORDER BY noted_at DESC, created_at DESC, annotation_id
                 LIMIT $5 OFFSET $6"
            );
            let values = params![website_key, since, until, search, limit, offset];
            Ok((rows(connection, &sql, values)?, count))
        })
    }

    /// Puts another note in its place; `None` when there is no such one.
    pub fn change_annotation(
        &self,
        website_key: u32,
        id: Uuid,
        note: &Note,
    ) -> Result<Option<Annotation>> {
        self.with_admin(|connection| {
            connection.execute(
                "UPDATE main.annotation SET noted_at = ?, all_day = ?, note = ?, updated_at = ?
                 WHERE website_key = ? AND annotation_id = ?::UUID",
                params![
                    note.noted_at,
                    note.all_day,
                    note.text,
                    clock::now_ms(),
                    website_key,
                    id.to_string()
                ],
            )?;
            find(connection, website_key, id)
        })
    }

    /// Deletes one; false when there is no such one.
    pub fn delete_annotation(&self, website_key: u32, id: Uuid) -> Result<bool> {
        self.with_admin(|connection| {
            let sql =
                "DELETE FROM main.annotation WHERE website_key = ? AND annotation_id = ?::UUID";
            Ok(connection.execute(sql, params![website_key, id.to_string()])? > 0)
        })
    }
}

fn find(connection: &Connection, website_key: u32, id: Uuid) -> Result<Option<Annotation>> {
    let sql = format!("{SELECT} WHERE website_key = ? AND annotation_id = ?::UUID");
    Ok(rows(connection, &sql, params![website_key, id.to_string()])?.pop())
}

fn rows(
    connection: &Connection,
    sql: &str,
    values: &[&dyn duckdb::ToSql],
) -> Result<Vec<Annotation>> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn read(row: &Row<'_>) -> Result<Annotation> {
    let uuid = |column| -> Result<Uuid> { Ok(row.get::<_, String>(column)?.parse()?) };
    Ok(Annotation {
        id: uuid(0)?,
        user_id: uuid(1)?,
        note: Note { noted_at: row.get(2)?, all_day: row.get(3)?, text: row.get(4)? },
        created_at: row.get(5)?,
        updated_at: row.get(6)?,
    })
}
