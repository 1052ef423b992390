//! A time zone as a question sees it: any IANA name, old ones included, or a fixed offset. The data is the bundled
//! one, so that neither the machine's zone files nor its own zone have a say. The engine knows no zones: it is handed
//! pieces of constant offset and cuts local time itself, whence half-hour zones and clock changes come out right.

use std::fmt::Write as _;
use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};

use super::params::{DateRange, Query};
use crate::error::ApiError;

static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Offsets are looked up between 1800 and 2200; outside, the nearest one holds.
const ZONE_MS_MIN: i64 = -5_364_662_400_000;
const ZONE_MS_MAX: i64 = 7_258_118_400_000;
/// A year on average, where there is no calendar.
const YEAR_MS: i64 = 31_556_952_000;

/// A time zone, and how its labels are written.
#[derive(Clone, Debug)]
pub struct Timezone {
    zone: TimeZone,
    /// `2026-03-01T00:00:00Z` instead of `2026-03-01 00:00:00`.
    iso_labels: bool,
}

/// Which end of a range a date stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Start,
    End,
}

/// A range cut where the offset changes, as the three list parameters of the SQL.
#[derive(Debug, PartialEq, Eq)]
pub struct Pieces {
    pub since: String,
    pub until: String,
    pub offset: String,
}

impl Timezone {
    /// UTC, as when none is asked for.
    #[must_use]
    pub fn utc() -> Self {
        Self { zone: TimeZone::UTC, iso_labels: true }
    }

    /// From `timezone` (or `tz`, as older clients say); `None` when it is not asked for.
    ///
    /// # Errors
    /// When there is no such zone.
    pub fn from_query(query: &Query) -> Result<Option<Self>, ApiError> {
        let Some(name) = query.get("timezone").or_else(|| query.get("tz")) else {
            return Ok(None);
        };
        let zone = fixed_offset(name).map(TimeZone::fixed).or_else(|| ZONES.get(name).ok());
        let zone = zone.ok_or_else(|| ApiError::bad_request("Invalid timezone"))?;
        Ok(Some(Self { zone, iso_labels: name == "utc" }))
    }

    /// The local date and time of an instant.
    #[must_use]
    pub fn local(&self, instant: Timestamp) -> DateTime {
        self.zone.to_datetime(instant)
    }

    /// The label of a bucket from its local start `2026-03-01 00:00:00`.
    #[must_use]
    pub fn label(&self, mut local: String) -> String {
        if self.iso_labels {
            local = local.replace(' ', "T");
            local.push('Z');
        }
        local
    }

    /// Cuts a range where the zone's offset changes.
    #[must_use]
    pub fn pieces(&self, range: DateRange) -> Pieces {
        let begin = timestamp(range.start_at);
        let mut pieces =
            Pieces { since: String::new(), until: String::new(), offset: String::new() };
        let mut since = range.start_at;
        let mut offset = self.zone.to_offset(begin);
        for change in self.zone.following(begin) {
            let at = change.timestamp().as_millisecond();
            if at > range.end_at.min(ZONE_MS_MAX) {
                break;
            }
            if change.offset() != offset {
                pieces.push(since, at, offset);
                (since, offset) = (at, change.offset());
            }
        }
        pieces.push(since, range.end_at.max(since) + 1, offset);
        for list in [&mut pieces.since, &mut pieces.until, &mut pieces.offset] {
            list.push(']');
        }
        pieces
    }

    /// Local time as ms since 1970-01-01 00:00 of local time.
    #[must_use]
    pub fn local_ms(&self, instant_ms: i64) -> i64 {
        instant_ms + i64::from(self.zone.to_offset(timestamp(instant_ms)).seconds()) * 1000
    }

    /// The local day of an instant and the days before it, so many in all.
    #[must_use]
    pub fn last_days(&self, instant_ms: i64, days: i8) -> DateRange {
        let today = self.zone.to_datetime(timestamp(instant_ms)).date();
        let first = today.saturating_sub(i64::from(days - 1).days());
        let edge = |date: Date, edge| self.instant(&date.to_string(), edge).unwrap_or(instant_ms);
        DateRange { start_at: edge(first, Edge::Start), end_at: edge(today, Edge::End) }
    }

    /// The same local date and time one year earlier; of a 29 February it is the 28th.
    #[must_use]
    pub fn year_before(&self, instant_ms: i64) -> i64 {
        let instant = Timestamp::from_millisecond(instant_ms).ok();
        let local = instant.map(|instant| instant.to_zoned_datetime(self.zone.clone()));
        let earlier = local.and_then(|local| local.checked_sub(1.year()).ok());
        earlier.map_or(instant_ms - YEAR_MS, |earlier| earlier.timestamp().as_millisecond())
    }

    /// `2026-03-01`, `2026-03-01T10:00`, `2026-03-01T10:00:00.000Z`, `…+01:00`. A date is its first or last
    /// millisecond, and what has no offset is local time.
    #[must_use]
    pub fn instant(&self, text: &str, edge: Edge) -> Option<i64> {
        let text = text.trim().replace(' ', "+"); // a plus sign that was not percent-encoded
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Some(instant.as_millisecond());
        }
        // At the ends of the calendar, 9999-12-31 and the like, the last instant it has will do.
        let local = |time: DateTime| {
            let end = if time.year() < 0 { Timestamp::MIN } else { Timestamp::MAX };
            let zoned = time.to_zoned_datetime(self.zone.clone());
            zoned.map_or(end, |zoned| zoned.timestamp()).as_millisecond()
        };
        if text.contains(['T', 't']) {
            return text.parse().ok().map(local);
        }
        let date: Date = text.parse().ok()?;
        Some(match edge {
            Edge::Start => local(date.to_datetime(Time::MIN)),
            Edge::End => date.tomorrow().map_or(Timestamp::MAX.as_millisecond(), |next| {
                local(next.to_datetime(Time::MIN)) - 1
            }),
        })
    }
}

