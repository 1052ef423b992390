//! Passwords: argon2id in PHC form, every byte counts, of any length, and however their accents are composed. Hashes
//! by bcrypt, with which people come from Umami, are accepted and replaced when their owner signs in. Hashing takes
//! `limits::PASSWORD_BYTES` of memory, so one password is hashed at a time in the whole process; a few may wait, the
//! others are answered 503.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web;
use anyhow::{Result, anyhow, bail};
use argon2::password_hash::{Error, PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use icu_normalizer::ComposingNormalizerBorrowed;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::ApiError;
use crate::limits;

/// Characters of generated passwords: without those that look alike.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
const PASSES: u32 = 2;

/// Hashes passwords, one at a time.
pub struct Hasher {
    turn: Arc<Semaphore>,
    /// Places for the one whose turn it is and those who wait.
    places: Arc<Semaphore>,
}

impl Default for Hasher {
    fn default() -> Self {
        Self {
            turn: Arc::new(Semaphore::new(1)),
            places: Arc::new(Semaphore::new(1 + limits::PASSWORDS_WAITING_MAX)),
        }
    }
}

impl Hasher {
    /// The hash of a new password.
    ///
    /// # Errors
    /// 503 when too many wait.
    pub async fn hash(&self, password: String) -> Result<String, ApiError> {
        self.run(move || hash(&password)).await
    }

    /// Whether a password belongs to a hash. Without a hash it never does, and takes as long to say so.
    ///
    /// # Errors
    /// 503 when too many wait.
    pub async fn verify(&self, password: String, hash: Option<String>) -> Result<bool, ApiError> {
        self.run(move || verify(&password, hash.as_deref())).await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T, ApiError> {
        let permits = self
            .wait()
            .await
            .ok_or(ApiError::Unavailable { code: "too-many-logins", retry_after_s: 2 })?;
        let outcome = web::block(move || {
            // Held by the work and not by the request: a client that goes away does not end the work.
            let _permits = permits;
            work()
        });
        Ok(outcome.await??)
    }

    async fn wait(&self) -> Option<[OwnedSemaphorePermit; 2]> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let wait_max = Duration::from_millis(limits::PASSWORD_WAIT_MS_MAX);
        let turn = timeout(wait_max, Arc::clone(&self.turn).acquire_owned()).await.ok()?.ok()?;
        Some([place, turn])
    }
}

/// The hash of a new password, in PHC form with its own salt. Blocks.
///
/// # Errors
/// When the system gives no random bytes or no memory.
pub fn hash(password: &str) -> Result<String> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt)?;
    let hash = argon2()?.hash_password_with_salt(composed(password).as_bytes(), &salt);
    Ok(hash.map_err(|error| anyhow!("cannot hash a password: {error}"))?.to_string())
}

/// Whether a hash is to be replaced by one of ours.
#[must_use]
pub fn is_foreign(hash: &str) -> bool {
    hash.starts_with("$2")
}

fn verify(password: &str, hash: Option<&str>) -> Result<bool> {
    let Some(hash) = hash else {
        self::hash(password)?;
        return Ok(false);
    };
    let composed = composed(password);
    // As it was typed as well: older hashes and those of Umami are of that.
    Ok(verify_bytes(&composed, hash)? || composed != password && verify_bytes(password, hash)?)
}

fn verify_bytes(password: &str, hash: &str) -> Result<bool> {
    if is_foreign(hash) {
        return verify_bcrypt(password, hash);
    }
    match argon2()?.verify_password(password.as_bytes(), hash) {
        Ok(()) => Ok(true),
        Err(Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(anyhow!("cannot check a password: {error}")),
    }
}

/// By the first 72 bytes, as the hash was made.
fn verify_bcrypt(password: &str, hash: &str) -> Result<bool> {
    let parts: bcrypt::HashParts =
        hash.parse().map_err(|error| anyhow!("cannot read a bcrypt hash: {error}"))?;
    if parts.get_cost() > limits::BCRYPT_COST_MAX {
        bail!("a bcrypt hash of cost {} takes too long to check", parts.get_cost());
    }
    bcrypt::verify(password, hash).map_err(|error| anyhow!("cannot check a password: {error}"))
}

/// The one spelling of a text whose accents may be typed in several ways.
fn composed(password: &str) -> std::borrow::Cow<'_, str> {
    ComposingNormalizerBorrowed::new_nfc().normalize(password)
}

fn argon2() -> Result<Argon2<'static>> {
    let kib = u32::try_from(limits::PASSWORD_BYTES >> 10)?;
    let params = Params::new(kib, PASSES, 1, None);
    let params = params.map_err(|error| anyhow!("argon2 refuses its settings: {error}"))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// A new password of 100 random bits that can be read aloud.
