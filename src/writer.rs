//! The batch loop: look at the rings, take a full batch or what has waited long enough, append and commit it with
//! the cursors in one transaction, and only then release the slots. One thread, the only one that appends.
//!
//! Invariants: a record is released only after its row is committed or it was set aside on disk; a record that the
//! engine refuses never blocks those behind it; when the engine itself fails, nothing is released and it is said so.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::disk::Disk;
use crate::event::Event;
use crate::ring::{Consumer, SyncFailed};
use crate::set_aside::SetAside;
use crate::store::Store;
use crate::store::append::{Append, Cursor};
use crate::telemetry::Telemetry;
use crate::{clock, limits, priority};

/// Owns the reading ends of all rings.
pub struct Writer {
    append: Append,
    rings: Vec<Ring>,
    telemetry: Arc<Telemetry>,
    set_aside: SetAside,
    disk: Disk,
}

struct Ring {
    consumer: Consumer,
    cursor: Cursor,
}

impl Writer {
    /// Takes the rings, and drops from them what the store has already.
    ///
    /// # Errors
    /// When the cursors or the records set aside cannot be read.
    pub fn new(
        store: &Store,
        consumers: Vec<Consumer>,
        telemetry: Arc<Telemetry>,
        data_dir: &Path,
    ) -> Result<Self> {
        let set_aside_dir = data_dir.join("set-aside");
        let set_aside = SetAside::open(&set_aside_dir)
            .with_context(|| format!("cannot read {}", set_aside_dir.display()))?;
        let mut append = Append::new(store)?;
        let mut rings = Vec::with_capacity(consumers.len());
        for mut consumer in consumers {
            let cursor = append.cursor(consumer.id())?;
            consumer.skip_committed(cursor.committed_sequence)?;
            rings.push(Ring { consumer, cursor });
        }
        let capacity: usize = rings.iter().map(|ring| ring.consumer.capacity_bytes()).sum();
        telemetry.ring_capacity_bytes.set(capacity as u64);
        telemetry.set_aside.set(set_aside.count());
        let disk = Disk::new(data_dir, capacity as u64, Arc::clone(&telemetry));
        let mut writer = Self { append, rings, telemetry, set_aside, disk };
        writer.forget_committed();
        Ok(writer)
    }

    /// Commits until the sender of `stop` is dropped, then what is left, and checkpoints.
    ///
    /// # Errors
    /// When the engine has failed for good; what was not committed is still in the rings.
    pub fn run(mut self, stop: &Receiver<()>) -> Result<()> {
        priority::step_back();
        let mut patience = Patience::default();
        let mut failures = 0;
        let mut pause = Duration::ZERO;
        let mut probed_at = clock::instant();
        loop {
            let stopping = matches!(stop.recv_timeout(pause), Err(RecvTimeoutError::Disconnected));
            let waiting = self.measure();
            pause = Duration::from_millis(limits::WRITER_POLL_MS << failures.min(6));
            if probed_at.elapsed() >= Duration::from_millis(limits::ENGINE_PROBE_MS) {
                // A question may have met the fatal error, and no event may come for long.
                probed_at = clock::instant();
                self.append.probe().or_else(|error| self.unless_fatal(error))?;
            }
            if waiting == 0 {
                patience = Patience::default();
                if stopping {
                    break;
                }
                continue;
            }
            if !patience.is_over(waiting) && !stopping {
                continue;
            }
            match self.commit_batch() {
                Ok(()) => {
                    failures = 0;
                    patience = Patience::default();
                    pause = Duration::ZERO;
                }
                Err(error) if stopping && failures > 3 => {
                    return Err(error.context("events wait in the ring and cannot be stored now"));
                }
                Err(error) => {
                    failures += 1;
                    tracing::error!("cannot commit, events wait in the ring: {error:#}");
                    self.unless_fatal(error)?;
                }
            }
            self.telemetry.writer_failures.set(failures);
        }
        if self.disk.may_write() { self.append.checkpoint() } else { Ok(()) }
    }

    /// Passes over an error after which the engine can still be used.
    fn unless_fatal(&self, error: anyhow::Error) -> Result<()> {
        if !is_fatal(&error) {
            return Ok(());
        }
        self.telemetry.engine_dead.set(1);
        Err(error.context("events can no longer be stored"))
    }

