//! How much room the disk has left, and what follows from it. Below a reserve nothing new is accepted, so that what
//! was accepted can still be stored; below a floor nothing is written at all, because the engine does not survive a
//! checkpoint that finds no room. Both end by themselves when there is room again. Questions go on throughout.
//!
//! What must stay true: accepting an event needs no room (the rings have their blocks since they were made); between
//! reserve and floor there is room for all that the rings can hold.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::limits;
use crate::telemetry::Telemetry;

/// Bytes that this process may still write on the disk of `dir`.
///
/// # Errors
/// When the system does not say.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(dir)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Watches the disk of one directory.
pub struct Disk {
    dir: PathBuf,
    reserve_bytes: u64,
    free_bytes: u64,
    is_low: bool,
    telemetry: Arc<Telemetry>,
}

impl Disk {
    /// `ring_bytes`: the capacity of all rings.
    #[must_use]
    pub fn new(dir: &Path, ring_bytes: u64, telemetry: Arc<Telemetry>) -> Self {
        let reserve_bytes = limits::DISK_RESERVE_BYTES + ring_bytes;
        telemetry.disk_reserve_bytes.set(reserve_bytes);
        let free_bytes = u64::MAX;
        Self { dir: dir.to_owned(), reserve_bytes, free_bytes, is_low: false, telemetry }
    }

    /// Looks anew, and tells the intake.
    pub fn look(&mut self) {
        // A disk that does not say is used until it refuses.
        self.note(free_bytes(&self.dir).unwrap_or(u64::MAX));
    }

    fn note(&mut self, free_bytes: u64) {
        self.free_bytes = free_bytes;
        // A little more to begin again than to go on, so that it does not change with every batch.
        let wanted = self.reserve_bytes + if self.is_low { self.reserve_bytes / 8 } else { 0 };
        let is_low = free_bytes < wanted;
        if is_low != self.is_low {
            let free_mb = free_bytes >> 20;
            if is_low {
                tracing::error!("{free_mb} MB are left on the disk: no more events are accepted");
            } else {
                tracing::warn!("{free_mb} MB are free on the disk again: events are accepted");
            }
        }
        self.is_low = is_low;
        self.telemetry.disk_free_bytes.set(free_bytes);
        self.telemetry.disk_low.set(u64::from(is_low));
    }

    /// Whether a batch and the checkpoint that it may cause have room.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.free_bytes >= limits::DISK_FLOOR_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_below_the_reserve_and_begins_again_a_little_above_it() {
        let telemetry = Arc::new(Telemetry::default());
        let mut disk = Disk::new(Path::new("."), 8 << 20, Arc::clone(&telemetry));
        let reserve = limits::DISK_RESERVE_BYTES + (8 << 20);
        assert!(disk.may_write(), "before the first look");
        for (free, is_low, may_write) in [
            (reserve, false, true),
            (reserve - 1, true, true),
            (reserve, true, true),
            (limits::DISK_FLOOR_BYTES - 1, true, false),
            (reserve + reserve / 8, false, true),
        ] {
            disk.note(free);
            let low = telemetry.disk_low.get() == 1;
            assert_eq!((low, disk.may_write()), (is_low, may_write), "{free}");
        }
    }

    #[test]
    fn the_system_says_how_much_is_free() {
        assert!(free_bytes(Path::new(".")).expect("it says") > 0);
        assert!(free_bytes(Path::new("./absent")).is_err());
    }
}
