//! Who may do what with whose things: the one place that decides. A thing belongs to a user or to a team; an admin may
//! do everything; whose role on the server is to look may change nothing, whatever their role in a team.

use std::sync::Arc;

use uuid::Uuid;

use super::{Auth, Bearer, Caller};
use crate::error::ApiError;
use crate::store::teams::{Team, TeamRole};
use crate::websites::{Owner, Website};

/// What is to be done with something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    See,
    /// Add, change, delete, reset.
    Change,
    /// Give it to somebody else.
    Give,
}

/// What is to be done with a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeamRight {
    See,
    /// Its name, its code and who belongs to it.
    Manage,
    Delete,
}

impl Auth {
    /// Whether somebody may do something with what belongs to `owner`.
    #[must_use]
    pub fn may(&self, caller: &Caller, right: Right, owner: Owner) -> bool {
        if caller.is_admin() {
            return true;
        }
        if right != Right::See && !caller.may_change() {
            return false;
        }
        match owner {
            Owner::Nobody => false,
            Owner::User(id) => id == caller.user_id,
            Owner::Team(id) => {
                let role = self.team_role(caller, id);
                match right {
                    Right::See => role.is_some(),
                    Right::Change => role.is_some_and(|role| role != TeamRole::ViewOnly),
                    Right::Give => role == Some(TeamRole::Owner),
                }
            }
        }
    }

    /// Who is asking, and whom a new thing belongs to: them, or a team.
    ///
    /// # Errors
    /// 401 without permission to add something there.
    pub fn may_create(
        &self,
        bearer: &Bearer,
        team: Option<Uuid>,
    ) -> Result<(Caller, Owner), ApiError> {
        let caller = self.caller(bearer)?;
        let owner = team.map_or(Owner::User(caller.user_id), Owner::Team);
        let exists = team.is_none_or(|id| self.accounts.team(id).is_some());
        let may = exists && self.may(&caller, Right::Change, owner);
        if may { Ok((caller, owner)) } else { Err(ApiError::unauthorized()) }
    }

    /// Who is asking, and a team with which they may do something.
    ///
    /// # Errors
    /// 401 without permission, 404 when an admin asks for one that does not exist.
    pub fn team(
        &self,
        bearer: &Bearer,
        id: Uuid,
        right: TeamRight,
    ) -> Result<(Caller, Arc<Team>), ApiError> {
        let caller = self.caller(bearer)?;
        let Some(team) = self.accounts.team(id) else {
            let unknown = ApiError::Missing("Team not found.", "not-found");
            return Err(if caller.is_admin() { unknown } else { ApiError::unauthorized() });
        };
        let role = self.team_role(&caller, id);
        let may = match right {
            TeamRight::See => role.is_some(),
            TeamRight::Manage => matches!(role, Some(TeamRole::Owner | TeamRole::Manager)),
            TeamRight::Delete => role == Some(TeamRole::Owner),
        };
        let may = may && (right == TeamRight::See || caller.may_change());
        if may || caller.is_admin() { Ok((caller, team)) } else { Err(ApiError::unauthorized()) }
    }

    /// A website that somebody may give to a new owner. An admin gives anything to anybody; others give what is theirs
    /// to a team in which they may add something, and take what belongs to a team that they own.
    ///
    /// # Errors
    /// 401 without permission, 404 when there is no such website, user or team.
    pub async fn website_to_give(
        &self,
        bearer: &Bearer,
        id: &str,
        to: Owner,
    ) -> Result<Website, ApiError> {
        let caller = self.caller(bearer)?;
        let website = self.website_to_change(bearer, id).await?;
        let exists = match to {
            Owner::User(user) => self.accounts.by_id(user).is_some(),
            Owner::Team(team) => self.accounts.team(team).is_some(),
            Owner::Nobody => false,
        };
        let takes = match to {
            Owner::Team(_) => self.may(&caller, Right::Change, to),
            _ => to == Owner::User(caller.user_id),
        };
        let may = self.may(&caller, Right::Give, website.owner) && takes;
        match (may || caller.is_admin(), exists) {
            (true, true) => Ok(website),
            (true, false) => Err(ApiError::NotFound),
            (false, _) => Err(ApiError::unauthorized()),
        }
    }

    fn team_role(&self, caller: &Caller, team: Uuid) -> Option<TeamRole> {
        self.accounts.team(team)?.member(caller.user_id).map(|member| member.role)
    }
}