impl Pieces {
    fn push(&mut self, since: i64, until: i64, offset: Offset) {
        let numbers = [since, until, i64::from(offset.seconds()) * 1000];
        for (list, number) in
            [&mut self.since, &mut self.until, &mut self.offset].into_iter().zip(numbers)
        {
            let separator = if list.is_empty() { '[' } else { ',' };
            // Writing to a String cannot fail.
            let _ = write!(list, "{separator}{number}");
        }
    }
}

fn timestamp(instant_ms: i64) -> Timestamp {
    let known = instant_ms.clamp(ZONE_MS_MIN, ZONE_MS_MAX);
    Timestamp::from_millisecond(known).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// `+05:30`, `+0530`, `-03`; a leading space is a plus sign that was not percent-encoded.
fn fixed_offset(name: &str) -> Option<Offset> {
    let (sign, digits) = match name.split_at_checked(1)? {
        ("+" | " ", digits) => (1, digits),
        ("-" | "\u{2212}", digits) => (-1, digits),
        _ => return None,
    };
    let digits = digits.replacen(':', "", usize::from(digits.len() == 5));
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hours: i32 = digits[..2].parse().ok()?;
    let minutes: i32 = if digits.len() == 4 { digits[2..].parse().ok()? } else { 0 };
    let seconds = (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60)?;
    Offset::from_seconds(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Option<Timezone> {
        let name = name.replace('+', "%2B").replace(' ', "+");
        let query = Query::parse(&format!("timezone={name}")).expect("decodes");
        Timezone::from_query(&query).ok().flatten()
    }

    #[test]
    fn zones_are_found_by_new_and_old_names_and_by_offset() {
        let cases = [
            ("utc", 0),
            ("UTC", 0),
            ("Etc/UTC", 0),
            ("Asia/Kolkata", 19_800),
            ("Asia/Calcutta", 19_800),
            ("Asia/Saigon", 25_200),
            ("Asia/Katmandu", 20_700),
            ("America/Buenos_Aires", -10_800),
            ("US/Pacific", -28_800),
            ("EST", -18_000),
            ("asia/tokyo", 32_400),
            ("Pacific/Chatham", 49_500),
            ("+05:30", 19_800),
            (" 05:30", 19_800),
            ("-0330", -12_600),
            ("+14", 50_400),
            ("GMT", 0),
        ];
        for (name, seconds) in cases {
            let zone = zone(name).unwrap_or_else(|| panic!("no zone {name}"));
            let offset = zone.zone.to_offset(timestamp(1_768_000_000_000)).seconds();
            assert_eq!(offset, seconds, "{name}");
        }
        for name in [
            "",
            "Nowhere/Bad",
            "+24:00",
            "+1",
            "+05:3",
            "+05:60",
            "'; drop table x; --",
            "../etc/passwd",
            "é",
        ] {
            assert!(zone(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_range_is_cut_at_each_change_of_the_clock() {
        let march = DateRange { start_at: 1_772_323_200_000, end_at: 1_775_001_599_999 };
        let cut = |name: &str, range| zone(name).expect("a zone").pieces(range);
        let new_york = cut("America/New_York", march);
        assert_eq!(new_york.since, "[1772323200000,1772953200000]");
        assert_eq!(new_york.until, "[1772953200000,1775001600000]");
        assert_eq!(new_york.offset, "[-18000000,-14400000]");
        assert_eq!(cut("Asia/Kathmandu", march).offset, "[20700000]");
        // Casablanca goes back for Ramadan (15 February to 22 March 2026).
        assert_eq!(cut("Africa/Casablanca", march).offset, "[0,3600000]");
        assert_eq!(cut("UTC", DateRange { start_at: 5, end_at: 1 }).until, "[6]");
    }

    #[test]
    fn the_widest_range_has_a_bounded_number_of_pieces() {
        let range = DateRange { start_at: i64::MIN / 4, end_at: i64::MAX / 4 };
        let pieces = zone("America/New_York").expect("a zone").pieces(range);
        let count = pieces.since.matches(',').count() + 1;
        assert!((300..900).contains(&count), "{count}");
    }

    #[test]
    fn a_year_earlier_is_the_same_local_date() {
        let at = |text: &str| text.parse::<Timestamp>().expect("a time").as_millisecond();
        let new_york = zone("America/New_York").expect("a zone");
        assert_eq!(
            Timezone::utc().year_before(at("2024-02-29T23:59:59.999Z")),
            at("2023-02-28T23:59:59.999Z")
        );
        assert_eq!(new_york.year_before(at("2025-11-02T04:00:00Z")), at("2024-11-02T04:00:00Z"));
        assert_eq!(new_york.year_before(at("2026-03-09T04:00:00Z")), at("2025-03-09T05:00:00Z"));
        assert_eq!(
            Timezone::utc().year_before(8_000_000_000_000_000),
            8_000_000_000_000_000 - YEAR_MS
        );
    }

    #[test]
    fn a_date_is_a_whole_day_in_its_zone() {
        let at = |text: &str| Some(text.parse::<Timestamp>().expect("a time").as_millisecond());
        let chatham = zone("Pacific/Chatham").expect("a zone");
        assert_eq!(chatham.instant("2026-03-10", Edge::Start), at("2026-03-09T10:15:00Z"));
        assert_eq!(chatham.instant("2026-03-10", Edge::End), at("2026-03-10T10:14:59.999Z"));
    }
}
