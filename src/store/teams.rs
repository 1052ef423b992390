//! Teams and who belongs to them. Kept in memory beside the users, for the same reason: whether somebody may see a
//! team's website is asked with every question.
//!
//! Invariants: a team has an owner as long as it exists; nobody is in a team twice; what a team had belongs to
//! somebody when the team is gone.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use duckdb::{Connection, Transaction, params};
use uuid::Uuid;

use super::accounts::Accounts;
use super::{links, websites};
use crate::websites::Directory;
use crate::{clock, limits};

/// What somebody may do in a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeamRole {
    /// Everything; there is one.
    Owner,
    /// Everything but deleting the team and giving its things away.
    Manager,
    /// Add, change and delete what the team has.
    Member,
    /// Look at it.
    ViewOnly,
}

impl TeamRole {
    const ALL: [Self; 4] = [Self::Owner, Self::Manager, Self::Member, Self::ViewOnly];

    /// The role of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Its name in the API and in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Owner => "team-owner",
            Self::Manager => "team-manager",
            Self::Member => "team-member",
            Self::ViewOnly => "team-view-only",
        }
    }
}

/// Somebody's place in a team. Times are in ms since 1970 UTC.
#[derive(Clone, Debug)]
pub struct Member {
    pub id: Uuid,
    pub team_id: Uuid,
    pub user_id: Uuid,
    pub role: TeamRole,
    pub created_at: i64,
    pub updated_at: i64,
}

/// A team. Times are in ms since 1970 UTC.
#[derive(Clone, Debug)]
pub struct Team {
    pub id: Uuid,
    pub name: String,
    pub access_code: String,
    pub created_at: i64,
    pub updated_at: i64,
    /// In the order in which they came.
    pub members: Vec<Member>,
}

impl Team {
    /// Somebody's place in it.
    #[must_use]
    pub fn member(&self, user_id: Uuid) -> Option<&Member> {
        self.members.iter().find(|member| member.user_id == user_id)
    }

    fn role(&self, user_id: Uuid) -> Option<TeamRole> {
        self.member(user_id).map(|member| member.role)
    }
}

/// Why a team was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    UnknownTeam,
    UnknownUser,
    CodeTaken,
    IsMember,
    NoMember,
    /// The owner stays what and where they are.
    Owner,
    TooMany,
}

type Outcome<T> = Result<Result<T, Refused>>;

/// Those that change something block.
impl Accounts {
    /// The team of an id.
    #[must_use]
    pub fn team(&self, id: Uuid) -> Option<Arc<Team>> {
        self.known.load().teams.get(&id).cloned()
    }

    /// The team of an access code.
    #[must_use]
    pub fn team_of_code(&self, code: &str) -> Option<Arc<Team>> {
        self.known.load().teams.values().find(|team| team.access_code == code).cloned()
    }

    /// All teams, or those of a user, in the order of their names.
    #[must_use]
    pub fn teams(&self, user_id: Option<Uuid>) -> Vec<Arc<Team>> {
        let known = self.known.load();
        let is_in = |team: &&Arc<Team>| user_id.is_none_or(|id| team.member(id).is_some());
        let mut teams: Vec<_> = known.teams.values().filter(is_in).cloned().collect();
        teams.sort_by_cached_key(|team| (team.name.to_lowercase(), team.created_at, team.id));
        teams
    }

    /// Adds a team.
    ///
    /// # Errors
    /// When the database fails; so with all of these.
    pub fn create_team(&self, name: &str, access_code: &str, owner: Uuid) -> Outcome<Arc<Team>> {
        let id = Uuid::new_v4();
        let outcome = self.change(|connection| {
            let known = self.known.load();
            if known.teams.len() >= limits::TEAMS_MAX {
                return Ok(Err(Refused::TooMany));
            }
            if !known.by_id.contains_key(&owner) {
                return Ok(Err(Refused::UnknownUser));
            }
            let now = clock::now_ms();
            let transaction = connection.transaction()?;
            transaction.execute(
                "INSERT INTO main.team VALUES (?::UUID, ?, ?, ?, ?)",
                params![id.to_string(), name, access_code, now, now],
            )?;
            put(&transaction, id, owner, TeamRole::Owner)?;
            transaction.commit()?;
            Ok(Ok(()))
        })?;
        Ok(outcome.and_then(|()| self.team(id).ok_or(Refused::UnknownTeam)))
    }

