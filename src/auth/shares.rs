//! Looking at what is shared. A share token is signed like a login but of another kind, and it is worth something only
//! as long as its share exists. It reads; whatever changes something asks for a login.

use uuid::Uuid;

use super::{Auth, Bearer};
use crate::clock;

/// A share that is being looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    pub share_id: Uuid,
    /// The website, link or pixel.
    pub entity_id: Uuid,
    /// When the token was issued, ms since 1970 UTC.
    pub issued_at: i64,
}

impl Auth {
    /// The share whose token a request carries, if the token is valid now and the share exists.
    #[must_use]
    pub fn share(&self, bearer: &Bearer) -> Option<Shown> {
        let token = bearer.share.as_deref()?;
        let (share_id, issued_at) = self.key.check_share(token, clock::now_ms())?;
        let entity_id = self.directory.shared(share_id)?;
        Some(Shown { share_id, entity_id, issued_at })
    }

    /// A token of a share.
    #[must_use]
    pub fn share_token(&self, share_id: Uuid) -> String {
        self.key.sign_share(share_id, clock::now_ms())
    }
}
