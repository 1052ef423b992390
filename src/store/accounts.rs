//! People who sign in. The tables are the truth; [`Accounts`] keeps all of them in memory, so that checking a token
//! asks the database nothing. The copy is replaced whole, while the configuration connection is held, so a reader
//! sees either all of a change or nothing of it, and two changes cannot overwrite each other's copy.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use arc_swap::ArcSwap;
use duckdb::{Connection, params};
use uuid::Uuid;

use super::teams::{self, Team};
use super::{Store, api_keys, links, websites};
use crate::websites::Directory;
use crate::{clock, limits};

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything, on every website.
    Admin,
    /// Everything on their own websites.
    User,
    /// Look at their own websites.
    ViewOnly,
}

impl Role {
    /// The role of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Admin, Self::User, Self::ViewOnly].into_iter().find(|role| role.name() == name)
    }

    /// Its name in the API and in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::User => "user",
            Self::ViewOnly => "view-only",
        }
    }
}

/// A user.
#[derive(Clone, Debug)]
pub struct Account {
    pub id: Uuid,
    pub username: String,
    pub role: Role,
    /// In PHC form (`auth::password`).
    pub password_hash: String,
    /// Tokens carry the epoch in which they were made; those of another epoch are dead.
    pub token_epoch: i64,
    /// ms since 1970 UTC.
    pub created_at: i64,
    /// ms since 1970 UTC.
    pub updated_at: Option<i64>,
}

/// What to change of a user; `None` leaves a field as it is.
#[derive(Default)]
pub struct AccountChange {
    pub username: Option<String>,
    pub role: Option<Role>,
    pub password_hash: Option<String>,
}

/// Why a user was not changed or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Unknown,
    NameTaken,
    /// Nobody would be left who may do everything.
    LastAdmin,
}

/// The copy in memory.
#[derive(Default)]
pub(super) struct Known {
    pub(super) by_id: HashMap<Uuid, Arc<Account>>,
    pub(super) teams: HashMap<Uuid, Arc<Team>>,
    pub(super) api_keys: api_keys::Keys,
    ended_logins: HashSet<u64>,
}

impl Known {
    fn by_name(&self, username: &str) -> Option<&Arc<Account>> {
        self.by_id.values().find(|account| account.username == username)
    }

    /// Whether this user is an admin and nobody else is.
    fn is_last_admin(&self, id: Uuid) -> bool {
        let mut admins = self.by_id.values().filter(|account| account.role == Role::Admin);
        admins.next().is_some_and(|account| account.id == id) && admins.next().is_none()
    }
}

/// All users and teams, and the logins that were ended before their time. Methods that change something block.
pub struct Accounts {
    pub(super) store: Arc<Store>,
    pub(super) known: ArcSwap<Known>,
}

