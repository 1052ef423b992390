//! Signing in and out, and what changes a password. A wrong name and a wrong password get the same answer after the
//! same work. Logging out ends this login alone; a new password ends all of them.

use std::net::IpAddr;
use std::sync::Arc;

use actix_web::web;
use anyhow::{Result, anyhow, bail};

use super::token::Login;
use super::{Auth, Bearer, Caller, password};
use crate::clock;
use crate::error::ApiError;
use crate::store::accounts::Role;

impl Auth {
    /// Creates `admin` when there is nobody yet: with the given password, or with a generated one, which is
    /// returned to be shown once. Blocks.
    ///
    /// # Errors
    /// When the given password is too short, or the database fails.
    pub fn ensure_admin(&self, given: Option<String>) -> Result<Option<String>> {
        if !self.accounts.is_empty() {
            return Ok(None);
        }
        let (password, generated) = if let Some(given) = given {
            password::check_new(&given).map_err(|text| anyhow!("SUMIMI_ADMIN_PASSWORD: {text}"))?;
            (given, None)
        } else {
            let generated = password::generate()?;
            (generated.clone(), Some(generated))
        };
        let hash = password::hash(&password)?;
        if self.accounts.create("admin", Role::Admin, &hash)?.is_none() {
            bail!("there is a user admin already");
        }
        Ok(generated)
    }

    /// Signs somebody in: a token and who they are. `address` is only used to slow guessing down.
    ///
    /// # Errors
    /// 401 `incorrect-username-password`; 503 when too many sign in at once.
    pub async fn log_in(
        auth: &Arc<Self>,
        username: &str,
        password: String,
        address: Option<IpAddr>,
    ) -> Result<(String, Caller), ApiError> {
        tokio::time::sleep(auth.guesses.delay(username, address, clock::now_ms())).await;
        let account = auth.accounts.by_name(username);
        let hash = account.as_ref().map(|account| account.password_hash.clone());
        let is_right = auth.hasher.verify(password.clone(), hash).await?;
        let Some(account) = account.filter(|_| is_right) else {
            auth.guesses.failed(username, address, clock::now_ms());
            return Err(ApiError::Unauthorized("Unauthorized", "incorrect-username-password"));
        };
        auth.guesses.succeeded(username);
        if password::is_foreign(&account.password_hash) {
            let new = auth.hasher.hash(password).await?;
            let (account, set) = (Arc::clone(&account), Arc::clone(auth));
            let replace =
                move || set.accounts.replace_hash(account.id, &account.password_hash, &new);
            web::block(replace).await??;
        }
        let login = Login {
            user_id: account.id,
            issued_at: clock::now_ms(),
            // Of the account whose password was checked: if it was changed meanwhile, the token is dead at birth.
            token_epoch: account.token_epoch,
            login_id: getrandom::u64()?,
        };
        Ok((auth.key.sign(&login), Caller::from(&*account)))
    }

    /// Ends the login of this token.
    ///
    /// # Errors
    /// 401 when it is not valid any more.
    pub async fn log_out(auth: &Arc<Self>, bearer: &Bearer) -> Result<(), ApiError> {
        let (login, account) = auth.login(bearer)?;
        let auth = Arc::clone(auth);
        let end = move || auth.accounts.end_login(account.id, login.login_id, login.expires_at());
        Ok(web::block(end).await??)
    }

    /// Sets the caller's own password, which ends all their logins.
    ///
    /// # Errors
    /// 400 when the current one is wrong, 401 without a valid token, 503 when too many sign in at once.
    pub async fn change_password(
        auth: &Arc<Self>,
        bearer: &Bearer,
        current: String,
        new: String,
    ) -> Result<Caller, ApiError> {
        let (_, account) = auth.login(bearer)?;
        // Counted under the name: a stolen token must not make guessing the password any faster.
        tokio::time::sleep(auth.guesses.delay(&account.username, None, clock::now_ms())).await;
        if !auth.hasher.verify(current, Some(account.password_hash.clone())).await? {
            auth.guesses.failed(&account.username, None, clock::now_ms());
            return Err(ApiError::bad_request("Current password is incorrect"));
        }
        let hash = auth.hasher.hash(new).await?;
        let (id, set) = (account.id, Arc::clone(auth));
        if !web::block(move || set.accounts.set_password(id, &hash)).await?? {
            return Err(ApiError::unauthorized());
        }
        Ok(Caller::from(&*account))
    }
}