    /// Commits everything that waits; used before the server listens. False when the disk has no room for it yet.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn drain(&mut self) -> Result<bool> {
        while self.measure() > 0 {
            if !self.disk.may_write() {
                return Ok(false);
            }
            self.commit_batch()?;
        }
        Ok(true)
    }

    /// Updates the gauges; returns the records that wait.
    fn measure(&mut self) -> u64 {
        self.disk.look();
        for ring in &mut self.rings {
            ring.consumer.forget_waiting();
        }
        let waiting = self.rings.iter().map(|ring| ring.consumer.waiting()).sum();
        let used: usize = self.rings.iter().map(|ring| ring.consumer.used_bytes()).sum();
        self.telemetry.events_waiting.set(waiting);
        self.telemetry.ring_used_bytes.set(used as u64);
        waiting
    }

    /// One batch; when the engine refuses it, halves of it, down to the record that is at fault.
    fn commit_batch(&mut self) -> Result<()> {
        ensure!(self.disk.may_write(), "the disk is full");
        self.telemetry.writer_busy_since.set(clock::now_ms() as u64);
        let mut records_max = limits::BATCH_RECORDS_MAX;
        let outcome = loop {
            let (ends, records) = self.plan(records_max);
            match self.commit(&ends) {
                Ok(rows) => break Ok(rows),
                Err(error) if is_fatal(&error) || is_about_disk(&error) => break Err(error),
                Err(error) if records > 1 => {
                    tracing::warn!("a batch of {records} was refused, trying less: {error:#}");
                    records_max = records / 2;
                }
                Err(error) if is_about_memory(&error) => break Err(error),
                Err(error) => break self.set_aside(&ends, &error).map(|()| 0),
            }
        };
        self.telemetry.writer_busy_since.set(0);
        let rows = outcome?;
        self.telemetry.committed.add(rows);
        self.telemetry.batches.add(1);
        self.telemetry.last_commit_at.set(clock::now_ms() as u64);
        self.telemetry.engine_bytes.set(self.append.engine_bytes());
        self.measure();
        Ok(())
    }

    /// The last sequence to take from each ring (by index; rings with nothing are left out), and how many records.
    /// Rows of events are counted apart, so that a full batch fills a row group exactly; the rings take turns to be
    /// the first one that is emptied.
    fn plan(&self, records_max: usize) -> (Vec<(usize, u64)>, usize) {
        let (mut ends, mut records) = (Vec::with_capacity(self.rings.len()), 0);
        let (mut rows, mut bytes) = (0, 0);
        let first = self.telemetry.batches.get() as usize;
        for index in (0..self.rings.len()).map(|n| (first + n) % self.rings.len()) {
            let mut last = None;
            for (sequence, record) in self.rings[index].consumer.peek(usize::MAX, usize::MAX) {
                let row = usize::from(Event::is_row(record));
                let full = rows + row > limits::BATCH_ROWS_MAX || bytes > limits::BATCH_BYTES_MAX;
                if full || records == records_max {
                    break;
                }
                records += 1;
                rows += row;
                bytes += record.len();
                last = Some(sequence);
            }
            ends.extend(last.map(|last| (index, last)));
        }
        (ends, records)
    }

    fn commit(&mut self, ends: &[(usize, u64)]) -> Result<u64> {
        let cursors: Vec<Cursor> = self.cursors(ends);
        let (rings, set_aside) = (&self.rings, &mut self.set_aside);
        let unkept = RefCell::new(None);
        let events = ends.iter().flat_map(|&(index, last)| {
            let ring = &rings[index];
            let records = ring.consumer.peek(usize::MAX, usize::MAX);
            records
                .take_while(move |(sequence, _)| *sequence <= last)
                .map(move |(sequence, record)| (ring.cursor.event_id(sequence), record))
        });
        let events = events.filter_map(|(event_id, record)| match Event::decode(record) {
            Some(event) => Some((event_id, event)),
            None => {
                // Bytes of a version that this program does not know: kept for one that does.
                let kept = set_aside.keep(event_id, record, "the record cannot be read");
                kept.unwrap_or_else(|error| drop(unkept.replace(Some(error))));
                None
            }
        });
        let committed = self.append.commit(events, &cursors, || match unkept.take() {
            Some(error) => Err(error).context("a record cannot be set aside"),
            None => Ok(()),
        });
        let rows = match committed {
            Ok(rows) => rows,
            // An error may come after the commit, from what the engine does next.
            Err(error) if self.append.has_reached(&cursors) => {
                tracing::error!("a batch was committed with an error: {error:#}");
                0
            }
            Err(error) => return Err(error),
        };
        self.release(&cursors, ends)?;
        Ok(rows)
    }

    fn cursors(&self, ends: &[(usize, u64)]) -> Vec<Cursor> {
        let cursor = |&(index, last): &(usize, u64)| Cursor {
            committed_sequence: last,
            ..self.rings[index].cursor
        };
        ends.iter().map(cursor).collect()
    }

    fn release(&mut self, cursors: &[Cursor], ends: &[(usize, u64)]) -> Result<(), SyncFailed> {
        for (cursor, &(index, last)) in cursors.iter().zip(ends) {
            self.rings[index].cursor = *cursor;
            self.rings[index].consumer.release(last)?;
        }
        self.forget_committed();
        Ok(())
    }

    fn forget_committed(&mut self) {
        self.telemetry.set_aside.set(self.set_aside.count());
        let waits = |event_id| self.rings.iter().any(|ring| ring.cursor.is_before(event_id));
        self.set_aside.forget(|event_id| !waits(event_id));
    }

    /// Keeps the one record that the engine refuses, unless the engine refuses everything.
    fn set_aside(&mut self, ends: &[(usize, u64)], error: &anyhow::Error) -> Result<()> {
        let Some(&(index, last)) = ends.first() else { return Ok(()) };
        let unchanged = [self.rings[index].cursor];
        self.commit_cursors(&unchanged).context("nothing can be committed")?;
        let ring = &self.rings[index];
        if let Some((_, record)) = ring.consumer.peek(1, usize::MAX).next() {
            // First kept, then passed by: killed between the two, it is tried again and not kept twice.
            let event_id = ring.cursor.event_id(last);
            let kept = self.set_aside.keep(event_id, record, &format!("{error:#}"));
            kept.context("a record cannot be set aside")?;
        }
        let cursors = self.cursors(ends);
        self.commit_cursors(&cursors)?;
        self.release(&cursors, ends)?;
        Ok(())
    }

    fn commit_cursors(&mut self, cursors: &[Cursor]) -> Result<()> {
        self.append.commit(std::iter::empty(), cursors, || Ok(())).map(|_| ())
    }
}