impl Accounts {
    /// Reads the tables.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn open(store: Arc<Store>) -> Result<Self> {
        let known = store.with_admin(|connection| load(connection))?;
        Ok(Self { store, known: ArcSwap::from_pointee(known) })
    }

    /// The user of an id.
    #[must_use]
    pub fn by_id(&self, id: Uuid) -> Option<Arc<Account>> {
        self.known.load().by_id.get(&id).cloned()
    }

    /// The user of a name; names compare by every character.
    #[must_use]
    pub fn by_name(&self, username: &str) -> Option<Arc<Account>> {
        self.known.load().by_name(username).cloned()
    }

    /// Whether there is nobody yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.load().by_id.is_empty()
    }

    /// Whether a login was ended before its time.
    #[must_use]
    pub fn is_ended(&self, login_id: u64) -> bool {
        self.known.load().ended_logins.contains(&login_id)
    }

    /// Everybody, newest first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Account>> {
        let mut all: Vec<_> = self.known.load().by_id.values().cloned().collect();
        all.sort_by(|a, b| (b.created_at, &a.username).cmp(&(a.created_at, &b.username)));
        all
    }

    /// Adds a user under a new id; `None` when the name is taken.
    ///
    /// # Errors
    /// When the database fails.
    pub fn create(&self, username: &str, role: Role, password_hash: &str) -> Result<Option<Uuid>> {
        self.create_as(Uuid::new_v4(), username, role, password_hash)
    }

    /// Adds a user under this id; `None` when the id or the name is taken.
    ///
    /// # Errors
    /// When the database fails.
    pub fn create_as(
        &self,
        id: Uuid,
        username: &str,
        role: Role,
        password_hash: &str,
    ) -> Result<Option<Uuid>> {
        self.change(|connection| {
            let known = self.known.load();
            if known.by_id.contains_key(&id) || known.by_name(username).is_some() {
                return Ok(None);
            }
            connection.execute(
                "INSERT INTO main.user_account
                     (user_id, username, password_hash, role, token_epoch, created_at)
                 VALUES (?::UUID, ?, ?, ?, 0, ?)",
                params![id.to_string(), username, password_hash, role.name(), clock::now_ms()],
            )?;
            Ok(Some(id))
        })
    }

    /// Sets a new password and ends all logins of the user; false when there is no such user.
    ///
    /// # Errors
    /// When the database fails.
    pub fn set_password(&self, id: Uuid, password_hash: &str) -> Result<bool> {
        let password_hash = Some(password_hash.to_owned());
        let change = AccountChange { password_hash, ..AccountChange::default() };
        Ok(self.change_account(id, &change)?.is_ok())
    }

    /// Changes what is named in `change`. A new password or role ends all logins of the user.
    ///
    /// # Errors
    /// When the database fails.
    pub fn change_account(
        &self,
        id: Uuid,
        change: &AccountChange,
    ) -> Result<Result<Arc<Account>, Refused>> {
        let outcome = self.change(|connection| {
            let known = self.known.load();
            let Some(old) = known.by_id.get(&id) else { return Ok(Err(Refused::Unknown)) };
            let username = change.username.as_ref().unwrap_or(&old.username);
            let role = change.role.unwrap_or(old.role);
            if known.by_name(username).is_some_and(|other| other.id != id) {
                return Ok(Err(Refused::NameTaken));
            }
            if role != Role::Admin && known.is_last_admin(id) {
                return Ok(Err(Refused::LastAdmin));
            }
            let ends_logins = role != old.role || change.password_hash.is_some();
            let password_hash = change.password_hash.as_ref().unwrap_or(&old.password_hash);
            let token_epoch = old.token_epoch + i64::from(ends_logins);
            connection.execute(
                "UPDATE main.user_account SET username = ?, role = ?, password_hash = ?,
                     token_epoch = ?, updated_at = ?
                 WHERE user_id = ?::UUID",
                params![
                    username,
                    role.name(),
                    password_hash,
                    token_epoch,
                    clock::now_ms(),
                    id.to_string()
                ],
            )?;
            Ok(Ok(()))
        })?;
        Ok(outcome.and_then(|()| self.by_id(id).ok_or(Refused::Unknown)))
    }

    /// Removes a user, and with it all its logins; what the user owned belongs to `heir` from now on.
    ///
    /// # Errors
    /// When the database fails.
    pub fn remove(
        &self,
        directory: &Directory,
        id: Uuid,
        heir: Uuid,
    ) -> Result<Result<(), Refused>> {
        self.change(|connection| {
            let known = self.known.load();
            if !known.by_id.contains_key(&id) || !known.by_id.contains_key(&heir) {
                return Ok(Err(Refused::Unknown));
            }
            if known.is_last_admin(id) {
                return Ok(Err(Refused::LastAdmin));
            }
            let transaction = connection.transaction()?;
            let sql = "DELETE FROM main.board WHERE kind = 'dashboard' AND user_id = ?::UUID";
            transaction.execute(sql, [id.to_string()])?;
            for table in super::OWNED {
                let sql = format!(
                    "UPDATE main.{table} SET user_id = ?::UUID, updated_at = ?
                     WHERE user_id = ?::UUID"
                );
                let values = params![heir.to_string(), clock::now_ms(), id.to_string()];
                transaction.execute(&sql, values)?;
            }
            api_keys::delete_all(&transaction, id)?;
            teams::leave_all(&transaction, &known.teams, id, heir)?;
            let sql = "DELETE FROM main.user_account WHERE user_id = ?::UUID";
            transaction.execute(sql, [id.to_string()])?;
            transaction.commit()?;
            directory.replace(websites::all(connection)?);
            directory.replace_links(links::all(connection)?);
            Ok(Ok(()))
        })
    }

    /// Ends one login. When too many are remembered already, it ends all logins of the user instead, so that
    /// nobody can fill the memory by signing in and out.
    ///
    /// # Errors
    /// When the database fails.
    pub fn end_login(&self, user_id: Uuid, login_id: u64, expires_at: i64) -> Result<()> {
        self.change(|connection| {
            connection
                .execute("DELETE FROM main.ended_login WHERE expires_at < ?", [clock::now_ms()])?;
            let remembered: i64 =
                connection
                    .query_row("SELECT count(*) FROM main.ended_login", [], |row| row.get(0))?;
            if remembered < i64::try_from(limits::ENDED_LOGINS_MAX)? {
                connection.execute(
                    "INSERT INTO main.ended_login VALUES (?, ?)",
                    params![login_id, expires_at],
                )?;
            } else {
                connection.execute(
                    "UPDATE main.user_account SET token_epoch = token_epoch + 1
                     WHERE user_id = ?::UUID",
                    [user_id.to_string()],
                )?;
            }
            Ok(())
        })
    }

    /// Makes a change while the configuration connection is held. Until `work` returns the copy in memory says what the
    /// tables said, so `work` may look there instead of asking them.
    pub(super) fn change<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        self.store.with_admin(|connection| {
            let outcome = work(connection)?;
            self.known.store(Arc::new(load(connection)?));
            Ok(outcome)
        })
    }
}

