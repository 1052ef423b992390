//! Whose something is, and who may therefore see and change it: one rule for websites, links, pixels and boards.

use uuid::Uuid;

use super::{Auth, Bearer, Caller};
use crate::error::ApiError;
use crate::websites::Website;

/// The user or the team that something belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    pub user: Option<Uuid>,
    pub team: Option<Uuid>,
}

impl From<&Website> for Owner {
    fn from(website: &Website) -> Self {
        Self { user: website.owner, team: None }
    }
}

impl Auth {
    /// Whether a caller may see what belongs to an owner. There is no team yet that anybody could belong to.
    #[must_use]
    #[expect(clippy::unused_self, reason = "who belongs to a team is to be known here")]
    pub fn may_see(&self, caller: &Caller, owner: Owner) -> bool {
        caller.is_admin() || (owner.team.is_none() && owner.user == Some(caller.user_id))
    }

    /// Whether they may change it, too.
    #[must_use]
    pub fn may_change(&self, caller: &Caller, owner: Owner) -> bool {
        caller.may_change() && self.may_see(caller, owner)
    }

    /// Who is asking, if they may create something for this owner.
    ///
    /// # Errors
    /// 401 without a valid token or permission.
    pub fn creator(&self, bearer: &Bearer, owner: Owner) -> Result<(Caller, Owner), ApiError> {
        let caller = self.caller(bearer)?;
        let own = Owner { user: Some(caller.user_id), team: None };
        let owner = if owner == Owner::default() { own } else { owner };
        let may = owner.team.is_none() && self.may_change(&caller, owner);
        if may { Ok((caller, owner)) } else { Err(ApiError::unauthorized()) }
    }
}