/// Whether what waits is worth a transaction: a full row group at once, a few events soon, many a little later, since
/// the engine takes a full group twice as fast as its parts; and many at once when no more come.
#[derive(Default)]
struct Patience {
    since: Option<Instant>,
    /// How many waited when last looked at, and since when they are so many.
    waiting: u64,
    quiet_since: Option<Instant>,
}

impl Patience {
    fn is_over(&mut self, waiting: u64) -> bool {
        let now = clock::instant();
        if waiting != self.waiting {
            (self.waiting, self.quiet_since) = (waiting, Some(now));
        }
        let waited = |since: &mut Option<Instant>, ms: u64| {
            now - *since.get_or_insert(now) >= Duration::from_millis(ms)
        };
        match waiting {
            0..limits::BATCH_ROWS_FEW => waited(&mut self.since, limits::FLUSH_FEW_MS),
            limits::BATCH_ROWS_FEW..limits::BATCH_ROWS_FULL => {
                waited(&mut self.since, limits::FLUSH_MANY_MS)
                    || waited(&mut self.quiet_since, limits::FLUSH_QUIET_MS)
            }
            _ => true,
        }
    }
}

/// Whether the engine will refuse everything from now on until it is opened again.
fn is_fatal(error: &anyhow::Error) -> bool {
    if error.downcast_ref::<SyncFailed>().is_some() {
        return true;
    }
    let text = format!("{error:#}");
    text.contains("has been invalidated") || text.contains("FATAL")
}

/// Whether it is the disk that refuses, and not the record: it is tried again until there is room.
fn is_about_disk(error: &anyhow::Error) -> bool {
    let text = format!("{error:#}");
    error.root_cause().is::<std::io::Error>()
        || ["IO Error", "Could not write", "No space left"].iter().any(|sign| text.contains(sign))
}

/// Whether the engine had no memory for it just then.
fn is_about_memory(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("Out of Memory")
}