fn load(connection: &Connection) -> Result<Known> {
    let (teams, api_keys) = (teams::load(connection)?, api_keys::load(connection)?);
    let mut known = Known { teams, api_keys, ..Known::default() };
    let mut statement = connection.prepare(
        "SELECT user_id::VARCHAR, username, role, password_hash, token_epoch, created_at,
             updated_at
         FROM main.user_account",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, role): (String, String) = (row.get(0)?, row.get(2)?);
        let account = Account {
            id: Uuid::try_parse(&id).context("a user id is no UUID")?,
            username: row.get(1)?,
            role: Role::from_name(&role).ok_or_else(|| anyhow!("unknown role {role:?}"))?,
            password_hash: row.get(3)?,
            token_epoch: row.get(4)?,
            created_at: row.get(5)?,
            updated_at: row.get(6)?,
        };
        known.by_id.insert(account.id, Arc::new(account));
    }
    let mut statement = connection.prepare("SELECT login_id FROM main.ended_login")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        known.ended_logins.insert(row.get(0)?);
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts(directory: &std::path::Path) -> Accounts {
        let store = Arc::new(Store::open(directory).expect("a new store"));
        Accounts::open(store).expect("readable tables")
    }

    #[test]
    fn a_change_is_seen_at_once_and_after_opening_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let id = {
            let accounts = accounts(directory.path());
            assert!(accounts.is_empty());
            let id = accounts.create("Zoë 山", Role::User, "hash").expect("works").expect("new");
            assert_eq!(accounts.create("Zoë 山", Role::Admin, "x").expect("works"), None);
            assert!(accounts.by_name("zoë 山").is_none(), "names compare by every character");
            assert!(accounts.set_password(id, "other").expect("works"));
            accounts.end_login(id, u64::MAX, i64::MAX).expect("works");
            id
        };
        let accounts = accounts(directory.path());
        let account = accounts.by_name("Zoë 山").expect("kept");
        assert_eq!((account.id, account.role, account.token_epoch), (id, Role::User, 1));
        assert_eq!(account.password_hash, "other");
        assert!(accounts.is_ended(u64::MAX));
        assert!(!accounts.is_ended(1));
        let heir = accounts.create("heir", Role::Admin, "hash").expect("works").expect("new");
        let directory = Directory::default();
        assert_eq!(accounts.remove(&directory, id, heir).expect("works"), Ok(()));
        let again = accounts.remove(&directory, id, heir).expect("works");
        assert_eq!(again, Err(Refused::Unknown));
        assert!(!accounts.set_password(id, "x").expect("works"));
        assert_eq!(accounts.all().len(), 1);
    }

    #[test]
    fn an_expired_login_is_forgotten() {
        let directory = tempfile::tempdir().expect("a directory");
        let accounts = accounts(directory.path());
        let id = accounts.create("ann", Role::User, "hash").expect("works").expect("new");
        accounts.end_login(id, 1, 5).expect("works");
        accounts.end_login(id, 2, i64::MAX).expect("works");
        assert!(!accounts.is_ended(1));
        assert!(accounts.is_ended(2));
    }
}