    /// Changes a team; `None` leaves a field as it is.
    ///
    /// # Errors
    /// When the database fails.
    pub fn change_team(
        &self,
        id: Uuid,
        name: Option<&str>,
        access_code: Option<&str>,
    ) -> Outcome<Arc<Team>> {
        let outcome = self.change(|connection| {
            let other = access_code.and_then(|code| self.team_of_code(code));
            if other.is_some_and(|other| other.id != id) {
                return Ok(Err(Refused::CodeTaken));
            }
            connection.execute(
                "UPDATE main.team SET name = coalesce(?, name),
                     access_code = coalesce(?, access_code), updated_at = ?
                 WHERE team_id = ?::UUID",
                params![name, access_code, clock::now_ms(), id.to_string()],
            )?;
            Ok(Ok(()))
        })?;
        Ok(outcome.and_then(|()| self.team(id).ok_or(Refused::UnknownTeam)))
    }

    /// Removes a team; what it had belongs to `heir` from now on.
    ///
    /// # Errors
    /// When the database fails.
    pub fn remove_team(&self, directory: &Directory, id: Uuid, heir: Uuid) -> Outcome<()> {
        self.change(|connection| {
            if self.team(id).is_none() {
                return Ok(Err(Refused::UnknownTeam));
            }
            let transaction = connection.transaction()?;
            for table in super::OWNED {
                let sql = format!(
                    "UPDATE main.{table} SET user_id = ?::UUID, team_id = NULL, updated_at = ?
                     WHERE team_id = ?::UUID"
                );
                let values = params![heir.to_string(), clock::now_ms(), id.to_string()];
                transaction.execute(&sql, values)?;
            }
            for table in ["team_user", "team"] {
                let sql = format!("DELETE FROM main.{table} WHERE team_id = ?::UUID");
                transaction.execute(&sql, [id.to_string()])?;
            }
            transaction.commit()?;
            directory.replace(websites::all(connection)?);
            directory.replace_links(links::all(connection)?);
            Ok(Ok(()))
        })
    }

    /// Adds somebody to a team.
    ///
    /// # Errors
    /// When the database fails.
    pub fn add_member(&self, team_id: Uuid, user_id: Uuid, role: TeamRole) -> Outcome<Member> {
        let outcome = self.change(|connection| {
            let known = self.known.load();
            let Some(team) = known.teams.get(&team_id) else {
                return Ok(Err(Refused::UnknownTeam));
            };
            if !known.by_id.contains_key(&user_id) {
                return Ok(Err(Refused::UnknownUser));
            }
            if team.member(user_id).is_some() {
                return Ok(Err(Refused::IsMember));
            }
            put(connection, team_id, user_id, role)?;
            Ok(Ok(()))
        })?;
        Ok(outcome.and_then(|()| self.member(team_id, user_id)))
    }

    /// Gives a member another role.
    ///
    /// # Errors
    /// When the database fails.
    pub fn change_member(&self, team_id: Uuid, user_id: Uuid, role: TeamRole) -> Outcome<Member> {
        let outcome = self.change(|connection| {
            let old = match self.member(team_id, user_id) {
                Ok(member) => member,
                Err(refused) => return Ok(Err(refused)),
            };
            if old.role == TeamRole::Owner {
                return Ok(Err(Refused::Owner));
            }
            connection.execute(
                "UPDATE main.team_user SET role = ?, updated_at = ?
                 WHERE team_id = ?::UUID AND user_id = ?::UUID",
                params![role.name(), clock::now_ms(), team_id.to_string(), user_id.to_string()],
            )?;
            Ok(Ok(()))
        })?;
        Ok(outcome.and_then(|()| self.member(team_id, user_id)))
    }

