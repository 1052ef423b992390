//! The writing end: claim room, fill it in place, publish. No allocation, no lock, no system call.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Shared;
use super::group::{Announced, Pending};
use super::layout::{RECORD_HEAD_BYTES, RecordHead, WRAP, record_bytes};

/// There is no room for the record now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The one producer of a ring.
pub struct Producer {
    pub(super) shared: Arc<Shared>,
    /// Bytes ever written; the shared copy follows when a record is published.
    head: u64,
    /// Only where acknowledging waits for the disk.
    pub(super) announced: Option<Announced>,
}

/// How full a ring is, seen from outside.
pub struct Gauge {
    shared: Arc<Shared>,
}

impl Gauge {
    /// The used part, 0 to 1.
    #[must_use]
    pub fn fill(&self) -> f64 {
        // The tail first: it only grows, so the difference is never negative.
        let tail = self.shared.tail.load(Ordering::Acquire);
        let head = self.shared.head.load(Ordering::Relaxed);
        (head.saturating_sub(tail) as f64 / self.shared.file.capacity() as f64).min(1.0)
    }
}

impl Producer {
    pub(super) fn new(shared: Arc<Shared>, head: u64) -> Self {
        Self { shared, head, announced: None }
    }

    /// Appends a record of `length` bytes that `fill` writes in place; returns its sequence.
    ///
    /// # Errors
    /// [`Full`], and then `fill` was not called.
    pub fn push(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Result<u64, Full> {
        let shared = &*self.shared;
        let capacity = shared.file.capacity();
        let need = record_bytes(length);
        let offset = (self.head % capacity as u64) as usize;
        let to_end = capacity - offset;
        let skip = if need > to_end { to_end } else { 0 };
        // Acquire: what the consumer did with the bytes it released is done before we write them again.
        let used = (self.head - shared.tail.load(Ordering::Acquire)) as usize;
        if length >= WRAP as usize || used + skip + need > capacity {
            return Err(Full);
        }
        // Only this end stores it.
        let sequence = shared.published.load(Ordering::Relaxed) + 1;
        let start = if skip == 0 { offset } else { 0 };
        let record = shared.file.write(start, RECORD_HEAD_BYTES + length);
        let (head_bytes, payload) = record.split_at_mut(RECORD_HEAD_BYTES);
        fill(payload);
        head_bytes.copy_from_slice(&RecordHead::of(sequence, payload).bytes());
        if skip >= RECORD_HEAD_BYTES {
            let marker = RecordHead { length: WRAP, ..RecordHead::of(sequence, &[]) };
            shared.file.write(offset, RECORD_HEAD_BYTES).copy_from_slice(&marker.bytes());
        }
        self.head += (skip + need) as u64;
        // Release: a consumer that sees the new numbers sees the whole record.
        shared.head.store(self.head, Ordering::Release);
        shared.published.store(sequence, Ordering::Release);
        Ok(sequence)
    }

    /// Bytes that are free; a record needs a little more than its length, and may need an end that it skips.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.capacity_bytes() - (self.head - self.shared.tail.load(Ordering::Relaxed)) as usize
    }

    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.shared.file.capacity()
    }

    /// For those who only look.
    #[must_use]
    pub fn gauge(&self) -> Gauge {
        Gauge { shared: Arc::clone(&self.shared) }
    }

    /// What was pushed so far, to be waited for before it is acknowledged; `None` when being published is enough.
    pub fn pending(&self) -> Option<Pending> {
        let announced = self.announced.clone()?;
        Some(Pending { announced, sequence: self.shared.published.load(Ordering::Relaxed) })
    }
}
