//! Admission before any work: a rate, room in the ring, and room for large bodies. Refusing is a feature: it allocates
//! nothing, takes no lock, and says when to come back.
//!
//! The rate is a generic cell rate algorithm in one atomic: the time at which the next request would be on schedule.
//! Requests may run ahead of it by `BURST_NS`. Up to half of that everybody is admitted before the body is read. The
//! other half is for websites below their fair share of the rate, which is known once the body is read: so a flood
//! of one website is refused before a neighbour's page view. Each website has a schedule of its own in a fixed array,
//! at the rate divided by the websites that are active. Two websites may share a place; they then share a share.
//!
//! Invariant: no more requests are admitted than the rate and one burst. A batch counts as its messages, but keeps
//! others waiting for `DEBT_NS` at most.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use crate::{clock, limits};

/// How far requests may run ahead of the schedule, in nanoseconds: a quarter of a second's worth.
const BURST_NS: u64 = 250_000_000;
/// How far any request may, without a look at its website.
const FREE_NS: u64 = BURST_NS / 2;
/// How far a website may run ahead of its own schedule and be below its share; or this many requests.
const SHARE_NS: u64 = 100_000_000;
const SHARE_REQUESTS: u64 = 16;
/// How far a batch may move the schedule ahead.
const DEBT_NS: u64 = 1_000_000_000;
/// Websites are active when they were admitted in this period or the one before.
const PERIOD_NS: u64 = 1_000_000_000;

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

/// What a request may do, before its website is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticket {
    /// It is on the schedule.
    Paid,
    /// It is tight: the website decides.
    ByWebsite,
    /// Part of a request that is admitted: is admitted too.
    Part,
}

/// Shared by all workers.
pub struct Gate {
    started: Instant,
    /// Nanoseconds between two requests at the admitted rate.
    interval_ns: AtomicU64,
    /// When the next request is on schedule, in nanoseconds since `started`.
    next_ns: AtomicU64,
    bodies_bytes: AtomicUsize,
    /// The same for each website, at its share of the rate; by the website's key.
    websites_ns: Box<[AtomicU64]>,
    /// When the period began, the websites seen since, and those of the period before.
    period_ns: AtomicU64,
    active: AtomicU64,
    active_before: AtomicU64,
}

impl Gate {
    /// `rate`: requests per second, at least 1.
    #[must_use]
    pub fn new(rate: u64) -> Self {
        let websites_ns = std::iter::repeat_with(AtomicU64::default).take(limits::SHARE_SLOTS);
        Self {
            started: clock::instant(),
            interval_ns: AtomicU64::new(interval_ns(rate)),
            next_ns: AtomicU64::new(0),
            bodies_bytes: AtomicUsize::new(0),
            websites_ns: websites_ns.collect(),
            period_ns: AtomicU64::new(0),
            active: AtomicU64::new(0),
            active_before: AtomicU64::new(0),
        }
    }

    /// A new rate, in requests per second, from now on.
    pub fn set_rate(&self, rate: u64) {
        self.interval_ns.store(interval_ns(rate), Relaxed);
    }

    /// Admits one request, or leaves that to its website.
    pub fn admit(&self) -> Ticket {
        self.admit_at(self.now_ns())
    }

    /// Takes a request's place on the schedule, now that its website is known.
    ///
    /// # Errors
    /// [`Refusal::Rate`] when it is tight and the website has had its share, or the burst is used up.
    pub fn settle(&self, ticket: Ticket, website_key: u32) -> Result<(), Refusal> {
        self.settle_at(self.now_ns(), ticket, website_key)
    }

    fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    fn admit_at(&self, now_ns: u64) -> Ticket {
        if self.schedule(now_ns, FREE_NS) { Ticket::Paid } else { Ticket::ByWebsite }
    }

    fn settle_at(&self, now_ns: u64, ticket: Ticket, website_key: u32) -> Result<(), Refusal> {
        let place = &self.websites_ns[website_key as usize % self.websites_ns.len()];
        let next_ns = place.load(Relaxed);
        let step_ns =
            self.interval_ns.load(Relaxed).saturating_mul(self.active_websites(now_ns, next_ns));
        let share_ns = SHARE_NS.max(step_ns.saturating_mul(SHARE_REQUESTS));
        match ticket {
            Ticket::Paid => {}
            Ticket::Part => _ = self.schedule(now_ns, DEBT_NS),
            Ticket::ByWebsite => {
                let below_share = next_ns.saturating_sub(now_ns) <= share_ns;
                if !below_share || !self.schedule(now_ns, BURST_NS) {
                    return Err(Refusal::Rate);
                }
            }
        }
        // A race loses one request's step, no more; a long debt would outlast the flood.
        let next_ns = next_ns.max(now_ns).saturating_add(step_ns);
        place.store(next_ns.min(now_ns.saturating_add(2 * share_ns)), Relaxed);
        Ok(())
    }

    /// Puts one request on the schedule, if that is not further ahead than `ahead_ns`.
    fn schedule(&self, now_ns: u64, ahead_ns: u64) -> bool {
        let interval_ns = self.interval_ns.load(Relaxed);
        let placed = self.next_ns.fetch_update(Relaxed, Relaxed, |next| {
            let start = next.max(now_ns);
            (start - now_ns <= ahead_ns).then(|| start.saturating_add(interval_ns))
        });
        placed.is_ok()
    }

