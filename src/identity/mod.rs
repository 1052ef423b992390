//! Who a visitor is, without knowing who: a session is a hash of website, address, agent and a salt that changes with
//! the period; a visit is a session's activity until 30 minutes of silence. Addresses and agents end here.
//!
//! The rules are Umami's, so that its session ids go on: UUID version 5 of a hash; see the formulas below. Two
//! differences, explained in `docs/umami.md`: a visit of a live event ends after 30 minutes of inactivity (not at the
//! clock hour, not 30 minutes after its first hit), and the echoed token is bound to its website.
//!
//! Ids are kept as the 64 bits of the UUID that fit between its fixed bits; [`uuid_of`] shows them as UUIDs again.

mod cache_token;
mod visits;

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha512};
use uuid::Uuid;

pub use cache_token::{CacheKey, Claims, TOKEN_CHARS};
pub use visits::Visits;

const MS_PER_MINUTE: i64 = 60_000;
const MS_PER_HOUR: i64 = 3_600_000;

/// When sessions start anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    Day,
    Week,
    Month,
}

impl Rotation {
    /// From the setting's text; month unless it says otherwise.
    #[must_use]
    pub fn from_setting(text: &str) -> Self {
        match text {
            "day" => Self::Day,
            "week" => Self::Week,
            _ => Self::Month,
        }
    }

    /// Start and end (ms) of the period around a time, in UTC. Weeks start on Sunday.
    fn period(self, at_ms: i64) -> Option<(i64, i64)> {
        let date = Timestamp::from_millisecond(at_ms).ok()?.to_zoned_datetime(TimeZone::UTC).date();
        let start = match self {
            Self::Day => date,
            Self::Week => {
                let days = i64::from(date.weekday().since(Weekday::Sunday));
                date.checked_sub(jiff::Span::new().days(days)).ok()?
            }
            Self::Month => date.first_of_month(),
        };
        let end = match self {
            Self::Day => start.tomorrow().ok()?,
            Self::Week => start.checked_add(jiff::Span::new().days(7)).ok()?,
            Self::Month => start.last_of_month().tomorrow().ok()?,
        };
        let ms = |date: jiff::civil::Date| {
            Some(date.to_zoned_datetime(TimeZone::UTC).ok()?.timestamp().as_millisecond())
        };
        Some((ms(start)?, ms(end)?))
    }
}

/// The salt of the period an event falls in, remembered per worker: nearly every event falls in the same one.
pub struct SaltCache {
    from_ms: i64,
    to_ms: i64,
    hex: [u8; 128],
}

impl Default for SaltCache {
    fn default() -> Self {
        Self { from_ms: 0, to_ms: 0, hex: [0; 128] }
    }
}

/// What identifies a visitor during one request; nothing of it is kept.
pub struct Visitor<'a> {
    /// Lower-case text of the website's id.
    pub website: &'a str,
    pub address: &'a str,
    pub agent: &'a str,
    /// The site's own id of the visitor; if not empty it replaces address, agent and salt.
    pub distinct_id: Option<&'a str>,
}

/// Session and visit of one event, and the claims for the token to echo.
#[derive(Clone, Copy, Debug)]
pub struct Resolved {
    pub session_id: u64,
    pub claims: Claims,
}

/// The rules with their secret; shared by all workers.
pub struct Identity {
    /// hex SHA-512 of the secret.
    secret_hex: [u8; 128],
    rotation: Rotation,
    pub cache_key: CacheKey,
    visits: Visits,
}

impl Identity {
    #[must_use]
    pub fn new(secret: &str, rotation: Rotation) -> Self {
        Self {
            secret_hex: hex_sha512(&[secret.as_bytes()]),
            rotation,
            cache_key: CacheKey::new(secret.as_bytes()),
            visits: Visits::default(),
        }
    }

    /// UUIDv5(DNS, hex SHA-512(website + address + agent + salt + secret)), where salt is the hex SHA-512 of the UTC
    /// text of the period's start; or, with a distinct id, of (website + id + secret).
    fn session(&self, salt: &mut SaltCache, visitor: &Visitor<'_>, at_ms: i64) -> Uuid {
        let website = visitor.website.as_bytes();
        let name = match visitor.distinct_id.filter(|id| !id.is_empty()) {
            Some(id) => hex_sha512(&[website, id.as_bytes(), &self.secret_hex]),
            None => {
                self.fill_salt(salt, at_ms);
                let (address, agent) = (visitor.address.as_bytes(), visitor.agent.as_bytes());
                hex_sha512(&[website, address, agent, &salt.hex, &self.secret_hex])
            }
        };
        Uuid::new_v5(&Uuid::NAMESPACE_DNS, &name)
    }

    fn fill_salt(&self, salt: &mut SaltCache, at_ms: i64) {
        if (salt.from_ms..salt.to_ms).contains(&at_ms) {
            return;
        }
        if let Some((from_ms, to_ms)) = self.rotation.period(at_ms) {
            *salt = SaltCache { from_ms, to_ms, hex: utc_text_hash(from_ms) };
        }
    }

