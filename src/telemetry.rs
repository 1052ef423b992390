//! What the server counts about itself. Plain atomics, written from anywhere, read by `/api/heartbeat` and
//! `/metrics`. Nothing here identifies a visitor, and nothing here takes a lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows, or a gauge that is set.
#[derive(Default)]
pub struct Number(AtomicU64);

impl Number {
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// All counters and gauges of the process.
#[derive(Default)]
pub struct Telemetry {
    /// Requests per second that the gate admits now.
    pub rate: Number,
    /// Events answered 200 that were put in a ring.
    pub admitted: Number,
    /// Requests refused because the rate was reached.
    pub refused_rate: Number,
    /// Requests refused because a ring was full.
    pub refused_ring: Number,
    /// Requests refused because too many large bodies were open.
    pub refused_bodies: Number,
    /// Requests refused because the disk has no room or has failed.
    pub refused_disk: Number,
    /// Events answered `beep boop`.
    pub bots: Number,
    /// Events dropped because of a block list.
    pub blocked: Number,
    /// Rows committed since the start.
    pub committed: Number,
    /// Transactions since the start.
    pub batches: Number,
    /// Time of the last commit, ms since 1970; 0 before the first.
    pub last_commit_at: Number,
    /// Records that the engine refused and that were set aside.
    pub set_aside: Number,
    /// Bytes of all rings, and how much of them is waiting.
    pub ring_capacity_bytes: Number,
    pub ring_used_bytes: Number,
    pub events_waiting: Number,
    /// Rounds of flushes that acknowledged events have waited for.
    pub syncs: Number,
    /// Bytes free on the disk, the reserve, and 1 while less than the reserve is free.
    pub disk_free_bytes: Number,
    pub disk_reserve_bytes: Number,
    pub disk_low: Number,
    /// What the engine says it uses, looked up after a commit.
    pub engine_bytes: Number,
    /// When the writer started the batch it is busy with, ms since 1970; 0 when it waits.
    pub writer_busy_since: Number,
    /// Commits that failed in a row; events wait in the ring meanwhile.
    pub writer_failures: Number,
    /// 1 when the engine or the disk has failed for good.
    pub engine_dead: Number,
}
