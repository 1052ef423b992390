//! Group commit: one thread flushes every ring in turn, and whoever pushed meanwhile waits for the flush that covers
//! it. So a thousand requests cost a few flushes, and no worker is held up: a request waits, its worker goes on.
//!
//! What must stay true: a sequence is announced only after the flush that covers its record came back without an
//! error; after a flush that failed nothing is announced any more, because the kernel may have thrown away what it
//! could not write, and a second flush that succeeds would prove nothing.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_channel::{Receiver, Sender, bounded};
use tokio::sync::watch;

use super::{Producer, Shared};

/// The disk has refused to keep what was written; nothing after it may be acknowledged.
#[derive(Debug)]
pub struct SyncFailed(pub io::Error);

impl std::fmt::Display for SyncFailed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the ring cannot be flushed to the disk: {}", self.0)
    }
}

impl std::error::Error for SyncFailed {}

/// Flushes the rings of the producers it was made for.
pub struct GroupSync {
    rings: Vec<Ring>,
    wanted: Receiver<()>,
}

struct Ring {
    shared: Arc<Shared>,
    /// Bytes ever written that are known to be on the disk.
    head: u64,
    /// The last sequence that is on the disk; closed after a failure.
    synced: watch::Sender<u64>,
}

/// A producer's view: what it waits for.
#[derive(Clone)]
pub(super) struct Announced {
    wanted: Sender<()>,
    synced: watch::Receiver<u64>,
}

/// A record that was pushed and may not be on the disk yet.
#[must_use]
pub struct Pending {
    pub(super) announced: Announced,
    pub(super) sequence: u64,
}

impl GroupSync {
    /// For producers whose rings were opened with [`super::Durability::Power`], before the first push.
    pub fn attach<'p>(producers: impl Iterator<Item = &'p mut Producer>) -> Self {
        // One token says that something waits; more would say the same.
        let (wanted, receiver) = bounded(1);
        let rings = producers.map(|producer| {
            let shared = Arc::clone(&producer.shared);
            let (synced, announced) = watch::channel(shared.published.load(Ordering::Acquire));
            producer.announced = Some(Announced { wanted: wanted.clone(), synced: announced });
            Ring { head: shared.head.load(Ordering::Acquire), shared, synced }
        });
        Self { rings: rings.collect(), wanted: receiver }
    }

    /// Flushes whenever somebody waits, until all producers are gone. `flushed` is called after each round.
    ///
    /// # Errors
    /// The first flush that failed; those who wait learn of it at the same moment.
    pub fn run(mut self, flushed: impl Fn()) -> Result<(), SyncFailed> {
        while self.wanted.recv().is_ok() {
            self.round()?;
            flushed();
        }
        Ok(())
    }

    /// Flushes what was published on each ring and announces it.
    ///
    /// # Errors
    /// As [`GroupSync::run`]; it must not be called again.
    pub fn round(&mut self) -> Result<(), SyncFailed> {
        for ring in &mut self.rings {
            // In this order: the head is then at least that of the sequence.
            let sequence = ring.shared.published.load(Ordering::Acquire);
            let head = ring.shared.head.load(Ordering::Acquire);
            if head > ring.head {
                ring.shared.file.sync(ring.head, head).map_err(SyncFailed)?;
                ring.head = head;
                ring.synced.send_replace(sequence);
            }
        }
        Ok(())
    }
}

impl Pending {
    /// Ends when the record is on the disk.
    ///
    /// # Errors
    /// When the disk has failed: the record may or may not be there after a loss of power.
    pub async fn synced(mut self) -> Result<(), SyncFailed> {
        let is_covered = |synced: &u64| *synced >= self.sequence;
        if is_covered(&self.announced.synced.borrow()) {
            return Ok(());
        }
        // Full: somebody else has asked, and the round that answers has not begun.
        let _ = self.announced.wanted.try_send(());
        let announced = self.announced.synced.wait_for(is_covered).await;
        announced.map(|_| ()).map_err(|_| SyncFailed(io::Error::other("it has failed before")))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::ring::{self, Durability};

    fn push(producer: &mut Producer) -> Pending {
        producer.push(8, |room| room.fill(7)).expect("has room");
        producer.pending().expect("must be waited for")
    }

    #[test]
    fn one_round_acknowledges_all_that_have_gathered_on_all_rings_and_none_before() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = |name: &str| {
            ring::open(&dir.path().join(name), 1 << 16, Durability::Power).expect("opens")
        };
        let (mut one, mut two) = (open("1.ring").0, open("2.ring").0);
        let mut group = GroupSync::attach([&mut one, &mut two].into_iter());
        let (early, gathered): (Vec<_>, Vec<_>) =
            (0..100).map(|_| (push(&mut one), push(&mut two))).unzip();
        assert!(early.into_iter().all(|pending| pending.synced().now_or_never().is_none()));
        assert_eq!(group.wanted.len(), 1, "all ask with one token");
        group.round().expect("flushes");
        for pending in gathered {
            assert!(matches!(pending.synced().now_or_never(), Some(Ok(()))));
        }
        assert!(push(&mut one).synced().now_or_never().is_none(), "the next one waits again");
    }

    #[test]
    fn nobody_waits_where_being_published_is_enough() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("0.ring");
        let (producer, _consumer) = ring::open(&path, 1 << 16, Durability::Process).expect("opens");
        assert!(producer.pending().is_none());
    }

    #[test]
    fn who_waits_when_the_flusher_ends_learns_that_it_is_not_on_the_disk() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("0.ring");
        let (mut producer, _consumer) =
            ring::open(&path, 1 << 16, Durability::Power).expect("opens");
        let group = GroupSync::attach(std::iter::once(&mut producer));
        let waiting = push(&mut producer);
        drop(group);
        assert!(matches!(waiting.synced().now_or_never(), Some(Err(_))));
        assert!(matches!(push(&mut producer).synced().now_or_never(), Some(Err(_))));
    }
}
