//! The reading end: peek at what is published, release what is done with. The released position is stored in the
//! header so that the next start knows where to begin; it may lag, never lead.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::layout::{RECORD_HEAD_BYTES, RELEASED_AT, RecordHead, Released, WRAP, record_bytes};
use super::recover::Found;
use super::{Durability, Shared, SyncFailed};

/// Fewer bytes are not worth a call.
const FORGET_BYTES_MIN: u64 = 1 << 20;

/// The one consumer of a ring.
pub struct Consumer {
    shared: Arc<Shared>,
    ring_id: u64,
    /// Bytes ever released, and the last released sequence.
    tail: u64,
    released_sequence: u64,
    /// Up to here the pages are out of our memory.
    forgotten: u64,
    /// Which of the two places in the header is written next.
    slot: usize,
    /// Without syncing every released position before its room is used again, a loss of power could leave an old
    /// position that points at room which was written anew, and the walk would find nothing.
    durability: Durability,
}

impl Consumer {
    pub(super) fn new(
        shared: Arc<Shared>,
        ring_id: u64,
        found: Found,
        durability: Durability,
    ) -> Self {
        let mut consumer = Self {
            shared,
            ring_id,
            tail: found.tail,
            released_sequence: found.released_sequence,
            forgotten: found.tail,
            slot: 0,
            durability,
        };
        // Both places hold the position now, whichever was valid before.
        consumer.store_released();
        consumer.store_released();
        consumer
    }

    /// The random id the file got when it was made.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.ring_id
    }

    /// After opening and before the producer is used: drops what the database has already. When the database knows
    /// more than the file (power was lost), numbering goes on above it.
    ///
    /// # Errors
    /// As [`Consumer::release`].
    pub fn skip_committed(&mut self, committed_sequence: u64) -> Result<(), SyncFailed> {
        let last = self.shared.published.load(Ordering::Acquire);
        self.release(committed_sequence.min(last))?;
        if committed_sequence > last {
            self.shared.published.store(committed_sequence, Ordering::Release);
            self.released_sequence = committed_sequence;
            self.store_released();
            self.sync_released()?;
        }
        Ok(())
    }

    /// Flushes the whole file to the disk.
    pub(super) fn sync_all(&self) -> io::Result<()> {
        self.shared.file.sync_all()
    }

    /// Records that are published and not released.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.shared.published.load(Ordering::Acquire) - self.released_sequence
    }

    #[must_use]
    pub fn used_bytes(&self) -> usize {
        (self.shared.head.load(Ordering::Acquire) - self.tail) as usize
    }

    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.shared.file.capacity()
    }

    /// The oldest waiting records in order, at most `records_max` and about `bytes_max` (at least one).
    pub fn peek(&self, records_max: usize, bytes_max: usize) -> impl Iterator<Item = (u64, &[u8])> {
        let last = self.shared.published.load(Ordering::Acquire);
        let (mut position, mut sequence, mut bytes) = (self.tail, self.released_sequence, 0usize);
        std::iter::from_fn(move || {
            if sequence == last || bytes >= bytes_max {
                return None;
            }
            sequence += 1;
            let (start, length, next) = self.record(position);
            position = next;
            bytes += length;
            Some((sequence, self.shared.file.read(start + RECORD_HEAD_BYTES, length)))
        })
        .take(records_max)
    }

    /// Offset and length of the record at a position, and the position behind it. The record is published.
    fn record(&self, position: u64) -> (usize, usize, u64) {
        let capacity = self.shared.file.capacity();
        let offset = (position % capacity as u64) as usize;
        let to_end = capacity - offset;
        let head = |at| RecordHead::read(self.shared.file.read(at, RECORD_HEAD_BYTES));
        let wraps = to_end < RECORD_HEAD_BYTES || head(offset).length == WRAP;
        let (start, skip) = if wraps { (0, to_end) } else { (offset, 0) };
        let length = head(start).length as usize;
        (start, length, position + (skip + record_bytes(length)) as u64)
    }

    /// Takes what was written since the last call out of the process's memory, if it is worth a call to the kernel:
    /// a ring that fills up costs disk, not memory.
    pub fn forget_waiting(&mut self) {
        let head = self.shared.head.load(Ordering::Acquire);
        if head - self.forgotten >= FORGET_BYTES_MIN {
            self.shared.file.forget(self.forgotten, head);
            // The last page is still being written.
            self.forgotten = head.saturating_sub(4096).max(self.forgotten);
        }
    }

    /// Frees everything up to and including `sequence`; a sequence that is not waiting changes nothing.
    ///
    /// # Errors
    /// When the position cannot be synced: then no room is freed, and the ring must not be used any more.
    pub fn release(&mut self, sequence: u64) -> Result<(), SyncFailed> {
        let last = self.shared.published.load(Ordering::Acquire);
        if sequence <= self.released_sequence || sequence > last {
            return Ok(());
        }
        let from = self.tail;
        while self.released_sequence < sequence {
            self.tail = self.record(self.tail).2;
            self.released_sequence += 1;
        }
        self.store_released();
        self.sync_released()?;
        // Reading has brought them back.
        self.shared.file.forget(from, self.tail);
        // Release: our reads of these bytes come before the producer's writes.
        self.shared.tail.store(self.tail, Ordering::Release);
        Ok(())
    }

    fn sync_released(&self) -> Result<(), SyncFailed> {
        match self.durability {
            Durability::Process => Ok(()),
            Durability::Power => self.shared.file.sync_header().map_err(SyncFailed),
        }
    }

    fn store_released(&mut self) {
        let released = Released { position: self.tail, sequence: self.released_sequence };
        self.shared.file.write_header(RELEASED_AT[self.slot], &released.bytes());
        self.slot = 1 - self.slot;
    }
}
