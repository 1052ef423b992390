//! What to believe on opening a ring: start at the newest valid released position and walk forward while records are
//! whole and their sequences follow one another. Nothing behind the first one that does not fit is believed.

use super::file::RingFile;
use super::layout::{HEADER_BYTES, RECORD_HEAD_BYTES, RecordHead, Released, WRAP, record_bytes};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Bytes since the first lap: of the first record that waits, and behind the last one.
    pub tail: u64,
    pub head: u64,
    /// Sequence of the record before the first one that waits, and of the last one.
    pub released_sequence: u64,
    pub last_sequence: u64,
}

/// Whether a record's head belongs to its payload.
pub type Fits = fn(&RecordHead, &[u8]) -> bool;

/// Walks the file. `fits` says whether a record is whole.
pub fn walk(file: &RingFile, fits: Fits) -> Found {
    debug_assert_eq!(file.header().len(), HEADER_BYTES);
    let released = Released::newest(file.header());
    let capacity = file.capacity() as u64;
    let (mut position, mut sequence) = (released.position, released.sequence);
    while let Some(next) = step(file, fits, position, sequence + 1) {
        if next - released.position > capacity {
            break;
        }
        position = next;
        sequence += 1;
    }
    Found {
        tail: released.position,
        head: position,
        released_sequence: released.sequence,
        last_sequence: sequence,
    }
}

/// The position behind the record with this sequence, if it is whole and stands at `position` (or at the start of the
/// next lap).
fn step(file: &RingFile, fits: Fits, position: u64, sequence: u64) -> Option<u64> {
    let capacity = file.capacity();
    let offset = (position % capacity as u64) as usize;
    let to_end = capacity - offset;
    let wraps = to_end < RECORD_HEAD_BYTES || {
        let head = RecordHead::read(file.read(offset, RECORD_HEAD_BYTES));
        head.length == WRAP && head.sequence == sequence
    };
    let (start, skip) = if wraps { (0, to_end) } else { (offset, 0) };
    let head = RecordHead::read(file.read(start, RECORD_HEAD_BYTES));
    let length = head.length as usize;
    if head.sequence != sequence || length > capacity - start - RECORD_HEAD_BYTES {
        return None;
    }
    let payload = file.read(start + RECORD_HEAD_BYTES, length);
    fits(&head, payload).then(|| position + (skip + record_bytes(length)) as u64)
}
