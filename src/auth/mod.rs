//! Who is asking, and what they may do. Every handler asks [`Auth`] after it has validated its input and before it
//! does anything: Umami answers a bad question with 400 even to strangers, and lack of permission with 401.
//!
//! Invariants: checking a token or key asks the database nothing; a token dies with its time, its login, its user's
//! password and its user; who may not see a website cannot tell whether it exists.

mod api_keys;
mod guesses;
mod links;
mod login;
pub mod password;
mod rights;
mod shares;
pub mod token;
mod users;

use std::sync::Arc;

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use anyhow::Result;
use uuid::Uuid;

use crate::clock;
use crate::error::ApiError;
use crate::store::Store;
use crate::store::accounts::{Account, Accounts, Role};
use crate::websites::{Directory, Owner, Website};

pub use rights::{Right, TeamRight};
pub use users::{NewUser, UserChange};

/// What a request says about who is asking. Extracting it never fails.
#[derive(Default)]
pub struct Bearer {
    /// The second word of the `Authorization` header, whatever the first is.
    pub token: Option<String>,
    /// The token of a share: `x-umami-share-token`, on requests that say with `x-umami-share-context` that they come
    /// from the page of a share.
    pub share: Option<String>,
    /// The API key: `x-umami-api-key`, or the token when it is one.
    pub api_key: Option<String>,
    /// Whether the request can change nothing.
    pub reads: bool,
}

impl FromRequest for Bearer {
    type Error = std::convert::Infallible;
    type Future = std::future::Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let header = |name: &str| {
            let value = request.headers().get(name).and_then(|value| value.to_str().ok());
            value.filter(|value| !value.is_empty())
        };
        let token = header("authorization").and_then(|value| value.split_whitespace().nth(1));
        let share = header("x-umami-share-context").and_then(|_| header("x-umami-share-token"));
        let api_key = token.filter(|token| token.starts_with(api_keys::MARK));
        let api_key = api_key.or_else(|| header("x-umami-api-key"));
        std::future::ready(Ok(Self {
            token: token.map(str::to_owned),
            share: share.map(str::to_owned),
            api_key: api_key.map(str::to_owned),
            reads: api_keys::reads(request),
        }))
    }
}

/// Who is asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub user_id: Uuid,
    pub username: String,
    pub role: Role,
    /// ms since 1970 UTC.
    pub created_at: i64,
}

impl Caller {
    /// Whether they may do everything.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.role == Role::Admin
    }

    /// Whether they may create and change anything at all.
    #[must_use]
    pub fn may_change(&self) -> bool {
        self.role != Role::ViewOnly
    }
}

impl From<&Account> for Caller {
    fn from(account: &Account) -> Self {
        Self {
            user_id: account.id,
            username: account.username.clone(),
            role: account.role,
            created_at: account.created_at,
        }
    }
}

/// Checks tokens and permissions, signs people in and out (`login.rs`).
pub struct Auth {
    directory: Arc<Directory>,
    accounts: Accounts,
    key: token::Key,
    hasher: password::Hasher,
    guesses: guesses::Guesses,
}

impl Auth {
    /// Reads the users of a store. Blocks.
    ///
    /// # Errors
    /// When they cannot be read, or the secret is too short or a known placeholder.
    pub fn open(store: &Arc<Store>, directory: Arc<Directory>, secret: &[u8]) -> Result<Self> {
        Ok(Self {
            directory,
            accounts: Accounts::open(Arc::clone(store))?,
            key: token::Key::new(secret)?,
            hasher: password::Hasher::default(),
            guesses: guesses::Guesses::default(),
        })
    }

    /// The users.
    #[must_use]
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Who is asking, by a login or an API key.
    ///
    /// # Errors
    /// 401 without a token or key that is valid now and for this request.
    pub fn caller(&self, bearer: &Bearer) -> Result<Caller, ApiError> {
        let account = match self.login(bearer) {
            Ok((_, account)) => account,
            Err(error) => self.user_of_key(bearer).ok_or(error)?,
        };
        Ok(Caller::from(&*account))
    }

