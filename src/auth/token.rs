//! Login tokens and share tokens: who signed in, when, in which epoch and under which login id, or which share; signed
//! with HMAC-SHA256 and written in base64url. A token says nothing that its owner may not know, and nothing is looked
//! up to check its signature.
//!
//! Invariants: the key is derived from the secret for this purpose alone, so whatever else is signed with the same
//! secret is neither; a token of one kind is never taken for one of another, since the first byte, the kind, is part of
//! what is signed; signatures are compared in constant time; a token has one spelling.

use anyhow::{Result, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::Uuid;

use crate::limits;

const PURPOSE: &[u8] = b"sumimi login token 1";
const KIND_LOGIN: u8 = 1;
const KIND_SHARE: u8 = 2;
/// kind, user id, time, epoch, login id.
const BODY_BYTES: usize = 1 + 16 + 8 + 8 + 8;
const SIGNATURE_BYTES: usize = 32;
const TOKEN_BYTES: usize = BODY_BYTES + SIGNATURE_BYTES;
/// Parts of secrets that examples and compose files ship with: everybody knows them.
const PLACEHOLDERS: [&str; 6] =
    ["replace-me", "replace_me", "replaceme", "change-me", "change_me", "changeme"];

/// What a token says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login {
    pub user_id: Uuid,
    /// ms since 1970 UTC.
    pub issued_at: i64,
    /// The user's epoch when it was issued.
    pub token_epoch: i64,
    /// Random; names this login when it is ended.
    pub login_id: u64,
}

impl Login {
    /// When it ends by itself, ms since 1970 UTC.
    #[must_use]
    pub fn expires_at(&self) -> i64 {
        self.issued_at.saturating_add(limits::LOGIN_MS_MAX)
    }
}

/// Signs and checks tokens.
pub struct Key(Hmac<Sha256>);

impl Key {
    /// Derives the key from the server's secret.
    ///
    /// # Errors
    /// When the secret is too short or one that everybody knows.
    pub fn new(secret: &[u8]) -> Result<Self> {
        if secret.len() < limits::SECRET_CHARS_MIN {
            bail!(
                "SUMIMI_APP_SECRET must have at least {} characters; unset it to have one made",
                limits::SECRET_CHARS_MIN
            );
        }
        let text = String::from_utf8_lossy(secret).to_ascii_lowercase();
        if PLACEHOLDERS.iter().any(|placeholder| text.contains(placeholder)) {
            bail!("SUMIMI_APP_SECRET is a placeholder that everybody knows; set a random one");
        }
        let derived = keyed(secret).chain_update(PURPOSE).finalize().into_bytes();
        Ok(Self(keyed(&derived)))
    }

    /// The token of a login.
    #[must_use]
    pub fn sign(&self, login: &Login) -> String {
        self.sign_kind(KIND_LOGIN, login)
    }

    /// The token of a share: it shows what the share shows as long as there is one.
    #[must_use]
    pub fn sign_share(&self, share_id: Uuid, now_ms: i64) -> String {
        let share = Login { user_id: share_id, issued_at: now_ms, token_epoch: 0, login_id: 0 };
        self.sign_kind(KIND_SHARE, &share)
    }

    /// The share of a token that we signed and that has not expired, and when it was issued, ms since 1970 UTC.
    #[must_use]
    pub fn check_share(&self, token: &str, now_ms: i64) -> Option<(Uuid, i64)> {
        let share = self.check_kind(KIND_SHARE, token, now_ms)?;
        Some((share.user_id, share.issued_at))
    }

