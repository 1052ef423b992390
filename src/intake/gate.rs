//! Admission before any work and before the body is read: a rate, room in the ring, and room for large bodies.
//! Refusing is a feature: it costs a few nanoseconds, allocates nothing, and says when to come back.
//!
//! The rate is a generic cell rate algorithm in one atomic: the time at which the next request would be on schedule.
//! It allows a burst of `BURST_NS` and is shared by all workers without a lock.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use crate::{clock, limits};

/// How far requests may run ahead of the schedule, in nanoseconds: a quarter of a second's worth.
const BURST_NS: u64 = 250_000_000;

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Rate,
    RingFull,
    Bodies,
    /// The disk is full, or has failed.
    Disk,
}

impl Refusal {
    /// All there are, in order.
    pub const ALL: [Self; 4] = [Self::Rate, Self::RingFull, Self::Bodies, Self::Disk];

    /// The code in the answer's body.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Rate => "rate-limited",
            Self::RingFull | Self::Bodies => "busy",
            Self::Disk => "disk",
        }
    }
}

/// Shared by all workers.
pub struct Gate {
    started: Instant,
    /// Nanoseconds between two requests at the admitted rate.
    interval_ns: u64,
    /// When the next request is on schedule, in nanoseconds since `started`.
    next_ns: AtomicU64,
    bodies_bytes: AtomicUsize,
}

impl Gate {
    /// `rate`: requests per second, at least 1.
    #[must_use]
    pub fn new(rate: u64) -> Self {
        Self {
            started: clock::instant(),
            interval_ns: 1_000_000_000 / rate.max(1),
            next_ns: AtomicU64::new(0),
            bodies_bytes: AtomicUsize::new(0),
        }
    }

    /// Admits one request or refuses it.
    ///
    /// # Errors
    /// [`Refusal::Rate`] when the burst is used up.
    pub fn admit(&self) -> Result<(), Refusal> {
        self.admit_at(self.started.elapsed().as_nanos() as u64)
    }

    fn admit_at(&self, now_ns: u64) -> Result<(), Refusal> {
        let admitted = self.next_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            let start = next.max(now_ns);
            (start - now_ns <= BURST_NS).then_some(start + self.interval_ns)
        });
        admitted.map(|_| ()).map_err(|_| Refusal::Rate)
    }

    /// Takes room for a body that did not come in one piece; it is given back when the permit is dropped.
    ///
    /// # Errors
    /// [`Refusal::Bodies`] when the open bodies use all there is.
    pub fn body(&self, bytes: usize) -> Result<BodyPermit<'_>, Refusal> {
        let taken = self.bodies_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            (used + bytes <= limits::BODIES_IN_FLIGHT_BYTES_MAX).then_some(used + bytes)
        });
        taken.map(|_| BodyPermit { gate: self, bytes }).map_err(|_| Refusal::Bodies)
    }
}

/// Room for one body.
pub struct BodyPermit<'g> {
    gate: &'g Gate,
    bytes: usize,
}

impl Drop for BodyPermit<'_> {
    fn drop(&mut self) {
        self.gate.bodies_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admits_its_rate_after_the_burst_and_recovers() {
        let gate = Gate::new(1_000);
        let admitted = |now: u64| (0..1_000).filter(|_| gate.admit_at(now).is_ok()).count();
        assert_eq!(admitted(0), 251, "the burst");
        assert_eq!(admitted(0), 0, "nothing more at the same moment");
        assert_eq!(admitted(10_000_000), 10, "ten more after ten milliseconds");
        assert_eq!(admitted(60_000_000_000), 251, "a rest gives one burst, not a minute's worth");
    }

    #[test]
    fn bodies_give_their_room_back() {
        let gate = Gate::new(1);
        let all = gate.body(limits::BODIES_IN_FLIGHT_BYTES_MAX).ok();
        assert!(all.is_some());
        assert_eq!(gate.body(1).err(), Some(Refusal::Bodies));
        drop(all);
        assert!(gate.body(1).is_ok());
    }
}
