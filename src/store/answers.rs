//! Questions that need not be asked: those whose answer is known and still true, and those that somebody is asking at
//! this moment. A question is the same when its statement and all values bound in it are; its answer is true while
//! the website's events are those it was given from (`versions`).
//!
//! What must stay true: only questions about the events of one website are remembered, never what configuration says;
//! all answers together keep no more than `limits::ANSWERS_BYTES_MAX`, the longest unused go first; a question that
//! several wait for is stopped only when the last of them has gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LinkedHashMap;
use tokio::sync::watch;

use super::question::Question;
use super::reader::StoreError;
use super::rows::Rows;
use super::versions::Versions;
use crate::limits;

/// What a question comes to.
pub type Outcome = Result<Arc<Rows>, StoreError>;

/// Says a question and all its values: a hash that nobody can aim at.
pub type Key = [u8; 32];

/// How a question will be answered.
pub enum Way {
    /// It is known.
    Known(Arc<Rows>),
    /// Somebody is asking it.
    Wait(Waiter),
    /// The caller asks it, and lands the flight with the outcome.
    Ask(Flight, Waiter),
}

/// What is known and what is being asked.
pub struct Answers {
    versions: Arc<Versions>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// The longest unused first.
    known: LinkedHashMap<Key, Known>,
    known_bytes: usize,
    flights: HashMap<Key, (u32, watch::Sender<Option<Outcome>>)>,
}

struct Known {
    version: u32,
    rows: Arc<Rows>,
}

impl Known {
    /// What it takes, with its place in the table.
    fn size(&self) -> usize {
        self.rows.size() + limits::ANSWER_OVERHEAD_BYTES
    }
}

impl Answers {
    #[must_use]
    pub fn new(versions: Arc<Versions>) -> Arc<Self> {
        Arc::new(Self { versions, table: Mutex::default() })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks whether the question must be asked.
    #[must_use]
    pub fn way(self: &Arc<Self>, question: &Question) -> Way {
        let Some(website_key) = question.about() else {
            let (sender, receiver) = watch::channel(None);
            let flight = Flight { answers: Arc::clone(self), place: None, sender };
            return Way::Ask(flight, Waiter(receiver));
        };
        let (key, version) = (question.key(), self.versions.of(website_key));
        let mut table = self.table();
        if let Some(rows) = table.known(&key, version) {
            return Way::Known(rows);
        }
        if let Some((asked_at, sender)) = table.flights.get(&key)
            && *asked_at == version
        {
            return Way::Wait(Waiter(sender.subscribe()));
        }
        let (sender, receiver) = watch::channel(None);
        // One that was asked of older events flies on without its place: those who wait for it know no better.
        table.flights.insert(key, (version, sender.clone()));
        drop(table);
        let flight = Flight { answers: Arc::clone(self), place: Some((key, version)), sender };
        Way::Ask(flight, Waiter(receiver))
    }
}

impl Table {
    fn known(&mut self, key: &Key, version: u32) -> Option<Arc<Rows>> {
        let known = self.known.to_back(key)?;
        (known.version == version).then(|| Arc::clone(&known.rows))
    }

    fn keep(&mut self, key: Key, known: Known) {
        if known.size() > limits::ANSWER_BYTES_MAX {
            return;
        }
        self.known_bytes += known.size();
        let replaced = self.known.insert(key, known);
        self.known_bytes -= replaced.map_or(0, |known| known.size());
        while self.known_bytes > limits::ANSWERS_BYTES_MAX {
            let Some((_, oldest)) = self.known.pop_front() else { return };
            self.known_bytes -= oldest.size();
        }
    }
}

/// A question being asked. Dropped before it has landed, it leaves those who wait without an answer.
pub struct Flight {
    answers: Arc<Answers>,
    /// Under which others find it.
    place: Option<(Key, u32)>,
    sender: watch::Sender<Option<Outcome>>,
}

impl Flight {
    /// Ends when nobody waits for the outcome any more; nobody can join from then on.
    pub async fn abandoned(&mut self) {
        loop {
            self.sender.closed().await;
            let answers = Arc::clone(&self.answers);
            let mut table = answers.table();
            if self.sender.receiver_count() == 0 {
                self.leave(&mut table);
                return;
            }
        }
    }

    /// Gives the outcome to all who wait, and keeps it for those who come.
    pub fn land(mut self, outcome: Outcome) {
        let answers = Arc::clone(&self.answers);
        let mut table = answers.table();
        if let (Some((key, version)), Ok(rows)) = (self.place, &outcome) {
            table.keep(key, Known { version, rows: Arc::clone(rows) });
        }
        self.leave(&mut table);
        drop(table);
        self.sender.send_replace(Some(outcome));
    }

    fn leave(&mut self, table: &mut Table) {
        let Some((key, _)) = self.place.take() else { return };
        if table.flights.get(&key).is_some_and(|(_, sender)| sender.same_channel(&self.sender)) {
            table.flights.remove(&key);
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let answers = Arc::clone(&self.answers);
        self.leave(&mut answers.table());
    }
}

/// Somebody who waits for an outcome.
pub struct Waiter(watch::Receiver<Option<Outcome>>);

impl Waiter {
    /// The outcome; busy when the process ends before there is one.
    pub async fn outcome(mut self) -> Outcome {
        let landed = self.0.wait_for(Option::is_some).await;
        landed.ok().and_then(|outcome| outcome.clone()).unwrap_or(Err(StoreError::Busy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text_bytes: usize) -> Arc<Rows> {
        let connection = duckdb::Connection::open_in_memory().expect("opens");
        let mut statement = connection.prepare("SELECT repeat('x', ?)").expect("prepares");
        let mut rows = statement.query([text_bytes as i64]).expect("runs");
        Arc::new(Rows::take(&mut rows).expect("takes"))
    }

    fn key(number: usize) -> Key {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_le_bytes());
        key
    }

    #[test]
    fn what_is_kept_stays_within_its_bytes_and_the_longest_unused_goes_first() {
        let (small, mut table) = (rows(100_000), Table::default());
        let keep = |table: &mut Table, number: usize, rows: &Arc<Rows>| {
            table.keep(key(number), Known { version: 1, rows: Arc::clone(rows) });
        };
        keep(&mut table, 0, &small);
        let all = limits::ANSWERS_BYTES_MAX / small.size();
        for number in 1..3 * all {
            assert!(table.known(&key(0), 1).is_some(), "it has been used just now");
            keep(&mut table, number, &small);
            keep(&mut table, number, &small);
            let sum: usize = table.known.iter().map(|(_, known)| known.size()).sum();
            assert_eq!(table.known_bytes, sum);
            assert!(sum <= limits::ANSWERS_BYTES_MAX);
        }
        assert!(table.known(&key(1), 1).is_none() && table.known(&key(3 * all - 1), 1).is_some());
        assert!(table.known(&key(0), 2).is_none(), "the events have changed");

        keep(&mut table, 0, &rows(limits::ANSWER_BYTES_MAX));
        assert_eq!(
            table.known(&key(0), 1).map(|rows| rows.size()),
            Some(small.size()),
            "too large"
        );
    }
}