    fn sign_kind(&self, kind: u8, login: &Login) -> String {
        let mut bytes = Vec::with_capacity(TOKEN_BYTES);
        bytes.push(kind);
        bytes.extend_from_slice(login.user_id.as_bytes());
        bytes.extend_from_slice(&login.issued_at.to_be_bytes());
        bytes.extend_from_slice(&login.token_epoch.to_be_bytes());
        bytes.extend_from_slice(&login.login_id.to_be_bytes());
        let signature = self.0.clone().chain_update(&bytes).finalize().into_bytes();
        bytes.extend_from_slice(&signature);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The login of a token that we signed and that has not expired; nothing else is looked at.
    #[must_use]
    pub fn check(&self, token: &str, now_ms: i64) -> Option<Login> {
        self.check_kind(KIND_LOGIN, token, now_ms)
    }

    fn check_kind(&self, expected: u8, token: &str, now_ms: i64) -> Option<Login> {
        // The decoder wants room for whole groups of three bytes.
        let mut bytes = [0; TOKEN_BYTES.next_multiple_of(3)];
        if URL_SAFE_NO_PAD.decode_slice(token, &mut bytes).ok()? != TOKEN_BYTES {
            return None;
        }
        let (body, signature) = bytes[..TOKEN_BYTES].split_at(BODY_BYTES);
        self.0.clone().chain_update(body).verify_slice(signature).ok()?;
        let (&kind, rest) = body.split_first()?;
        let (user_id, rest) = rest.split_first_chunk()?;
        let (issued_at, rest) = rest.split_first_chunk()?;
        let (token_epoch, rest) = rest.split_first_chunk()?;
        let (login_id, _) = rest.split_first_chunk()?;
        let login = Login {
            user_id: Uuid::from_bytes(*user_id),
            issued_at: i64::from_be_bytes(*issued_at),
            token_epoch: i64::from_be_bytes(*token_epoch),
            login_id: u64::from_be_bytes(*login_id),
        };
        (kind == expected && now_ms < login.expires_at()).then_some(login)
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"a secret of some length";
    const LOGIN: Login =
        Login { user_id: Uuid::from_u128(77), issued_at: 1_000, token_epoch: 3, login_id: 9 };

    fn key() -> Key {
        Key::new(SECRET).expect("a good secret")
    }

    #[test]
    fn a_token_is_good_until_it_expires() {
        let token = key().sign(&LOGIN);
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        assert_eq!(key().check(&token, 1_000), Some(LOGIN));
        assert_eq!(key().check(&token, LOGIN.expires_at() - 1), Some(LOGIN));
        assert_eq!(key().check(&token, LOGIN.expires_at()), None);
    }

    #[test]
    fn a_token_that_was_changed_anywhere_is_refused() {
        let token = key().sign(&LOGIN);
        for at in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert_eq!(key().check(&changed, 1_000), None, "changed at {at}");
        }
        let longer = format!("{token}A");
        let padded = format!("{token}==");
        for other in ["", "x", "eyJhbGciOiJub25lIn0.e30.", &token[1..], &longer, &padded] {
            assert_eq!(key().check(other, 1_000), None, "{other:?}");
        }
    }

    #[test]
    fn another_secret_another_purpose_and_another_kind_are_refused() {
        let other = Key::new(b"another secret, also long").expect("a good secret");
        assert_eq!(key().check(&other.sign(&LOGIN), 1_000), None);
        let not_derived = Key(keyed(SECRET));
        assert_eq!(key().check(&not_derived.sign(&LOGIN), 1_000), None);
        for kind in [0, 2, 255] {
            assert_eq!(key().check(&key().sign_kind(kind, &LOGIN), 1_000), None, "kind {kind}");
        }
        let share = key().sign_share(LOGIN.user_id, 1_000);
        assert_eq!(key().check_share(&share, 1_000), Some((LOGIN.user_id, 1_000)));
        assert_eq!(key().check_share(&share, LOGIN.expires_at()), None);
        assert_eq!(key().check_share(&key().sign(&LOGIN), 1_000), None, "a login is no share");
    }

    #[test]
    fn secrets_that_everybody_knows_are_refused() {
        for secret in ["", "short", "replace-me-with-a-random-string", "Please-CHANGEME-now-123"] {
            assert!(Key::new(secret.as_bytes()).is_err(), "{secret:?}");
        }
    }
}
