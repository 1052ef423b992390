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
//! The writer commits rows and, in the same transaction, `committed_sequence`; only then it releases. After a crash:
//!
//! * not published: the client got no answer; the record is not whole and the walk ends before it;
//! * published, not committed: its sequence is above `committed_sequence`; it is handed out again, and no row exists;
//! * committed, not released: `skip_committed` drops it; its row exists once;
//! * released: it is behind `tail`.
//!
//! There is no moment between commit and release in which a crash could lose or double a record.
//!
//! # What survives which crash
//!
//! * **Death of the process** (`kill -9`, out of memory, a crash in the engine): everything published. The kernel
//!   holds the pages of a shared mapping whatever becomes of the process.
//! * **Loss of power**, with [`Durability::Power`]: what was flushed ([`GroupSync`]), since released positions are
//!   synced before their room is used again. Beyond that the disk may hold any
//!   subset of the pages written since. The walk then ends at the first record whose crc or sequence does not fit:
//!   records behind it are lost, none is ever wrong, doubled or out of order. If the database knows a higher
//!   sequence than the file, numbering goes on above it, so that no sequence is used twice.
//!
//! # Faults that are provoked in the tests
//!
//! A record torn at any byte; a bit flipped in any record; either released position torn; the process ending at any
//! point between claim and publish; a random subset of unsynced pages lost; a file of another program or a newer
//! format; a file of another capacity; a second process opening the same file.

mod consumer;
mod file;
mod group;
mod layout;
mod producer;
mod recover;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use consumer::Consumer;
pub use group::{GroupSync, Pending, SyncFailed};
pub use producer::{Full, Producer};

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
    let header =
        layout::Header::read(file.header()).ok_or_else(|| RingError::Foreign(path.to_owned()))?;
    if header.capacity != file.capacity() as u64 {
        return Err(RingError::Foreign(path.to_owned()));
    }
    let found = recover::walk(&file);
    let shared = Arc::new(Shared {
        file,
        head: AtomicU64::new(found.head),
        tail: AtomicU64::new(found.tail),
        published: AtomicU64::new(found.last_sequence),
    });
    let producer = Producer::new(Arc::clone(&shared), found.head);
    let consumer = Consumer::new(shared, header.ring_id, found, durability);
    if durability == Durability::Power {
        // Whatever an earlier life left unsynced, from here on the disk knows where to begin.
        consumer.sync_all().map_err(fault)?;
    }
    Ok((producer, consumer))
}
