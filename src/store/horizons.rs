//! How far lists reach that are read page by page. Who reads the first page sees what was stored then; the pages after
//! it must be of the same list, although events keep coming: else what was the last row of one page is the first of
//! the next. So for each reader of a list the last event of its first page is remembered for a while.
//!
//! It is a cache of fixed size, each list with one place: pushed out by another or too old, a list begins anew with the
//! page that is asked for, which is what happens without it.

use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::question::Question;
use crate::{clock, limits};

const PLACES: usize = limits::HORIZON_PLACES;

/// Which list, read by whom.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ListKey([u8; 32]);

impl ListKey {
    /// Of the login it is read with and the question, before anything of a page is bound to it.
    #[must_use]
    pub fn new(login: &str, question: &Question) -> Self {
        Self(Sha256::new().chain_update(question.key()).chain_update(login).finalize().into())
    }

    fn place(self) -> usize {
        usize::from(self.0[0]) << 8 | usize::from(self.0[1])
    }
}

#[derive(Clone, Copy)]
struct Slot {
    key: ListKey,
    horizon: i64,
    /// When it was last asked for, ms since 1970.
    used_at: i64,
}

/// The horizons of all lists.
pub struct Horizons(Mutex<Box<[Option<Slot>]>>);

impl Default for Horizons {
    fn default() -> Self {
        Self(Mutex::new(vec![None; PLACES].into_boxed_slice()))
    }
}

impl Horizons {
    /// How far the list reached when it was begun; `None` when nobody knows.
    #[must_use]
    pub fn of(&self, key: ListKey) -> Option<i64> {
        let now = clock::now_ms();
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots[key.place() % PLACES].as_mut().filter(|slot| slot.key == key)?;
        let is_fresh = (0..limits::HORIZON_MS_MAX).contains(&(now - slot.used_at));
        slot.used_at = now;
        is_fresh.then_some(slot.horizon)
    }

    /// Begins a list.
    pub fn remember(&self, key: ListKey, horizon: i64) {
        let slot = Slot { key, horizon, used_at: clock::now_ms() };
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots[key.place() % PLACES] = Some(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_known_until_another_takes_its_place() {
        let horizons = Horizons::default();
        let question = |text: &str| Question::new("SELECT $a").bind("a", text);
        let key = |text: &str| ListKey::new("a login", &question(text));
        assert_eq!(horizons.of(key("a")), None);
        horizons.remember(key("a"), 7);
        horizons.remember(key("b"), 8);
        assert_eq!((horizons.of(key("a")), horizons.of(key("b"))), (Some(7), Some(8)));
        horizons.remember(key("a"), 9);
        assert_eq!(horizons.of(key("a")), Some(9));
        assert_eq!(horizons.of(ListKey::new("another login", &question("a"))), None);
        for number in 0..10 * PLACES {
            horizons.remember(key(&number.to_string()), 1);
        }
        assert_eq!(horizons.of(key("a")), None);
    }

    #[test]
    fn a_list_that_nobody_reads_on_is_forgotten() {
        let horizons = Horizons::default();
        let key = ListKey::new("a login", &Question::new("SELECT 1"));
        horizons.remember(key, 7);
        let used_at = clock::now_ms() - limits::HORIZON_MS_MAX;
        let mut slots = horizons.0.lock().expect("a lock");
        slots.iter_mut().flatten().for_each(|slot| slot.used_at = used_at);
        drop(slots);
        assert_eq!(horizons.of(key), None);
    }
}