    /// Session and visit of an event. `now_ms` is the server's clock, `explicit_ms` the time that the sender gave.
    ///
    /// A visit goes on with a token of this website: always for an event with its own time (it is a replay, or sent
    /// late), for a live one while the last activity is less than 30 minutes ago. Without such a token an event with
    /// its own time falls in its session's visit of that clock hour (Umami's rule), and a live one in the session's
    /// visit if one is going on.
    pub fn resolve(
        &self,
        salt: &mut SaltCache,
        visitor: &Visitor<'_>,
        website_key: u32,
        token: Option<Claims>,
        explicit_ms: Option<i64>,
        now_ms: i64,
    ) -> Resolved {
        let at_ms = explicit_ms.unwrap_or(now_ms);
        let session = self.session(salt, visitor, at_ms);
        let session_id = id_of_v5(&session);
        let token = token.filter(|claims| claims.website_key == website_key);
        let minute = |ms: i64| u32::try_from(ms / MS_PER_MINUTE).unwrap_or(0);
        let (visit_id, started_minute) = match (explicit_ms, token) {
            (Some(_), Some(claims)) => (claims.visit_id, 0),
            (Some(at_ms), None) => (id_of_v5(&self.visit_of_hour(&session, at_ms)), 0),
            (None, Some(claims)) if claims.is_alive(now_ms) => {
                if claims.started_minute > 0 {
                    self.visits.seed(session_id, claims.started_minute, minute(now_ms));
                }
                (claims.visit_id, claims.started_minute)
            }
            (None, _) => {
                let started = self.visits.touch(session_id, minute(now_ms));
                (visit_id(session_id, started), started)
            }
        };
        let last_second = u32::try_from(at_ms / 1_000).unwrap_or(0);
        let claims = Claims { website_key, session_id, visit_id, started_minute, last_second };
        Resolved { session_id, claims }
    }

    /// UUIDv5(DNS, hex SHA-512(session + hex SHA-512(UTC text of the hour's start) + secret)).
    fn visit_of_hour(&self, session: &Uuid, at_ms: i64) -> Uuid {
        let hour = utc_text_hash(at_ms - at_ms.rem_euclid(MS_PER_HOUR));
        let mut text = [0; 36];
        let session = session.hyphenated().encode_lower(&mut text);
        let name = hex_sha512(&[session.as_bytes(), &hour, &self.secret_hex]);
        Uuid::new_v5(&Uuid::NAMESPACE_DNS, &name)
    }
}

/// hex SHA-512 of a time's text as `Sun, 01 Mar 2026 00:00:00 GMT`.
fn utc_text_hash(at_ms: i64) -> [u8; 128] {
    let at =
        Timestamp::from_millisecond(at_ms).unwrap_or_default().to_zoned_datetime(TimeZone::UTC);
    // Not on the way of an ordinary event: salts are remembered, and only events with their own time ask for hours.
    let text = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    hex_sha512(&[text.as_bytes()])
}

fn hex_sha512(parts: &[&[u8]]) -> [u8; 128] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hasher = Sha512::new();
    for part in parts {
        hasher.update(part);
    }
    let mut hex = [0; 128];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(hasher.finalize()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    hex
}

/// The id of the visit of a session that started in a minute.
fn visit_id(session_id: u64, started_minute: u32) -> u64 {
    mix(session_id ^ mix(u64::from(started_minute)))
}

