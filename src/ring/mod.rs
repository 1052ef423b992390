//! The ring: durable bytes between the intake and the writer. It knows nothing of events, HTTP or SQL.
//!
//! # What it is
//!
//! One file per HTTP worker, of fixed size, with real blocks behind every byte, mapped shared into memory. One
//! producer appends records, one consumer reads and releases them. The queue is the journal: what was published is
//! in the file, so an event that was answered 200 survives the death of the process.
//!
//! # The file
//!
//! ```text
//! 0        4096                                                          4096 + capacity
//! | header | record | record | … | wrap marker | (unused)                               |
//!
//! header   0  magic (8)  format (4)  zero (4)  ring id (8)  capacity (8)  crc of these (4)
//!          64 released position A: offset (8)  sequence (8)  crc (4)
//!          128 released position B: the same
//! record   length (4)  crc (4)  sequence (8)  payload (length), padded to 8 bytes
//! wrap     length = 0xFFFF_FFFF, crc and sequence of the record that follows at offset 0
//! ```
//!
//! All integers are little-endian. `crc` covers length, sequence and payload. A record never crosses the end: where
//! it does not fit, a wrap marker stands (or fewer than 16 bytes are left, which says the same) and it begins at 0.
//! Sequences start at 1 and count records of this ring, for ever; a record of an earlier lap is recognised by its
//! smaller sequence, so nothing needs to be erased.
//!
//! # Positions
//!
//! * `head`: where the next record goes, and its sequence. Owned by the producer, in memory only; on opening it is
//!   found by walking.
//! * `tail`: the oldest record that was not released. Owned by the consumer; stored in the header, alternating
//!   between two places, so that a torn write leaves the older one.
//!
//! `used = head - tail` counts bytes including padding and the unused end of a lap; a push that would make it
//! larger than the capacity is refused with [`Full`]. So the producer never writes a byte that the consumer may
//! still read, and the consumer never reads one that the producer may still write: that is the whole argument for
//! the shared mapping (`src/mapped.rs`) being free of races. Head moves
//! with release ordering after the record is complete, tail with release ordering after the consumer is done with it.
//!
//! # Exactly once
//!
//! Claim: an acknowledged record becomes a row exactly once, whatever ends the process and whenever. It rests on
//! three facts, each in one place:
//!
//! 1. *Acknowledged means kept.* The answer is sent after `push` has returned, and with [`Durability::Power`] after
//!    the flush that covers the record has ([`GroupSync`]).
//! 2. *Rows and cursor are one.* The writer commits a batch and its `committed_sequence` in one transaction of the
//!    database, which syncs its log before it says so (`src/store/append.rs`).
//! 3. *Room is given back last.* The writer releases after the commit; with `Power` the released position is synced
//!    before the room behind it is used again.
//!
//! Where a record can be when everything stops:
//!
//! * *claimed, not published*: nobody was answered. Its bytes are not whole, or whole by chance of the moment; the
//!   walk on opening ends before it or takes it: once or not at all, and both are right.
//! * *published, not committed*: its sequence is above the cursor, and no row exists, since rows and cursor are one
//!   (2). It is in the file (1), at or behind `tail` (3), so the walk reaches it and it is handed out again.
//! * *committed, not released*: the cursor is at or above it: [`Consumer::skip_committed`] drops it. Its row exists
//!   once.
//! * *released*: its row exists, and it is behind `tail`.
//!
//! There is no fourth state between two of these, because each step is one store or one commit. What differs between
//! crashes is only what the file and the database look like afterwards:
//!
//! * **Death of the process** (`kill -9`, out of memory, a panic, an abort inside the engine): the kernel holds the
//!   pages of a shared mapping whatever becomes of the process, so the file is as the last store left it. The
//!   database replays its log and has whole transactions only.
//! * **An engine that fails and lives on**: the commit did not happen or its outcome is unknown. Nothing is released,
//!   the process ends or opens everything anew, and the cursor then says which it was.
//! * **Loss of power, `Power`**: the file has what was flushed, and of the pages written since any subset. All
//!   acknowledged records lie between the released position on the disk and the last flush: the position was synced
//!   before room in front of it was written anew (3), so the walk passes over whole records up to the last
//!   acknowledged one at least. The database may know more than the file (it commits what is published, flushed or
//!   not); numbering then goes on above it, and this jump is synced too, so that no sequence is used twice.
//! * **Loss of power, `Process`**: what the kernel had not written is lost, and nothing else: the walk ends at the
//!   first record whose crc or sequence does not fit, and the cursor keeps what is committed from being handed out
//!   again.
//! * **A disk that fails to flush**: nothing is acknowledged or released after it, the process ends and says so. A
//!   second flush proves nothing, since the kernel may have dropped what it could not write.
//!
//! A record that was lost before anyone acknowledged it may turn up at a later start, when pages of two lives mix. It
//! was never committed, so it becomes a row once or not at all, like any record whose sender got no answer.
//!
//! # Faults that are provoked in the tests
//!
//! A record torn at any byte; a bit flipped in any record; either released position torn; the process ending at any
//! point between claim and publish; at every flush a random subset of unflushed pages written, lost or torn between
//! sectors (`power_tests.rs`, which also holds that deliberate mistakes are noticed); a flush that fails; a file of
//! another program or a newer format; a file of another capacity; a second process opening the same file.

