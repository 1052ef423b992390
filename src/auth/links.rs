//! Links and pixels: whoever may see or change a website of the same owner may see or change them.

use super::{Auth, Bearer};
use crate::error::ApiError;
use crate::websites::{LinkKind, Website};

impl Auth {
    /// What stands in a website's place for a link or pixel that a caller may read, from the text in the path. `None`:
    /// there is none, and an admin asks.
    ///
    /// # Errors
    /// As [`Auth::website`].
    pub async fn link(
        &self,
        bearer: &Bearer,
        kind: LinkKind,
        id: &str,
    ) -> Result<Option<Website>, ApiError> {
        let subject = self.website(bearer, id).await?;
        match self.directory.link(kind, subject.id) {
            Some(link) => Ok(Some(link.subject)),
            None if self.caller(bearer)?.is_admin() => Ok(None),
            // One's own website is no link, and not the business of this question.
            None => Err(ApiError::unauthorized()),
        }
    }

    /// The same for one that a caller may change or delete.
    ///
    /// # Errors
    /// As [`Auth::website_to_change`].
    pub async fn link_to_change(
        &self,
        bearer: &Bearer,
        kind: LinkKind,
        id: &str,
    ) -> Result<Website, ApiError> {
        self.website_to_change(bearer, id).await?;
        self.link(bearer, kind, id).await?.ok_or(ApiError::NotFound)
    }
}
