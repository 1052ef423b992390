//! Records that could not become rows: the engine refuses them, or their version is not known. Kept in one file under
//! the data directory for a person or a later program, so that nothing that was answered is thrown away.
//!
//! What must stay true: a record is here, on the disk, before the ring lets go of it; it is here once, however often
//! it was tried and whatever killed the process between; what stood here at the start is counted again.
//!
//! The file: `length (4) crc (4) event id (8) record (length)`, little-endian, one after the other. The crc covers id
//! and record. An entry torn by a crash is cut off: its record is still in the ring.

use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::limits;

const HEAD_BYTES: usize = 16;

/// The file and what is known of it.
pub struct SetAside {
    path: PathBuf,
    /// Bytes of whole entries.
    length: u64,
    count: u64,
    /// Ids of entries whose records may still be in a ring.
    recent: HashSet<u64>,
}

impl SetAside {
    /// Reads what is there; nothing is created.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let path = dir.join("records");
        let mut found = Self { path, length: 0, count: 0, recent: HashSet::new() };
        let file = match File::open(&found.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            other => other?,
        };
        let mut file = BufReader::new(file);
        let mut record = Vec::new();
        while let Some(event_id) = read_entry(&mut file, &mut record)? {
            found.length += (HEAD_BYTES + record.len()) as u64;
            found.count += 1;
            found.recent.insert(event_id);
        }
        Ok(found)
    }

    /// Records that are kept.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Keeps a record, synced; one that is kept already changes nothing.
    ///
    /// # Errors
    /// When it cannot be written; then it must stay in the ring.
    pub fn keep(&mut self, event_id: u64, record: &[u8], why: &str) -> io::Result<()> {
        if self.recent.contains(&event_id) {
            return Ok(());
        }
        let dir = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&self.path)?;
        // What a torn write left behind the whole entries is written over.
        file.set_len(self.length)?;
        io::Seek::seek(&mut file, io::SeekFrom::Start(self.length))?;
        let mut entry = Vec::with_capacity(HEAD_BYTES + record.len());
        entry.extend_from_slice(&(record.len() as u32).to_le_bytes());
        entry.extend_from_slice(&crc(event_id, record).to_le_bytes());
        entry.extend_from_slice(&event_id.to_le_bytes());
        entry.extend_from_slice(record);
        file.write_all(&entry)?;
        file.sync_all()?;
        if self.length == 0 {
            // The names of a new file and of its directory.
            File::open(dir)?.sync_all()?;
            File::open(dir.parent().unwrap_or(dir))?.sync_all()?;
        }
        self.length += entry.len() as u64;
        self.count += 1;
        self.recent.insert(event_id);
        tracing::error!("an event was set aside in {}: {why}", self.path.display());
        Ok(())
    }

    /// Forgets the ids that no ring can hand out again.
    pub fn forget(&mut self, mut is_committed: impl FnMut(u64) -> bool) {
        self.recent.retain(|id| !is_committed(*id));
    }
}

/// The next whole entry's id, and its record in `record`; `None` at the end or where an entry is torn.
fn read_entry(file: &mut impl Read, record: &mut Vec<u8>) -> io::Result<Option<u64>> {
    let mut head = [0; HEAD_BYTES];
    if !read_whole(file, &mut head)? {
        return Ok(None);
    }
    let [length, wanted] = [0, 4].map(|at| {
        head[at..at + 4].iter().rev().fold(0u32, |number, byte| number << 8 | u32::from(*byte))
    });
    let event_id = head[8..].iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    if length as usize > limits::RECORD_BYTES_MAX {
        return Ok(None);
    }
    record.resize(length as usize, 0);
    let whole = read_whole(file, record)? && crc(event_id, record) == wanted;
    Ok(whole.then_some(event_id))
}

/// False when the file ends before.
fn read_whole(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        other => other.map(|()| true),
    }
}

fn crc(event_id: u64, record: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&event_id.to_le_bytes());
    hasher.update(record);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_kept_once_and_counted_after_a_restart() {
        let home = tempfile::tempdir().expect("a directory");
        let dir = home.path().join("set-aside");
        let mut set_aside = SetAside::open(&dir).expect("opens");
        assert!(!dir.exists(), "nothing is made before it is needed");
        for _ in 0..2 {
            set_aside.keep(7, b"first", "test").expect("is kept");
        }
        set_aside.keep(8, b"", "test").expect("is kept");
        assert_eq!(set_aside.count(), 2);

        let mut again = SetAside::open(&dir).expect("opens");
        assert_eq!(again.count(), 2);
        again.keep(7, b"first", "test").expect("is there");
        assert_eq!(again.count(), 2, "a crash before the ring let go of it does not double it");
        again.forget(|id| id == 7);
        again.keep(8, b"", "test").expect("is there");
        assert_eq!(again.count(), 2);
    }

    #[test]
    fn a_torn_entry_is_written_over() {
        let home = tempfile::tempdir().expect("a directory");
        let mut set_aside = SetAside::open(home.path()).expect("opens");
        set_aside.keep(1, b"whole", "test").expect("is kept");
        set_aside.keep(2, b"torn here", "test").expect("is kept");
        let path = home.path().join("records");
        let bytes = std::fs::read(&path).expect("reads");
        let first = HEAD_BYTES + b"whole".len();
        for cut in first..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).expect("writes");
            let mut again = SetAside::open(home.path()).expect("opens");
            assert_eq!(again.count(), 1, "cut at {cut}");
            again.keep(2, b"torn here", "test").expect("is kept");
            assert_eq!(std::fs::read(&path).expect("reads"), bytes, "cut at {cut}");
        }
    }
}