    /// Whether who is asking has signed in.
    #[must_use]
    pub fn is_signed_in(&self, bearer: &Bearer) -> bool {
        self.login(bearer).is_ok()
    }

    /// Who is asking, if they may do everything and have signed in: what changes people, and so passwords and roles,
    /// takes no key.
    ///
    /// # Errors
    /// 401 without the token of an admin.
    pub fn admin_in_person(&self, bearer: &Bearer) -> Result<Caller, ApiError> {
        self.login(bearer)?;
        self.admin(bearer)
    }

    /// Who is asking, if they may do everything.
    ///
    /// # Errors
    /// 401 without the token of an admin.
    pub fn admin(&self, bearer: &Bearer) -> Result<Caller, ApiError> {
        let caller = self.caller(bearer)?;
        if caller.is_admin() { Ok(caller) } else { Err(ApiError::unauthorized()) }
    }

    /// Who is asking, if it is this user or somebody who may do everything.
    ///
    /// # Errors
    /// 401 without a token of either.
    pub fn same_user(&self, bearer: &Bearer, id: Uuid) -> Result<Caller, ApiError> {
        let caller = self.caller(bearer)?;
        let may = caller.is_admin() || caller.user_id == id;
        if may { Ok(caller) } else { Err(ApiError::unauthorized()) }
    }

    /// The website, link or pixel that a caller or who looks at a share may read, from the text in the path. An admin
    /// may ask about one that does not exist: its key is 0, which no website has and no event carries.
    ///
    /// # Errors
    /// 401 without a valid token or permission, 400 when the text is no id.
    // Async although nothing is awaited: permissions that are not in memory can be added without touching a handler.
    #[allow(clippy::unused_async)]
    pub async fn website(&self, bearer: &Bearer, id: &str) -> Result<Website, ApiError> {
        let (caller, shown) = (self.caller(bearer).ok(), self.share(bearer));
        if caller.is_none() && shown.is_none() {
            return Err(ApiError::unauthorized());
        }
        let id = parse_id(id)?;
        let is_shown = shown.is_some_and(|shown| shown.entity_id == id);
        let may_see = |website: &Website| {
            let may = |caller| self.may(caller, Right::See, website.owner);
            is_shown || caller.as_ref().is_some_and(may)
        };
        match self.directory.subject(id) {
            Some(website) if may_see(&website) => Ok(website),
            None if caller.is_some_and(|caller| caller.is_admin()) => {
                Ok(Website { key: 0, id, reset_at: None, owner: Owner::Nobody })
            }
            _ => Err(ApiError::unauthorized()),
        }
    }

    /// The website a caller may change or delete.
    ///
    /// # Errors
    /// As [`Auth::website`], and 404 when an admin asks for one that does not exist.
    pub async fn website_to_change(&self, bearer: &Bearer, id: &str) -> Result<Website, ApiError> {
        let website = self.website(bearer, id).await?;
        if !self.may(&self.caller(bearer)?, Right::Change, website.owner) {
            return Err(ApiError::unauthorized());
        }
        if website.key == 0 { Err(ApiError::NotFound) } else { Ok(website) }
    }

    /// The login of a token and its user.
    fn login(&self, bearer: &Bearer) -> Result<(token::Login, Arc<Account>), ApiError> {
        let valid = || {
            let login = self.key.check(bearer.token.as_deref()?, clock::now_ms())?;
            let account = self.accounts.by_id(login.user_id)?;
            let is_alive =
                account.token_epoch == login.token_epoch && !self.accounts.is_ended(login.login_id);
            is_alive.then_some((login, account))
        };
        valid().ok_or_else(ApiError::unauthorized)
    }
}

fn parse_id(id: &str) -> Result<Uuid, ApiError> {
    Uuid::try_parse(id).map_err(|_| ApiError::bad_request("The id is not a UUID"))
}