    /// How many websites share the rate. One that was last on schedule before the period began is counted as new.
    fn active_websites(&self, now_ns: u64, website_next_ns: u64) -> u64 {
        let began_ns = self.period_ns.load(Relaxed);
        let over = now_ns.saturating_sub(began_ns) >= PERIOD_NS;
        if over && self.period_ns.compare_exchange(began_ns, now_ns, Relaxed, Relaxed).is_ok() {
            self.active_before.store(self.active.swap(0, Relaxed), Relaxed);
        }
        if website_next_ns <= self.period_ns.load(Relaxed) {
            self.active.fetch_add(1, Relaxed);
        }
        self.active.load(Relaxed).max(self.active_before.load(Relaxed)).max(1)
    }

    /// Takes room for a body that did not come in one piece; it is given back when the permit is dropped.
    ///
    /// # Errors
    /// [`Refusal::Bodies`] when the open bodies use all there is.
    pub fn body(&self, bytes: usize) -> Result<BodyPermit<'_>, Refusal> {
        let taken = self.bodies_bytes.fetch_update(Relaxed, Relaxed, |used| {
            (used + bytes <= limits::BODIES_IN_FLIGHT_BYTES_MAX).then_some(used + bytes)
        });
        taken.map(|_| BodyPermit { gate: self, bytes }).map_err(|_| Refusal::Bodies)
    }
}

fn interval_ns(rate: u64) -> u64 {
    1_000_000_000 / rate.max(1)
}

/// Room for one body.
pub struct BodyPermit<'g> {
    gate: &'g Gate,
    bytes: usize,
}

impl Drop for BodyPermit<'_> {
    fn drop(&mut self) {
        self.gate.bodies_bytes.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn send(gate: &Gate, now_ns: u64, website: u32) -> bool {
        gate.settle_at(now_ns, gate.admit_at(now_ns), website).is_ok()
    }

    #[test]
    fn one_website_alone_has_the_rate_and_the_burst_and_recovers() {
        let gate = Gate::new(1_000);
        let admitted = |now: u64| (0..1_000).filter(|_| send(&gate, now, 1)).count();
        let burst = admitted(0);
        assert!((126..=251).contains(&burst), "{burst}");
        assert_eq!(admitted(0), 0, "nothing more at the same moment");
        let ten_seconds: usize = (1..=1_000).map(|n| admitted(n * 10 * MS)).sum();
        assert!((9_900..=10_130).contains(&ten_seconds), "{ten_seconds}");
        let rested = admitted(60_000 * MS);
        assert_eq!(rested, burst, "a rest gives one burst, not a minute's worth");
    }

    #[test]
    fn a_flood_is_refused_and_its_quiet_neighbours_are_not() {
        let gate = Gate::new(1_000);
        let (mut loud, mut quiet) = (0, 0);
        for ms in 0..5_000_u32 {
            loud += (0..50).filter(|_| send(&gate, u64::from(ms) * MS, 1)).count();
            // Ten neighbours with 20 events a second each.
            if ms % 5 == 0 {
                let neighbour = 2 + ms / 5 % 10;
                quiet += usize::from(send(&gate, u64::from(ms) * MS, neighbour));
            }
        }
        assert_eq!(quiet, 1_000, "all of the quiet ones");
        assert!((3_900..=4_260).contains(&loud), "what is left is the loud one's: {loud}");
    }

    #[test]
    fn a_quiet_website_may_send_several_at_once_among_many() {
        let gate = Gate::new(10_000);
        for ms in 0..3_000_u32 {
            (0..50).for_each(|_| _ = send(&gate, u64::from(ms) * MS, 0));
            (0..2).for_each(|n| _ = send(&gate, u64::from(ms) * MS, 1 + (ms * 2 + n) % 2_000));
        }
        assert!((0..SHARE_REQUESTS).all(|_| send(&gate, 3_000 * MS, 3_000)));
    }

    #[test]
    fn equal_websites_share_equally_and_none_exceeds_the_rate() {
        let gate = Gate::new(1_000);
        let mut admitted = [0_u64; 4];
        for ms in 0..10_000_u32 {
            for n in 0..40 {
                let website = (ms + n) % 4;
                admitted[website as usize] += u64::from(send(&gate, u64::from(ms) * MS, website));
            }
        }
        assert!(admitted.iter().sum::<u64>() <= 10_251, "{admitted:?}");
        assert!(admitted.iter().all(|count| (2_000..=3_000).contains(count)), "{admitted:?}");
    }

    #[test]
    fn a_batch_is_admitted_whole_and_pays_for_its_parts() {
        let gate = Gate::new(1_000);
        assert_eq!(gate.admit_at(0), Ticket::Paid);
        assert!(gate.settle_at(0, Ticket::Paid, 1).is_ok());
        assert!((0..999).all(|_| gate.settle_at(0, Ticket::Part, 1).is_ok()));
        assert!(!send(&gate, 700 * MS, 2), "a second's worth was taken");
        assert!(send(&gate, 900 * MS, 2));
        let slow = Gate::new(10);
        assert!((0..999).all(|_| slow.settle_at(0, Ticket::Part, 1).is_ok()));
        assert!(!send(&slow, 500 * MS, 2) && send(&slow, 1_000 * MS, 2), "a second, no more");
    }

    #[test]
    fn a_new_rate_holds_from_now_on() {
        let gate = Gate::new(1_000);
        gate.set_rate(100);
        while send(&gate, 0, 1) {}
        let admitted: usize = (1..=100).map(|n| usize::from(send(&gate, n * 20 * MS, 1))).sum();
        assert!((98..=100).contains(&admitted), "{admitted}");
        gate.set_rate(0);
        assert!(send(&gate, 60_000 * MS, 1), "the gate is never closed for ever");
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
