//! Who is asking, and what they may do. Every handler asks [`Auth`] after it has validated its input and before it
//! does anything: Umami answers a bad question with 400 even to strangers, and lack of permission with 401.

use std::sync::Arc;

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use uuid::Uuid;

use crate::error::ApiError;
use crate::websites::{Directory, Website};

/// The second word of the `Authorization` header, whatever the first is. Extracting it never fails.
pub struct Bearer(pub Option<String>);

impl FromRequest for Bearer {
    type Error = std::convert::Infallible;
    type Future = std::future::Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        let token = header.and_then(|value| value.split_whitespace().nth(1)).map(str::to_owned);
        std::future::ready(Ok(Self(token)))
    }
}

/// Checks tokens and permissions.
pub struct Auth {
    directory: Arc<Directory>,
}

impl Auth {
    #[must_use]
    pub fn new(directory: Arc<Directory>) -> Self {
        Self { directory }
    }

    /// The website a caller may read, from the text in the path.
    ///
    /// # Errors
    /// 401 without a valid token or permission.
    pub async fn website(&self, bearer: &Bearer, id: &str) -> Result<Website, ApiError> {
        if bearer.0.is_none() {
            return Err(ApiError::unauthorized());
        }
        let id = Uuid::try_parse(id).map_err(|_| ApiError::unauthorized())?;
        self.directory.get(id).ok_or_else(ApiError::unauthorized)
    }
}
