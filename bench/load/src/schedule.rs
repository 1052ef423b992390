//! The schedule of an open loop: when each connection sends, fixed before the first request. A connection that is late
//! sends at once and catches up; latencies count from the scheduled moment, so a server that stalls cannot hide it.

use std::time::{Duration, Instant};

/// The moments at which one connection sends, each `interval` after the last.
pub struct Schedule {
    next: Instant,
    interval: Duration,
    end: Instant,
}

impl Schedule {
    /// Of connection `index` of `connections` that share `rate` requests a second evenly from `start` to before `end`.
    pub fn new(start: Instant, end: Instant, rate: f64, connections: usize, index: usize) -> Self {
        let interval = Duration::from_secs_f64(connections as f64 / rate);
        let next = start + interval.mul_f64(index as f64 / connections as f64);
        Self { next, interval, end }
    }
}

impl Iterator for Schedule {
    type Item = Instant;

    fn next(&mut self) -> Option<Instant> {
        let now = self.next;
        self.next += self.interval;
        (now < self.end).then_some(now)
    }
}