/// A bijection that spreads every bit (the finalizer of SplitMix64).
fn mix(mut word: u64) -> u64 {
    word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The 64 bits of a UUID that we keep: the 48 before its version, the 12 after it, the 4 after its variant.
#[must_use]
pub fn id_of_v5(uuid: &Uuid) -> u64 {
    let bits = uuid.as_u128();
    let before = (bits >> 80) as u64;
    let middle = (bits >> 64) as u64 & 0xfff;
    let after = (bits >> 58) as u64 & 0xf;
    before << 16 | middle << 4 | after
}

/// An id as people and clients see it: a UUID of version 8 whose kept bits are the id and whose other bits follow
/// from it.
#[must_use]
pub fn uuid_of(id: u64) -> Uuid {
    let before = u128::from(id >> 16) << 80;
    let middle = u128::from(id >> 4 & 0xfff) << 64;
    let after = u128::from(id & 0xf) << 58;
    let tail = u128::from(mix(id) >> 6);
    Uuid::from_u128(before | 8 << 76 | middle | 2 << 62 | after | tail)
}

/// The id behind a UUID that [`uuid_of`] made; `None` for any other.
#[must_use]
pub fn id_of(uuid: &Uuid) -> Option<u64> {
    let id = id_of_v5(uuid);
    (uuid_of(id) == *uuid).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
                         Chrome/131.0.0.0 Safari/537.36";
    const MAIN: &str = "11111111-1111-4111-8111-111111111111";
    const EDGE: &str = "22222222-2222-4222-8222-222222222222";

    fn identity() -> Identity {
        Identity::new("oracle-fixed-secret-0001", Rotation::Month)
    }

    fn visitor(website: &'static str) -> Visitor<'static> {
        Visitor { website, address: "203.0.113.5", agent: AGENT, distinct_id: None }
    }

    #[test]
    fn session_and_visit_ids_are_those_of_umami() {
        // Website, ms, session and visit that a real Umami answered with this secret.
        let cases = SESSIONS;
        let identity = identity();
        for (website, at_ms, session, visit) in cases {
            let mut salt = SaltCache::default();
            let found = identity.session(&mut salt, &visitor(website), at_ms);
            assert_eq!(found.to_string(), session);
            assert_eq!(identity.visit_of_hour(&found, at_ms).to_string(), visit);
            let resolved = identity.resolve(&mut salt, &visitor(website), 1, None, Some(at_ms), 0);
            assert_eq!(uuid_of(resolved.session_id).to_string()[..14], uuid8(session)[..14]);
        }
    }

    #[test]
    fn a_distinct_id_takes_the_place_of_address_agent_and_period() {
        let identity = identity();
        let mut salt = SaltCache::default();
        for (address, at_ms) in [("203.0.113.5", 1_773_997_200_000), ("198.51.100.9", 0)] {
            let visitor = Visitor { address, distinct_id: Some("user-1"), ..visitor(MAIN) };
            let session = identity.session(&mut salt, &visitor, at_ms);
            assert_eq!(session.to_string(), "a878c4ec-e3fb-51dd-8ced-142e713690f0");
        }
    }

    fn uuid8(text: &str) -> String {
        format!("{}8{}", &text[..14], &text[15..])
    }

    const SESSIONS: [(&str, i64, &str, &str); 2] = [
        (
            MAIN,
            1_772_445_600_000,
            "8ccb6bd1-e43d-5d71-90a5-3aba32a16c52",
            "15be2c5c-97d8-5ee6-82cf-f657e653b3b2",
        ),
        (
            EDGE,
            1_772_668_860_000,
            "fa0aabe7-ebfd-513e-955a-d633222d132f",
            "3b37da56-1b42-58fe-9463-a63dca5d3fac",
        ),
    ];

    #[test]
    fn ids_survive_the_way_to_a_uuid_and_back() {
        for id in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            let uuid = uuid_of(id);
            assert_eq!((id_of(&uuid), uuid.get_version_num()), (Some(id), 8));
        }
        assert_eq!(id_of(&Uuid::from_u128(77)), None);
    }

    #[test]
    fn a_live_visit_lasts_until_thirty_minutes_of_silence() {
        let (identity, mut salt) = (identity(), SaltCache::default());
        let start = 1_772_445_600_000 + 59 * MS_PER_MINUTE;
        let mut hit = |minutes: i64, token: Option<Claims>| {
            let now = start + minutes * MS_PER_MINUTE;
            identity.resolve(&mut salt, &visitor(MAIN), 1, token, None, now).claims
        };
        let first = hit(0, None);
        assert_eq!(hit(2, None).visit_id, first.visit_id, "across the clock hour");
        let token = hit(29, Some(first));
        assert_eq!(token.visit_id, first.visit_id);
        assert_eq!(hit(55, None).visit_id, first.visit_id, "the token's activity counts");
        let late = hit(90, Some(token));
        assert_ne!(late.visit_id, first.visit_id, "a token of long ago starts a new visit");
        assert_eq!(hit(91, None).visit_id, late.visit_id);
    }

    #[test]
    fn a_token_of_another_website_is_none_and_explicit_times_keep_theirs() {
        let (identity, mut salt) = (identity(), SaltCache::default());
        let at = 1_772_445_600_000;
        let mut resolve = |website_key, token, explicit, now| {
            identity.resolve(&mut salt, &visitor(MAIN), website_key, token, explicit, now).claims
        };
        let first = resolve(1, None, Some(at), 0);
        let later = at + 3 * MS_PER_HOUR;
        assert_eq!(resolve(1, Some(first), Some(later), 0).visit_id, first.visit_id);
        assert_ne!(resolve(2, Some(first), Some(later), 0).visit_id, first.visit_id);
    }

    #[test]
    fn periods_are_days_weeks_from_sunday_and_months() {
        let at = 1_772_445_600_000; // Monday 2026-03-02 10:00 UTC
        let day = |date: &str| date.parse::<Timestamp>().expect("a time").as_millisecond();
        for (rotation, from, to) in [
            (Rotation::Day, "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"),
            (Rotation::Week, "2026-03-01T00:00:00Z", "2026-03-08T00:00:00Z"),
            (Rotation::Month, "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"),
        ] {
            assert_eq!(rotation.period(at), Some((day(from), day(to))), "{rotation:?}");
        }
    }
}
