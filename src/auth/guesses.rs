//! Wrong logins, counted per name and per address in a fixed number of slots. After a few of them answers are
//! delayed, at most by a second: it slows guessing down and never locks anybody out. Two names that share a slot
//! share its delay, which is all that can go wrong.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::limits;

#[derive(Clone, Copy, Default)]
struct Slot {
    failures: u32,
    /// The last one, ms since 1970 UTC.
    last_at: i64,
}

/// The slots. Locked for a moment, only by logins.
pub struct Guesses {
    slots: Mutex<Box<[Slot]>>,
    /// Random in every process, so that nobody can aim at a slot.
    hasher: RandomState,
}

impl Default for Guesses {
    fn default() -> Self {
        let slots = vec![Slot::default(); limits::GUESS_SLOTS].into_boxed_slice();
        Self { slots: Mutex::new(slots), hasher: RandomState::new() }
    }
}

impl Guesses {
    /// How long an answer has to wait.
    #[must_use]
    pub fn delay(&self, username: &str, address: Option<IpAddr>, now_ms: i64) -> Duration {
        let slots = self.slots();
        let failures = self.places(username, address).map(|place| failures(slots[place], now_ms));
        let beyond = failures[0].max(failures[1]).saturating_sub(limits::GUESSES_FREE_MAX);
        let delay_ms = if beyond == 0 { 0 } else { 50 << beyond.min(16) };
        Duration::from_millis(limits::GUESS_DELAY_MS_MAX.min(delay_ms))
    }

    /// Counts a wrong login.
    pub fn failed(&self, username: &str, address: Option<IpAddr>, now_ms: i64) {
        let mut slots = self.slots();
        for place in self.places(username, address) {
            let failures = failures(slots[place], now_ms).saturating_add(1);
            slots[place] = Slot { failures, last_at: now_ms };
        }
    }

    /// Forgets the wrong logins of a name whose owner has come.
    pub fn succeeded(&self, username: &str) {
        let [name, _] = self.places(username, None);
        self.slots()[name] = Slot::default();
    }

    /// The places of the name and the address.
    fn places(&self, username: &str, address: Option<IpAddr>) -> [usize; 2] {
        let place = |hash: u64| (hash % limits::GUESS_SLOTS as u64) as usize;
        // A network gives its customer a whole /64; its addresses count as one.
        let network = address.map(|address| match address.to_canonical() {
            IpAddr::V4(address) => u64::from(address.to_bits()),
            IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
        });
        [
            place(self.hasher.hash_one(("name", username))),
            place(self.hasher.hash_one(("address", network))),
        ]
    }

    fn slots(&self) -> MutexGuard<'_, Box<[Slot]>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failures(slot: Slot, now_ms: i64) -> u32 {
    if now_ms.saturating_sub(slot.last_at) > limits::GUESS_MEMORY_MS { 0 } else { slot.failures }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessing_becomes_slow_and_nobody_is_locked_out() {
        let guesses = Guesses::default();
        let address = Some(IpAddr::from([203, 0, 113, 5]));
        let delay_ms = |now_ms| guesses.delay("admin", address, now_ms).as_millis();
        for (failures, expected) in [(0, 0), (5, 0), (6, 100), (7, 200), (9, 800), (1_000, 1_000)] {
            guesses.succeeded("admin");
            *guesses.slots() = vec![Slot::default(); limits::GUESS_SLOTS].into_boxed_slice();
            for _ in 0..failures {
                guesses.failed("admin", address, 1_000);
            }
            assert_eq!(delay_ms(1_000), expected, "after {failures}");
        }
        assert_eq!(delay_ms(1_001 + limits::GUESS_MEMORY_MS), 0, "wrong logins are forgotten");
    }

    #[test]
    fn a_name_is_slowed_down_from_everywhere_until_its_owner_comes() {
        let guesses = Guesses::default();
        for host in 0..50 {
            guesses.failed("admin", Some(IpAddr::from([198, 51, 100, host])), 0);
        }
        let home = Some(IpAddr::from([203, 0, 113, 5]));
        assert_eq!(guesses.delay("admin", home, 0).as_millis(), 1_000);
        guesses.succeeded("admin");
        assert!(guesses.delay("admin", home, 0).as_millis() < 1_000);
    }
}