mod consumer;
mod file;
mod group;
mod layout;
#[cfg(test)]
mod power_tests;
mod producer;
mod recover;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use consumer::Consumer;
pub use group::{GroupSync, Pending, SyncFailed};
pub use producer::{Full, Gauge, Producer};

/// What an acknowledged record survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process: the kernel holds what is published.
    Process,
    /// The loss of power too: whoever pushed waits for [`Pending::synced`].
    Power,
}

impl Durability {
    /// By the word in the settings: `process` or `power`.
    #[must_use]
    pub fn from_setting(word: &str) -> Self {
        if word == "power" { Self::Power } else { Self::Process }
    }
}

/// Why a ring cannot be opened.
#[derive(Debug)]
pub enum RingError {
    /// The file cannot be created, locked or mapped; a full disk shows here, not later.
    Io(PathBuf, io::Error),
    /// The file is not a ring, or of a newer format.
    Foreign(PathBuf),
}

impl std::fmt::Display for RingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "cannot use the ring {}: {error}", path.display()),
            Self::Foreign(path) => write!(
                f,
                "{} is not a ring of this version: start the version that wrote it once, or move it away \
                 (its waiting events would be lost)",
                path.display()
            ),
        }
    }
}

impl std::error::Error for RingError {}

/// What both ends share: the mapping and how far each has come, in bytes since the file's first lap began.
struct Shared {
    file: file::RingFile,
    /// Bytes ever written, padding included; `head % capacity` is the offset of the next record.
    head: AtomicU64,
    /// Bytes ever released, likewise.
    tail: AtomicU64,
    /// Records ever published: the last sequence.
    published: AtomicU64,
}

/// Opens the ring at `path`, creating it with `capacity_bytes` (rounded down to whole pages) when there is none.
/// An existing file keeps its own capacity: drain it, remove it, and open again to change it.
///
/// # Errors
/// See [`RingError`].
pub fn open(
    path: &Path,
    capacity_bytes: usize,
    durability: Durability,
) -> Result<(Producer, Consumer), RingError> {
    let fault = |error| RingError::Io(path.to_owned(), error);
    if !path.exists() {
        file::create(path, capacity_bytes).map_err(fault)?;
    }
    let file = file::RingFile::open(path).map_err(fault)?;
    let header = layout::Header::read(file.header())
        .filter(|header| header.capacity == file.capacity() as u64)
        .ok_or_else(|| RingError::Foreign(path.to_owned()))?;
    let found = recover::walk(&file, layout::RecordHead::fits);
    begin(file, header.ring_id, found, durability).map_err(fault)
}

/// Both ends of a file in which `found` is all that is believed.
fn begin(
    file: file::RingFile,
    ring_id: u64,
    found: recover::Found,
    durability: Durability,
) -> io::Result<(Producer, Consumer)> {
    let shared = Arc::new(Shared {
        file,
        head: AtomicU64::new(found.head),
        tail: AtomicU64::new(found.tail),
        published: AtomicU64::new(found.last_sequence),
    });
    let producer = Producer::new(Arc::clone(&shared), found.head);
    let consumer = Consumer::new(shared, ring_id, found, durability);
    if durability == Durability::Power {
        // Whatever an earlier life left unsynced, from here on the disk knows where to begin.
        consumer.sync_all()?;
    }
    Ok((producer, consumer))
}
