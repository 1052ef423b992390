//! The token that a tracker gets with each answer and sends back (`x-umami-cache`): which visit is going on. It is
//! authenticated, so nobody can invent visits, and says which website it is for. Opaque to clients.
//!
//! Layout before base64url: kind (1), website key (4), session (8), visit (8), start of the visit in minutes (4),
//! last activity in seconds (4), HMAC-SHA256 cut to 16 bytes. The key is made for this purpose alone, so that no
//! other token of this server is ever taken for one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::limits;

const KIND: u8 = 1;
const CLAIM_BYTES: usize = 29;
const MAC_BYTES: usize = 16;
const TOKEN_BYTES: usize = CLAIM_BYTES + MAC_BYTES;
/// Characters of a token.
pub const TOKEN_CHARS: usize = TOKEN_BYTES / 3 * 4;

const _: () = assert!(TOKEN_BYTES.is_multiple_of(3));

/// What a token says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    pub website_key: u32,
    pub session_id: u64,
    pub visit_id: u64,
    /// Minutes since 1970; 0 for a visit of events that came with their own time.
    pub started_minute: u32,
    /// Seconds since 1970.
    pub last_second: u32,
}

impl Claims {
    /// Whether the visit is going on.
    #[must_use]
    pub fn is_alive(&self, now_ms: i64) -> bool {
        now_ms - i64::from(self.last_second) * 1_000 < limits::VISIT_IDLE_MS
    }

    fn bytes(&self) -> [u8; CLAIM_BYTES] {
        let mut bytes = [0; CLAIM_BYTES];
        bytes[0] = KIND;
        bytes[1..5].copy_from_slice(&self.website_key.to_le_bytes());
        bytes[5..13].copy_from_slice(&self.session_id.to_le_bytes());
        bytes[13..21].copy_from_slice(&self.visit_id.to_le_bytes());
        bytes[21..25].copy_from_slice(&self.started_minute.to_le_bytes());
        bytes[25..].copy_from_slice(&self.last_second.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.first() != Some(&KIND) {
            return None;
        }
        let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        Some(Self {
            website_key: u32_at(1)?,
            session_id: u64_at(5)?,
            visit_id: u64_at(13)?,
            started_minute: u32_at(21)?,
            last_second: u32_at(25)?,
        })
    }
}

/// Signs and checks tokens.
pub struct CacheKey(Hmac<Sha256>);

impl CacheKey {
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        let keyed = |key: &[u8]| {
            Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length")
        };
        let derived = keyed(secret).chain_update(b"sumimi cache token").finalize().into_bytes();
        Self(keyed(&derived))
    }

    /// Writes the token into `out` and returns it.
    pub fn sign<'o>(&self, claims: &Claims, out: &'o mut [u8; TOKEN_CHARS]) -> &'o str {
        let mut token = [0; TOKEN_BYTES];
        token[..CLAIM_BYTES].copy_from_slice(&claims.bytes());
        let mac = self.0.clone().chain_update(&token[..CLAIM_BYTES]).finalize().into_bytes();
        token[CLAIM_BYTES..].copy_from_slice(&mac[..MAC_BYTES]);
        let length = URL_SAFE_NO_PAD.encode_slice(token, out).unwrap_or(0);
        std::str::from_utf8(&out[..length]).unwrap_or_default()
    }

    /// What a token says, if it is one of ours; anything else is none.
    #[must_use]
    pub fn verify(&self, token: &str) -> Option<Claims> {
        let mut bytes = [0; TOKEN_BYTES];
        if token.len() != TOKEN_CHARS {
            return None;
        }
        URL_SAFE_NO_PAD.decode_slice_unchecked(token, &mut bytes).ok()?;
        let (claims, mac) = bytes.split_at(CLAIM_BYTES);
        self.0.clone().chain_update(claims).verify_truncated_left(mac).ok()?;
        Claims::read(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIMS: Claims = Claims {
        website_key: 3,
        session_id: u64::MAX,
        visit_id: 7,
        started_minute: 29_000_000,
        last_second: 1_772_445_600,
    };

    #[test]
    fn a_token_says_what_was_signed_and_nothing_else_is_believed() {
        let key = CacheKey::new(b"secret");
        let mut out = [0; TOKEN_CHARS];
        let token = key.sign(&CLAIMS, &mut out).to_owned();
        assert_eq!(key.verify(&token), Some(CLAIMS));
        for at in 0..token.len() {
            let mut forged = token.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).expect("ASCII");
            assert_eq!(key.verify(&forged), None, "character {at}");
        }
        for other in ["", "undefined", "eyJhbGciOiJIUzI1NiJ9.e30.x", "é", &token[1..]] {
            assert_eq!(key.verify(other), None, "{other}");
        }
        assert_eq!(CacheKey::new(b"other").verify(&token), None);
    }
}
