//! The bytes of a ring file: header, released positions, record heads. Pure functions over byte slices, so that the
//! format can be tested without a file. Changing any of it needs a new `FORMAT`.

/// First bytes of every ring file.
const MAGIC: [u8; 8] = *b"SUMIRING";
const FORMAT: u32 = 1;
/// Bytes before the first record: one page.
pub const HEADER_BYTES: usize = 4096;
/// Bytes before a record's payload: length, crc, sequence.
pub const RECORD_HEAD_BYTES: usize = 16;
/// Records start at multiples of this.
pub const ALIGN: usize = 8;
/// The length that says: the next record is at offset 0.
pub const WRAP: u32 = u32::MAX;
/// Where the two released positions stand: cache lines of their own.
pub const RELEASED_AT: [usize; 2] = [64, 128];
/// Offset, sequence, crc.
pub const RELEASED_BYTES: usize = 20;

const _: () = assert!(HEADER_BYTES.is_multiple_of(4096) && RECORD_HEAD_BYTES.is_multiple_of(ALIGN));
const _: () = assert!(RELEASED_AT[0] >= 36 && RELEASED_AT[1] >= RELEASED_AT[0] + RELEASED_BYTES);

/// What never changes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub ring_id: u64,
    pub capacity: u64,
}

impl Header {
    /// Writes the header and a released position of zero.
    pub fn write(&self, page: &mut [u8]) {
        page[..8].copy_from_slice(&MAGIC);
        page[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        page[12..16].fill(0);
        page[16..24].copy_from_slice(&self.ring_id.to_le_bytes());
        page[24..32].copy_from_slice(&self.capacity.to_le_bytes());
        let crc = crc32fast::hash(&page[..32]);
        page[32..36].copy_from_slice(&crc.to_le_bytes());
        let start = Released { position: 0, sequence: 0 };
        page[RELEASED_AT[0]..][..RELEASED_BYTES].copy_from_slice(&start.bytes());
    }

    /// `None` when this is not a ring of this format.
    pub fn read(page: &[u8]) -> Option<Self> {
        let whole = page[..8] == MAGIC && u32_at(page, 8) == FORMAT;
        let valid = whole && u32_at(page, 32) == crc32fast::hash(&page[..32]);
        valid.then(|| Self { ring_id: u64_at(page, 16), capacity: u64_at(page, 24) })
    }
}

/// How far the consumer has released: bytes since the first lap, and the last released sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    pub position: u64,
    pub sequence: u64,
}

impl Released {
    pub fn bytes(&self) -> [u8; RELEASED_BYTES] {
        let mut bytes = [0; RELEASED_BYTES];
        bytes[..8].copy_from_slice(&self.position.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..16]);
        bytes[16..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let valid = u32_at(bytes, 16) == crc32fast::hash(&bytes[..16]);
        valid.then(|| Self { position: u64_at(bytes, 0), sequence: u64_at(bytes, 8) })
    }

    /// The newest valid one of the two in a header page; zero when both are torn, which one write cannot do.
    pub fn newest(page: &[u8]) -> Self {
        let read = |at: usize| Self::read(&page[at..][..RELEASED_BYTES]);
        let found = RELEASED_AT.into_iter().filter_map(read).max_by_key(|found| found.sequence);
        found.unwrap_or(Self { position: 0, sequence: 0 })
    }
}

/// The 16 bytes before a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHead {
    pub length: u32,
    pub crc: u32,
    pub sequence: u64,
}

impl RecordHead {
    pub fn of(sequence: u64, payload: &[u8]) -> Self {
        let length = payload.len() as u32;
        Self { length, crc: crc(length, sequence, payload), sequence }
    }

    pub fn bytes(&self) -> [u8; RECORD_HEAD_BYTES] {
        let mut bytes = [0; RECORD_HEAD_BYTES];
        bytes[..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.crc.to_le_bytes());
        bytes[8..].copy_from_slice(&self.sequence.to_le_bytes());
        bytes
    }

    pub fn read(bytes: &[u8]) -> Self {
        Self { length: u32_at(bytes, 0), crc: u32_at(bytes, 4), sequence: u64_at(bytes, 8) }
    }

    pub fn fits(&self, payload: &[u8]) -> bool {
        self.crc == crc(self.length, self.sequence, payload)
    }
}

fn crc(length: u32, sequence: u64, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(&sequence.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

/// Bytes of a record in the ring.
pub fn record_bytes(payload_bytes: usize) -> usize {
    (RECORD_HEAD_BYTES + payload_bytes).next_multiple_of(ALIGN)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_and_any_flipped_bit_is_noticed() {
        let header = Header { ring_id: 7, capacity: 8192 };
        let mut page = vec![0; HEADER_BYTES];
        header.write(&mut page);
        assert_eq!(Header::read(&page), Some(header));
        for at in (0..12).chain(16..36) {
            let mut torn = page.clone();
            torn[at] ^= 1;
            assert_eq!(Header::read(&torn), None, "byte {at}");
        }
    }

    #[test]
    fn the_newest_valid_released_position_counts() {
        let mut page = vec![0; HEADER_BYTES];
        Header { ring_id: 1, capacity: 4096 }.write(&mut page);
        let (old, new) =
            (Released { position: 8, sequence: 1 }, Released { position: 16, sequence: 2 });
        page[RELEASED_AT[0]..][..RELEASED_BYTES].copy_from_slice(&old.bytes());
        page[RELEASED_AT[1]..][..RELEASED_BYTES].copy_from_slice(&new.bytes());
        assert_eq!(Released::newest(&page), new);
        page[RELEASED_AT[1] + 3] ^= 1;
        assert_eq!(Released::newest(&page), old);
    }
}
