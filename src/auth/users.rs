//! Adding, changing and removing people. Called when the caller is known to be an admin; passwords are hashed under the
//! same bound as logins, so many at once cannot use more memory than was counted.
//!
//! Invariant: there is always somebody who may do everything.

use std::sync::Arc;

use actix_web::web;
use uuid::Uuid;

use super::Auth;
use crate::error::ApiError;
use crate::limits;
use crate::store::accounts::{Account, AccountChange, Refused, Role};

/// A user to be added. The password has been checked.
pub struct NewUser {
    pub id: Uuid,
    pub username: String,
    pub password: String,
    pub role: Role,
}

/// What to change of a user; `None` leaves it as it is. The password has been checked.
#[derive(Default)]
pub struct UserChange {
    pub username: Option<String>,
    pub password: Option<String>,
    pub role: Option<Role>,
}

impl Auth {
    /// Adds a user.
    ///
    /// # Errors
    /// 400 when the name or id is taken or there are too many users, 503 when too many passwords are being worked on.
    pub async fn create_user(auth: &Arc<Self>, new: NewUser) -> Result<Arc<Account>, ApiError> {
        if auth.accounts.all().len() >= limits::USERS_MAX {
            let text =
                format!("There are {} users already, more are not possible", limits::USERS_MAX);
            return Err(ApiError::BadRequest(text));
        }
        let NewUser { id, username, password, role } = new;
        let hash = auth.hasher.hash(password).await?;
        let set = Arc::clone(auth);
        let create = move || set.accounts.create_as(id, &username, role, &hash);
        let created = web::block(create).await??;
        created.and_then(|id| auth.accounts.by_id(id)).ok_or_else(|| refused(Refused::NameTaken))
    }

    /// Changes a user; a new password or role ends all their logins.
    ///
    /// # Errors
    /// 404 when there is no such user, 400 when the name is taken or the last admin would lose the role, 503 when too
    /// many passwords are being worked on.
    pub async fn change_user(
        auth: &Arc<Self>,
        id: Uuid,
        change: UserChange,
    ) -> Result<Arc<Account>, ApiError> {
        let UserChange { username, password, role } = change;
        let password_hash = match password {
            Some(password) => Some(auth.hasher.hash(password).await?),
            None => None,
        };
        let change = AccountChange { username, role, password_hash };
        let set = Arc::clone(auth);
        web::block(move || set.accounts.change_account(id, &change)).await??.map_err(refused)
    }

    /// Removes a user. Their websites go to `heir`: whoever leaves does not take figures away with them.
    ///
    /// # Errors
    /// 404 when there is no such user, 400 for the last admin.
    pub async fn delete_user(auth: &Arc<Self>, id: Uuid, heir: Uuid) -> Result<(), ApiError> {
        let set = Arc::clone(auth);
        let remove = move || set.accounts.remove(&set.directory, id, heir);
        web::block(remove).await??.map_err(refused)
    }
}

fn refused(reason: Refused) -> ApiError {
    match reason {
        Refused::Unknown => ApiError::NotFound,
        Refused::NameTaken => ApiError::bad_request("User already exists"),
        Refused::LastAdmin => {
            ApiError::bad_request("This is the only admin: give the role to somebody else first")
        }
    }
}
