//! What the sender of an event gets: the event's ids and the token to send with the next one. Written without an
//! allocation; its length is the same for every event.

use actix_web::web::BytesMut;

use crate::identity::{Claims, Identity, TOKEN_CHARS, uuid_of};

/// The answer to an event: its ids and the token to send with the next one.
pub struct Receipt {
    token: [u8; TOKEN_CHARS],
    session_id: u64,
    visit_id: u64,
}

impl Receipt {
    /// Signs the claims.
    #[must_use]
    pub fn new(identity: &Identity, claims: &Claims) -> Self {
        let mut token = [0; TOKEN_CHARS];
        identity.cache_key.sign(claims, &mut token);
        Self { token, session_id: claims.session_id, visit_id: claims.visit_id }
    }

    /// The token.
    #[must_use]
    pub fn cache(&self) -> &str {
        std::str::from_utf8(&self.token).unwrap_or_default()
    }

    /// Appends the body of the answer, [`ANSWER_BYTES`] long.
    pub fn write_json(&self, out: &mut BytesMut) {
        let mut uuid = [0; 36];
        let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
        put(&[br#"{"cache":""#, &self.token]);
        let session = uuid_of(self.session_id).hyphenated().encode_lower(&mut uuid);
        put(&[br#"","sessionId":""#, session.as_bytes()]);
        let visit = uuid_of(self.visit_id).hyphenated().encode_lower(&mut uuid);
        put(&[br#"","visitId":""#, visit.as_bytes(), br#""}"#]);
    }
}

/// Length of the answer to an event.
pub const ANSWER_BYTES: usize =
    r#"{"cache":"","sessionId":"","visitId":""}"#.len() + TOKEN_CHARS + 2 * 36;
