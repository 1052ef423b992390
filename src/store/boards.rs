//! The rows of the table of boards. A user's dashboard is a row among them, of a kind of its own: it is never listed,
//! and nobody finds it by its id.

use anyhow::{Context, Result};
use duckdb::{Connection, Row, params};
use uuid::Uuid;

use super::Store;
use crate::websites::Owner;
use crate::{clock, limits};

/// A board. Times are in ms since 1970 UTC.
#[derive(Clone, Debug)]
pub struct Board {
    pub id: Uuid,
    pub kind: String,
    pub name: String,
    pub description: String,
    /// A JSON object.
    pub parameters: String,
    pub user_id: Option<Uuid>,
    pub team_id: Option<Uuid>,
    pub created_at: i64,
    pub updated_at: i64,
}

/// What is on a board; `None` leaves it as it is, or empty on a new one.
#[derive(Clone, Default)]
pub struct BoardContent {
    pub name: Option<String>,
    pub description: Option<String>,
    pub parameters: Option<String>,
}

/// The kind of boards that are listed and shared.
pub const OPEN: &str = "open";
/// The kind of a user's dashboard.
pub const DASHBOARD: &str = "dashboard";

const SELECT: &str = "SELECT board_id::VARCHAR, kind, name, description, parameters,
    user_id::VARCHAR, team_id::VARCHAR, created_at, updated_at FROM main.board";

/// All of these block.
impl Store {
    /// One open board.
    ///
    /// # Errors
    /// When the database fails; so with all of these.
    pub fn board(&self, id: Uuid) -> Result<Option<Board>> {
        self.with_admin(|connection| open(connection, id))
    }

    /// One page of an owner's open boards in the order in which they were created, and how many there are in all.
    /// `search` is looked for in names and descriptions, in any case.
    pub fn boards_of(
        &self,
        owner: Owner,
        search: &str,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<Board>, i64)> {
        const WHERE: &str = "kind = 'open' AND $1::UUID IN (user_id, team_id) AND ($2 = '' OR
            contains(lower(name), lower($2)) OR contains(lower(description), lower($2)))";
        let owner = id_of(owner);
        self.with_admin(|connection| {
            let count = connection.query_row(
                &format!("SELECT count(*) FROM main.board WHERE {WHERE}"),
                params![owner, search],
                |row| row.get(0),
            )?;
            let sql =
                format!("{SELECT} WHERE {WHERE} ORDER BY created_at, board_id LIMIT $3 OFFSET $4");
            Ok((rows(connection, &sql, params![owner, search, limit, offset])?, count))
        })
    }

    /// Creates an open board; `None` when the owner has as many as one may have.
    pub fn create_board(&self, owner: Owner, content: &BoardContent) -> Result<Option<Board>> {
        self.with_admin(|connection| {
            let count: i64 = connection.query_row(
                "SELECT count(*) FROM main.board WHERE ?::UUID IN (user_id, team_id)",
                [id_of(owner)],
                |row| row.get(0),
            )?;
            if count >= limits::BOARDS_PER_OWNER_MAX {
                return Ok(None);
            }
            insert(connection, OPEN, owner, content).map(Some)
        })
    }

    /// Changes what is named in `content`; `None` when there is no such open board.
    pub fn change_board(&self, id: Uuid, content: &BoardContent) -> Result<Option<Board>> {
        self.with_admin(|connection| {
            if open(connection, id)?.is_none() {
                return Ok(None);
            }
            update(connection, id, content).map(Some)
        })
    }

    /// Deletes an open board; false when there is no such one.
    pub fn delete_board(&self, id: Uuid) -> Result<bool> {
        self.with_admin(|connection| {
            let sql = "DELETE FROM main.board WHERE kind = 'open' AND board_id = ?::UUID";
            Ok(connection.execute(sql, [id.to_string()])? > 0)
        })
    }

    /// A user's dashboard, once it was saved.
    pub fn dashboard(&self, user_id: Uuid) -> Result<Option<Board>> {
        self.with_admin(|connection| dashboard(connection, user_id))
    }

    /// Saves a user's dashboard.
    pub fn save_dashboard(&self, user_id: Uuid, content: &BoardContent) -> Result<Board> {
        self.with_admin(|connection| match dashboard(connection, user_id)? {
            Some(board) => update(connection, board.id, content),
            None => insert(connection, DASHBOARD, Owner::User(user_id), content),
        })
    }
}

fn id_of(owner: Owner) -> Option<String> {
    owner.user().or(owner.team()).map(|id| id.to_string())
}

fn open(connection: &Connection, id: Uuid) -> Result<Option<Board>> {
    let sql = format!("{SELECT} WHERE kind = 'open' AND board_id = ?::UUID");
    Ok(rows(connection, &sql, params![id.to_string()])?.pop())
}

fn dashboard(connection: &Connection, user_id: Uuid) -> Result<Option<Board>> {
    let sql = format!("{SELECT} WHERE kind = 'dashboard' AND user_id = ?::UUID");
    Ok(rows(connection, &sql, params![user_id.to_string()])?.pop())
}

fn insert(
    connection: &Connection,
    kind: &str,
    owner: Owner,
    content: &BoardContent,
) -> Result<Board> {
    let (id, now) = (Uuid::new_v4(), clock::now_ms());
    connection.execute(
        "INSERT INTO main.board VALUES (?::UUID, ?, ?, ?, ?, ?::UUID, ?::UUID, ?, ?)",
        params![
            id.to_string(),
            kind,
            content.name.as_deref().unwrap_or_default(),
            content.description.as_deref().unwrap_or_default(),
            content.parameters.as_deref().unwrap_or("{}"),
            owner.user().map(|id| id.to_string()),
            owner.team().map(|id| id.to_string()),
            now,
            now
        ],
    )?;
    by_id(connection, id)
}

fn update(connection: &Connection, id: Uuid, content: &BoardContent) -> Result<Board> {
    connection.execute(
        "UPDATE main.board SET name = coalesce($2, name), description = coalesce($3, description),
             parameters = coalesce($4, parameters), updated_at = $5
         WHERE board_id = $1::UUID",
        params![
            id.to_string(),
            content.name,
            content.description,
            content.parameters,
            clock::now_ms()
        ],
    )?;
    by_id(connection, id)
}

fn by_id(connection: &Connection, id: Uuid) -> Result<Board> {
    let sql = format!("{SELECT} WHERE board_id = ?::UUID");
    rows(connection, &sql, params![id.to_string()])?.pop().context("the board is not there")
}

fn rows(connection: &Connection, sql: &str, values: &[&dyn duckdb::ToSql]) -> Result<Vec<Board>> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Reads the columns of [`SELECT`].
fn read(row: &Row<'_>) -> Result<Board> {
    let uuid = |column| -> Result<Option<Uuid>> {
        let text: Option<String> = row.get(column)?;
        Ok(text.as_deref().map(Uuid::try_parse).transpose()?)
    };
    Ok(Board {
        id: uuid(0)?.context("a board without id")?,
        kind: row.get(1)?,
        name: row.get(2)?,
        description: row.get(3)?,
        parameters: row.get(4)?,
        user_id: uuid(5)?,
        team_id: uuid(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
    })
}
