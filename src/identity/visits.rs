//! The visits that are going on: a fixed table of session → (start, last activity), shared by all workers without a
//! lock. It is a cache: a session pushed out by many others, or a restart, starts a new visit; nothing else depends
//! on it. Buckets of four slots of eight bytes; with as many live sessions as slots a few in a hundred are pushed out.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits;

const WAYS: usize = 4;
const BUCKETS: usize = limits::VISIT_SLOTS / WAYS;
/// Minutes are kept modulo 2^20 (two years), the rest of the word tells sessions of a bucket apart.
const MINUTE_BITS: u32 = 20;
const MINUTE_MASK: u32 = (1 << MINUTE_BITS) - 1;
const IDLE_MINUTES: u32 = (limits::VISIT_IDLE_MS / 60_000) as u32;

const _: () = assert!(BUCKETS.is_power_of_two());

#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    started: u32,
    last: u32,
}

impl Slot {
    fn unpack(word: u64) -> Self {
        Self {
            tag: (word >> (2 * MINUTE_BITS)) as u32,
            started: (word >> MINUTE_BITS) as u32 & MINUTE_MASK,
            last: word as u32 & MINUTE_MASK,
        }
    }

    fn pack(self) -> u64 {
        u64::from(self.tag) << (2 * MINUTE_BITS)
            | u64::from(self.started & MINUTE_MASK) << MINUTE_BITS
            | u64::from(self.last & MINUTE_MASK)
    }

    /// Minutes since the last activity, modulo the table's range.
    fn idle(self, now: u32) -> u32 {
        now.wrapping_sub(self.last) & MINUTE_MASK
    }
}

/// The table.
pub struct Visits(Box<[AtomicU64]>);

impl Default for Visits {
    fn default() -> Self {
        Self((0..limits::VISIT_SLOTS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Visits {
    /// Activity of a session now (minutes since 1970): the minute in which its visit started, which is now when none
    /// is going on.
    pub fn touch(&self, session_id: u64, now: u32) -> u32 {
        self.update(session_id, now, now)
    }

    /// The same for a visit whose start is known from its token.
    pub fn seed(&self, session_id: u64, started: u32, now: u32) {
        self.update(session_id, started, now);
    }

    fn update(&self, session_id: u64, started_if_new: u32, now: u32) -> u32 {
        let first = (session_id as usize % BUCKETS) * WAYS;
        let bucket = &self.0[first..first + WAYS];
        // 24 bits that the bucket's index does not use; never 0, which marks an empty slot.
        let tag = (session_id >> 40) as u32 | 1;
        loop {
            let mut victim = (0, 0, 0);
            let mut found = None;
            for (way, slot) in bucket.iter().enumerate() {
                let word = slot.load(Ordering::Relaxed);
                let visit = Slot::unpack(word);
                if word != 0 && visit.tag == tag {
                    found = Some((way, word, visit));
                    break;
                }
                let idle = if word == 0 { u32::MAX } else { visit.idle(now) };
                if way == 0 || idle > victim.2 {
                    victim = (way, word, idle);
                }
            }
            let (way, old, started) = match found {
                // A clock that went back a little gives a huge idle time; then the visit goes on as well.
                Some((way, word, visit))
                    if visit.idle(now) <= IDLE_MINUTES || visit.idle(now) > MINUTE_MASK / 2 =>
                {
                    // The nearest minute that reads as the stored one; it may be a little after `now`.
                    let age = now.wrapping_sub(visit.started) & MINUTE_MASK;
                    let wrapped = if age > MINUTE_MASK / 2 { MINUTE_MASK + 1 } else { 0 };
                    (way, word, now.wrapping_sub(age).wrapping_add(wrapped))
                }
                Some((way, word, _)) => (way, word, started_if_new),
                None => (victim.0, victim.1, started_if_new),
            };
            let new = Slot { tag, started, last: now }.pack();
            if new == old
                || bucket[way]
                    .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
            {
                return started;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u32 = 29_540_000;

    #[test]
    fn a_visit_goes_on_while_there_is_activity() {
        let visits = Visits::default();
        assert_eq!(visits.touch(5, NOW), NOW);
        assert_eq!(visits.touch(5, NOW + 30), NOW);
        assert_eq!(visits.touch(5, NOW + 60), NOW);
        assert_eq!(visits.touch(5, NOW + 91), NOW + 91);
        assert_eq!(visits.touch(6 << 40, NOW), NOW, "another session of the same bucket");
        assert_eq!(visits.touch(5, NOW + 92), NOW + 91);
    }

    #[test]
    fn a_full_bucket_forgets_the_one_idle_for_longest() {
        let visits = Visits::default();
        for session in 0..5u64 {
            visits.touch(session << 41, NOW + session as u32);
        }
        assert_eq!(visits.touch(1 << 41, NOW + 6), NOW + 1);
        assert_eq!(visits.touch(0, NOW + 7), NOW + 7, "the first one was forgotten");
    }

    #[test]
    fn parallel_first_hits_are_one_visit() {
        let visits = Visits::default();
        let starts: Vec<u32> = std::thread::scope(|scope| {
            let touch = |minute: u32| visits.touch(9, NOW + minute % 2);
            let threads: Vec<_> = (0..10).map(|n| scope.spawn(move || touch(n))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(starts.iter().all(|start| *start == starts[0]), "{starts:?}");
    }
}