///
/// # Errors
/// When the system gives no random bytes.
pub fn generate() -> Result<String> {
    let mut bytes = [0; limits::PASSWORD_GENERATED_CHARS];
    getrandom::fill(&mut bytes)?;
    let mut password = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        let dash = if index > 0 && index % 5 == 0 { "-" } else { "" };
        // 256 is a multiple of 32, so every character is as likely.
        write!(password, "{dash}{}", char::from(ALPHABET[usize::from(byte % 32)]))?;
    }
    Ok(password)
}

/// Random letters and digits, for what is hard to guess and need not be read aloud.
///
/// # Errors
/// When the system gives no random bytes.
pub fn random_text(chars: usize) -> Result<String> {
    let mut bytes = vec![0; chars];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
}

/// Whether a new password is long enough.
///
/// # Errors
/// One line for the person who chose it.
pub fn check_new(password: &str) -> Result<(), String> {
    if password.chars().count() < limits::PASSWORD_CHARS_MIN {
        return Err(format!(
            "A password must have at least {} characters",
            limits::PASSWORD_CHARS_MIN
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_password_counts() {
        let long = "é".repeat(100);
        let hashed = hash(&long).expect("hashed");
        assert!(hashed.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hashed}");
        let shorter = "é".repeat(99);
        let cases = [(long.as_str(), true), (shorter.as_str(), false), ("", false)];
        for (password, expected) in cases {
            assert_eq!(verify(password, Some(&hashed)).expect("checked"), expected);
        }
        assert!(!verify(&long, None).expect("checked"));
        assert!(verify(&long, Some("not a hash")).is_err());
    }

    #[test]
    fn accents_may_be_typed_in_several_ways() {
        let (one, two) =
            ("Zo\u{eb} \u{1e69} long enough", "Zoe\u{308} s\u{307}\u{323} long enough");
        for (set, typed) in [(one, two), (two, one), (one, one), (two, two)] {
            let hashed = hash(set).expect("hashed");
            assert!(verify(typed, Some(&hashed)).expect("checked"), "{set} {typed}");
        }
        let older = argon2().expect("settings").hash_password_with_salt(two.as_bytes(), &[7; 16]);
        let older = older.expect("hashed").to_string();
        assert!(verify(two, Some(&older)).expect("checked"), "hashed as it was typed");
        assert!(!verify("Zoe s long enough", Some(&older)).expect("checked"));
    }

    #[test]
    fn hashes_by_bcrypt_are_checked_unless_they_take_too_long() {
        // Made by bcryptjs and PHP, of "umami" and "rasmuslerdorf".
        let known = [
            ("umami", "$2b$10$BUli0c.muyCW1ErNJc3jL.vFRFtFJWrT8/GcR4A.sUdCznaXiqFXa"),
            ("rasmuslerdorf", "$2y$07$usesomesillystringfore2uDLvp1Ii2e./U9C8sBjqp8I90dH6hi"),
        ];
        for (password, hash) in known {
            assert!(is_foreign(hash));
            assert!(verify(password, Some(hash)).expect("checked"), "{password}");
            assert!(!verify("another", Some(hash)).expect("checked"), "{password}");
        }
        let slow = known[0].1.replace("$10$", "$31$");
        assert!(verify("umami", Some(&slow)).is_err());
        assert!(verify("umami", Some("$2b$10$short")).is_err());
        assert!(!is_foreign(&hash("x").expect("hashed")));
    }

    #[test]
    fn generated_passwords_differ_and_are_long_enough() {
        let (one, two) = (generate().expect("random"), generate().expect("random"));
        assert_ne!(one, two);
        assert_eq!(one.len(), limits::PASSWORD_GENERATED_CHARS + 3);
        assert_eq!(check_new(&one), Ok(()));
        assert!(check_new("umami").is_err());
    }

    #[actix_web::test]
    async fn too_many_passwords_at_once_are_refused_and_nobody_is_forgotten() {
        let hasher = Hasher::default();
        let all: Vec<_> = (0..=limits::PASSWORDS_WAITING_MAX)
            .map(|_| Arc::clone(&hasher.places).try_acquire_owned().expect("a place"))
            .collect();
        let refused = hasher.hash("x".to_owned()).await;
        assert!(matches!(refused, Err(ApiError::Unavailable { .. })));
        drop(all);
        assert!(hasher.wait().await.is_some());
        assert_eq!(hasher.places.available_permits(), 1 + limits::PASSWORDS_WAITING_MAX);
    }
}
