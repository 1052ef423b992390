//! Files mapped into memory: the only unsafe code of the program. It offers safe views of bytes and leaves to its
//! users what the bytes mean.
//!
//! Two kinds. A [`Shared`] mapping belongs to a ring (`src/ring/mod.rs` says why its two ends never touch the same byte
//! at the same time). A [`read_only`] one is somebody else's data file.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use memmap2::{Mmap, MmapOptions, MmapRaw, UncheckedAdvice};

/// Gives a file real blocks for its whole length, so that no later write can meet a full disk.
///
/// # Errors
/// When the disk cannot hold it.
pub fn preallocate(file: &File, length: usize) -> io::Result<()> {
    // SAFETY: the descriptor is open for the length of the call, which touches no memory of ours.
    let status = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length as libc::off_t) };
    if status == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(status)) }
}

/// Maps a data file for reading.
///
/// # Errors
/// When it cannot be opened or mapped.
pub fn read_only(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    // SAFETY: the map is only read, by readers that check every offset; a file that is replaced by renaming, as
    // updaters do, leaves the mapped one as it is.
    unsafe { Mmap::map(&file) }
}

/// A file mapped shared, for one writer and one reader of disjoint ranges.
pub struct Shared(MmapRaw);

impl Shared {
    /// Maps `length` bytes of a file that is at least as long.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn map(file: &File, length: usize) -> io::Result<Self> {
        Ok(Self(MmapOptions::new().len(length).map_raw(file)?))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Bytes that nobody writes while the view lives; the caller knows why.
    pub fn read(&self, offset: usize, length: usize) -> &[u8] {
        assert!(offset + length <= self.len());
        // SAFETY: the range is inside the mapping (asserted), which lives as long as `self`. Nobody writes it while the
        // view lives: a ring's producer writes free ranges only, and ranges become free through `&mut Consumer`, whose
        // views borrow it.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(offset), length) }
    }

    /// Bytes that nobody else reads or writes while the view lives; the caller knows why.
    #[allow(clippy::mut_from_ref)]
    pub fn write(&self, offset: usize, length: usize) -> &mut [u8] {
        assert!(offset + length <= self.len());
        // SAFETY: the range is inside the mapping (asserted). It is free or the consumer's own header slot: one
        // producer, which holds one view at a time (`push` takes `&mut Producer`), and one consumer, likewise.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().add(offset), length) }
    }

    /// Takes the whole pages of a range out of this process's memory. Their bytes stay in the file (and in the
    /// kernel's cache), and come back when they are touched.
    pub fn forget(&self, offset: usize, length: usize) {
        let page = 4096;
        let (from, to) = (offset.next_multiple_of(page), (offset + length) & !(page - 1));
        if from >= to || to > self.len() {
            return;
        }
        // SAFETY: the mapping is shared and backed by a file, for which this advice changes where bytes are and not
        // what they are, whoever reads or writes them meanwhile.
        let advised =
            unsafe { self.0.unchecked_advise_range(UncheckedAdvice::DontNeed, from, to - from) };
        // Advice that is not taken costs memory, nothing else.
        drop(advised);
    }

    /// Flushes a range to the disk.
    ///
    /// # Errors
    /// As the disk says.
    pub fn flush(&self, offset: usize, length: usize) -> io::Result<()> {
        self.0.flush_range(offset, length)
    }
}
