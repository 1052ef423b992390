//! Creates, locks, maps and syncs a ring file: the only unsafe code of the program. It offers its neighbours safe
//! views of bytes and leaves to them what the bytes mean.
//!
//! The rule that makes the views sound (see `mod.rs`): a byte range is either behind the head and not released, then
//! only the consumer reads it, or it is free, then only the producer writes it; the header's released positions are
//! written by the consumer alone. There is one `Producer` and one `Consumer` per file, and the file lock keeps other
//! processes out.
#![allow(unsafe_code)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use memmap2::{MmapOptions, MmapRaw};

use super::layout::{HEADER_BYTES, Header};

/// A mapped, locked ring file.
pub struct RingFile {
    map: MmapRaw,
    /// Holds the lock.
    _file: File,
}

/// Makes a complete ring file appear at `path`: built and synced under another name, then renamed.
///
/// # Errors
/// Also when the disk cannot hold it in full.
pub fn create(path: &Path, capacity_bytes: usize) -> io::Result<()> {
    let capacity = (capacity_bytes & !4095).max(4096);
    let aside = path.with_extension("ring.new");
    let _ = fs::remove_file(&aside);
    let file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&aside)?;
    let length = HEADER_BYTES + capacity;
    // SAFETY: the descriptor is open for the length of the call, which touches no memory of ours.
    let status = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length as libc::off_t) };
    if status != 0 {
        let _ = fs::remove_file(&aside);
        return Err(io::Error::from_raw_os_error(status));
    }
    let mut id = [0; 8];
    getrandom::fill(&mut id).map_err(io::Error::other)?;
    let mut page = vec![0; HEADER_BYTES];
    let header = Header { ring_id: u64::from_le_bytes(id).max(1), capacity: capacity as u64 };
    header.write(&mut page);
    std::os::unix::fs::FileExt::write_all_at(&file, &page, 0)?;
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
        let map = MmapOptions::new().len(length).map_raw(&file)?;
        Ok(Self { map, _file: file })
    }

    /// Bytes for records.
    pub fn capacity(&self) -> usize {
        self.map.len() - HEADER_BYTES
    }

    /// The header page. The caller is the one that opens, before both ends exist.
    pub fn header(&self) -> &[u8] {
        // SAFETY: the page is inside the mapping, which lives as long as `self`; while this view is used nobody
        // writes the page, as only the consumer does and it does not exist yet.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr(), HEADER_BYTES) }
    }

    /// Writes into the header page; called by the consumer alone.
    pub fn write_header(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= HEADER_BYTES);
        // SAFETY: the range is inside the header page (asserted); only the consumer writes there and no view of the
        // page exists after opening.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.map.as_mut_ptr().add(at),
                bytes.len(),
            );
        }
    }

    /// Published bytes, for the consumer (or for the walk before both ends exist).
    pub fn read(&self, offset: usize, length: usize) -> &[u8] {
        assert!(offset + length <= self.capacity());
        // SAFETY: the range is inside the mapping (asserted). It is published and not released, so the producer does
        // not write it while the view lives: a release needs `&mut Consumer`, and the view borrows the consumer.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().add(HEADER_BYTES + offset), length) }
    }

    /// Free bytes, for the producer.
    #[allow(clippy::mut_from_ref)]
    pub fn write(&self, offset: usize, length: usize) -> &mut [u8] {
        assert!(offset + length <= self.capacity());
        // SAFETY: the range is inside the mapping (asserted). It is free, so the consumer does not read it until it
        // is published, and there is one producer, which holds at most one such view at a time (`push` takes
        // `&mut Producer`).
        unsafe {
            std::slice::from_raw_parts_mut(self.map.as_mut_ptr().add(HEADER_BYTES + offset), length)
        }
    }

    /// Flushes the header page to the disk.
    ///
    /// # Errors
    /// As the disk says.
    pub fn sync_header(&self) -> io::Result<()> {
        self.map.flush_range(0, HEADER_BYTES)
    }

    /// Flushes the whole file to the disk.
    ///
    /// # Errors
    /// As the disk says.
    pub fn sync(&self) -> io::Result<()> {
        self.map.flush()
    }
}
