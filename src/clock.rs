//! The only reader of time: everything else asks here, and pure functions are handed the time as an argument.
//! Wall-clock time is in milliseconds since 1970 UTC; durations and deadlines use the monotonic clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Now, in milliseconds since 1970 UTC.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "the one reader of the wall clock")]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A time in ms since 1970 as answers write it: `2026-03-01T00:00:00.000Z`. Years beyond 9999 become the last one.
#[must_use]
pub fn iso(at_ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or(jiff::Timestamp::MAX);
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A point on the monotonic clock, for durations and deadlines.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "the one reader of the monotonic clock")]
pub fn instant() -> Instant {
    Instant::now()
}
