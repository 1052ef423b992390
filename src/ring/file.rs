//! Creates, locks and opens a ring file. Creation is safe against a kill: a file appears under its name complete or not
//! at all. The lock keeps other processes out for as long as the file is open.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::layout::{HEADER_BYTES, Header};
use crate::mapped;

/// A mapped, locked ring file.
pub struct RingFile {
    map: mapped::Shared,
    /// Holds the lock.
    _file: File,
    /// In place of the real one, in tests of what a loss of power takes.
    #[cfg(test)]
    pub disk: Option<super::power_tests::Disk>,
}

/// Makes a complete ring file appear at `path`: built and synced under another name, then renamed.
///
/// # Errors
/// Also when the disk cannot hold it in full.
pub fn create(path: &Path, capacity_bytes: usize) -> io::Result<()> {
    let capacity = (capacity_bytes & !4095).max(4096);
    let aside = path.with_extension("ring.new");
    if aside.exists() {
        fs::remove_file(&aside)?;
    }
    let file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&aside)?;
    if let Err(error) = mapped::preallocate(&file, HEADER_BYTES + capacity) {
        fs::remove_file(&aside)?;
        return Err(error);
    }
    let mut id = [0; 8];
    getrandom::fill(&mut id).map_err(io::Error::other)?;
    let mut page = vec![0; HEADER_BYTES];
    let header = Header { ring_id: u64::from_le_bytes(id).max(1), capacity: capacity as u64 };
    header.write(&mut page);
    file.write_all_at(&page, 0)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

impl RingFile {
    /// Locks and maps an existing file.
    ///
    /// # Errors
    /// When another process has it, or it is too short to be a ring.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        file.try_lock().map_err(|_| io::Error::other("another process uses it"))?;
        let length = file.metadata()?.len() as usize;
        if length < HEADER_BYTES + 4096 {
            return Err(io::Error::other("it is too short"));
        }
        Ok(Self {
            map: mapped::Shared::map(&file, length)?,
            _file: file,
            #[cfg(test)]
            disk: None,
        })
    }

    /// Bytes for records.
    pub fn capacity(&self) -> usize {
        self.map.len() - HEADER_BYTES
    }

    /// The header page; read before both ends exist.
    pub fn header(&self) -> &[u8] {
        self.map.read(0, HEADER_BYTES)
    }

    /// Writes into the header page; called by the consumer alone.
    pub fn write_header(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= HEADER_BYTES);
        self.map.write(at, bytes.len()).copy_from_slice(bytes);
    }

    /// Published bytes, for the consumer (or for the walk before both ends exist).
    pub fn read(&self, offset: usize, length: usize) -> &[u8] {
        self.map.read(HEADER_BYTES + offset, length)
    }

    /// Free bytes, for the producer.
    #[allow(clippy::mut_from_ref)]
    pub fn write(&self, offset: usize, length: usize) -> &mut [u8] {
        self.map.write(HEADER_BYTES + offset, length)
    }

    /// Lets go of the memory (not the bytes) between two positions, which may lie a lap apart.
    pub fn forget(&self, from: u64, to: u64) {
        for (offset, length) in self.ranges(from, to) {
            self.map.forget(offset, length);
        }
    }

    /// Flushes what was written between two positions, which may lie a lap apart, to the disk.
    ///
    /// # Errors
    /// As the disk says.
    pub fn sync(&self, from: u64, to: u64) -> io::Result<()> {
        let mut ranges = self.ranges(from, to).into_iter();
        ranges.try_for_each(|(offset, length)| self.flush(offset, length))
    }

    /// Offset in the file and length of the one or two pieces between two positions.
    fn ranges(&self, from: u64, to: u64) -> [(usize, usize); 2] {
        let capacity = self.capacity();
        let offset = (from % capacity as u64) as usize;
        let length = (to - from).min(capacity as u64) as usize;
        let to_end = length.min(capacity - offset);
        [(HEADER_BYTES + offset, to_end), (HEADER_BYTES, length - to_end)]
    }

    /// Flushes the header page to the disk.
    ///
    /// # Errors
    /// As the disk says.
    pub fn sync_header(&self) -> io::Result<()> {
        self.flush(0, HEADER_BYTES)
    }

    /// Flushes the whole file to the disk.
    ///
    /// # Errors
    /// As the disk says.
    pub fn sync_all(&self) -> io::Result<()> {
        self.flush(0, self.map.len())
    }

    fn flush(&self, at: usize, length: usize) -> io::Result<()> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            return disk.flush(self.map.read(0, self.map.len()), at, length);
        }
        if length == 0 { Ok(()) } else { self.map.flush(at, length) }
    }
}