    /// Takes somebody out of a team.
    ///
    /// # Errors
    /// When the database fails.
    pub fn remove_member(&self, team_id: Uuid, user_id: Uuid) -> Outcome<()> {
        self.change(|connection| {
            let member = match self.member(team_id, user_id) {
                Ok(member) => member,
                Err(refused) => return Ok(Err(refused)),
            };
            if member.role == TeamRole::Owner {
                return Ok(Err(Refused::Owner));
            }
            take(connection, team_id, user_id)?;
            Ok(Ok(()))
        })
    }

    fn member(&self, team_id: Uuid, user_id: Uuid) -> Result<Member, Refused> {
        let team = self.team(team_id).ok_or(Refused::UnknownTeam)?;
        team.member(user_id).cloned().ok_or(Refused::NoMember)
    }
}

fn put(connection: &Connection, team_id: Uuid, user_id: Uuid, role: TeamRole) -> Result<()> {
    let now = clock::now_ms();
    connection.execute(
        "INSERT INTO main.team_user VALUES (?::UUID, ?::UUID, ?::UUID, ?, ?, ?)",
        params![
            Uuid::new_v4().to_string(),
            team_id.to_string(),
            user_id.to_string(),
            role.name(),
            now,
            now
        ],
    )?;
    Ok(())
}

fn take(connection: &Connection, team_id: Uuid, user_id: Uuid) -> Result<()> {
    connection.execute(
        "DELETE FROM main.team_user WHERE team_id = ?::UUID AND user_id = ?::UUID",
        [team_id.to_string(), user_id.to_string()],
    )?;
    Ok(())
}

/// Takes a user out of all teams; those that the user owned have `heir` as their owner.
pub(super) fn leave_all(
    transaction: &Transaction<'_>,
    teams: &HashMap<Uuid, Arc<Team>>,
    user_id: Uuid,
    heir: Uuid,
) -> Result<()> {
    for team in teams.values() {
        match team.role(user_id) {
            None => {}
            Some(TeamRole::Owner) => {
                take(transaction, team.id, user_id)?;
                take(transaction, team.id, heir)?;
                put(transaction, team.id, heir, TeamRole::Owner)?;
            }
            Some(_) => take(transaction, team.id, user_id)?,
        }
    }
    Ok(())
}

/// All teams with their members.
pub(super) fn load(connection: &Connection) -> Result<HashMap<Uuid, Arc<Team>>> {
    let mut teams = HashMap::new();
    let mut statement = connection.prepare(
        "SELECT team_id::VARCHAR, name, access_code, created_at, updated_at FROM main.team",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let team = Team {
            id: row.get::<_, String>(0)?.parse()?,
            name: row.get(1)?,
            access_code: row.get(2)?,
            created_at: row.get(3)?,
            updated_at: row.get(4)?,
            members: Vec::new(),
        };
        teams.insert(team.id, team);
    }
    let mut statement = connection.prepare(
        "SELECT team_user_id::VARCHAR, team_id::VARCHAR, user_id::VARCHAR, role, created_at,
             updated_at
         FROM main.team_user ORDER BY created_at, team_user_id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let role: String = row.get(3)?;
        let member = Member {
            id: row.get::<_, String>(0)?.parse()?,
            team_id: row.get::<_, String>(1)?.parse()?,
            user_id: row.get::<_, String>(2)?.parse()?,
            role: TeamRole::from_name(&role).ok_or_else(|| anyhow!("unknown role {role:?}"))?,
            created_at: row.get(4)?,
            updated_at: row.get(5)?,
        };
        teams.get_mut(&member.team_id).context("a member of no team")?.members.push(member);
    }
    Ok(teams.into_iter().map(|(id, team)| (id, Arc::new(team))).collect())
}
