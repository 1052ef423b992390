//! The ring against a model: random pushes, peeks, releases, reopenings and losses in a ring so small that it wraps
//! all the time. What was published is there, in order, each once; what is damaged ends the ring and is never
//! handed out wrong. The fault list stands at the head of `src/ring/mod.rs`.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use sumimi::ring::{self, Consumer, Durability, Full, Producer};

const PAGE: usize = 4096;
const CAPACITY: usize = 2 * PAGE;
/// Records that the two threads pass.
const RECORDS: u64 = 100_000;

fn payload(sequence: u64, length: usize) -> Vec<u8> {
    (0..length).map(|at| (sequence as usize * 31 + at * 7) as u8).collect()
}

struct Rig {
    _dir: tempfile::TempDir,
    path: PathBuf,
    ends: Option<(Producer, Consumer)>,
    /// Sequence and length of what must be waiting.
    model: VecDeque<(u64, usize)>,
    last: u64,
}

impl Rig {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("0.ring");
        let ends = Some(ring::open(&path, CAPACITY, Durability::Process).expect("creates"));
        Self { _dir: dir, path, ends, model: VecDeque::new(), last: 0 }
    }

    fn producer(&mut self) -> &mut Producer {
        &mut self.ends.as_mut().expect("open").0
    }

    fn consumer(&mut self) -> &mut Consumer {
        &mut self.ends.as_mut().expect("open").1
    }

    fn push(&mut self, length: usize) {
        let bytes = payload(self.last + 1, length);
        let free = self.producer().free_bytes();
        match self.producer().push(length, |room| room.copy_from_slice(&bytes)) {
            Ok(sequence) => {
                assert_eq!(sequence, self.last + 1, "sequences follow one another");
                self.last = sequence;
                self.model.push_back((sequence, length));
            }
            // A record may need an end that it skips: at most its own size.
            Err(Full) => assert!(free < 2 * (length + 24), "refused {length} with {free} free"),
        }
    }

    fn check(&mut self) {
        let want = self.model.clone();
        let got: Vec<(u64, Vec<u8>)> = self
            .consumer()
            .peek(usize::MAX, usize::MAX)
            .map(|(sequence, bytes)| (sequence, bytes.to_vec()))
            .collect();
        let want: Vec<_> = want.iter().map(|&(seq, len)| (seq, payload(seq, len))).collect();
        assert_eq!(got, want);
        assert_eq!(self.consumer().waiting(), want.len() as u64);
    }

    fn release(&mut self, count: usize) {
        let Some(&(sequence, _)) = count.checked_sub(1).and_then(|at| self.model.get(at)) else {
            return;
        };
        self.consumer().release(sequence).expect("releases");
        self.model.drain(..count);
    }

    /// Nobody sees a record whose bytes are being written, nor after a kill in the middle of it.
    fn push_and_die(&mut self, length: usize) {
        let bytes = payload(self.last + 1, length);
        let (producer, consumer) = self.ends.as_mut().expect("open");
        let waiting = consumer.waiting();
        let killed = std::panic::AssertUnwindSafe(|| {
            producer.push(length, |room| {
                room[..length / 2].copy_from_slice(&bytes[..length / 2]);
                assert_eq!(consumer.waiting(), waiting);
                // Without the hook that prints.
                std::panic::resume_unwind(Box::new("killed"));
            })
        });
        // Full, or killed.
        let _ = std::panic::catch_unwind(killed);
        self.reopen();
    }

    /// The oldest, as many as asked for, and at least one.
    fn peek(&mut self, records_max: usize, bytes_max: usize) {
        let mut bytes = 0;
        let fits = |(_, length): &&(u64, usize)| {
            let is_taken = bytes < bytes_max;
            bytes += length;
            is_taken
        };
        let want: Vec<u64> =
            self.model.iter().take_while(fits).take(records_max).map(|(seq, _)| *seq).collect();
        let got: Vec<u64> =
            self.consumer().peek(records_max, bytes_max).map(|(sequence, _)| sequence).collect();
        assert_eq!(got, want);
    }

    /// Ends without a word, as a killed process does, and opens again.
    fn reopen(&mut self) {
        drop(self.ends.take());
        self.ends = Some(ring::open(&self.path, CAPACITY, Durability::Process).expect("opens"));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push(usize),
    Release(usize),
    Reopen,
    /// Claims room, writes half of the record, and is killed.
    PushAndDie(usize),
    /// Peeks at no more than so many records and about so many bytes.
    Peek(usize, usize),
    /// Reopen, and the database says that this many of the waiting records are committed.
    ReopenCommitted(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0usize..900).prop_map(Step::Push),
        2 => prop_oneof![Just(4076usize), Just(8176), Just(8177), Just(1), Just(8)].prop_map(Step::Push),
        4 => (1usize..8).prop_map(Step::Release),
        1 => Just(Step::Reopen),
        1 => (1usize..900).prop_map(Step::PushAndDie),
        2 => (0usize..9, 0usize..3_000).prop_map(|(records, bytes)| Step::Peek(records, bytes)),
        1 => (0usize..5).prop_map(Step::ReopenCommitted),
    ];
    proptest::collection::vec(step, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn behaves_as_a_queue_whatever_happens(steps in steps()) {
        let mut rig = Rig::new();
        for step in steps {
            match step {
                Step::Push(length) => rig.push(length),
                Step::Release(count) => rig.release(count.min(rig.model.len())),
                Step::Reopen => rig.reopen(),
                Step::PushAndDie(length) => rig.push_and_die(length),
                Step::Peek(records_max, bytes_max) => rig.peek(records_max, bytes_max),
                Step::ReopenCommitted(count) => {
                    rig.reopen();
                    let count = count.min(rig.model.len());
                    let first = rig.model.front().map_or(rig.last + 1, |(sequence, _)| *sequence);
                    rig.consumer().skip_committed(first + count as u64 - 1).expect("skips");
                    rig.model.drain(..count);
                }
            }
            rig.check();
        }
    }

    #[test]
    fn a_damaged_byte_ends_the_ring_there_and_gives_nothing_wrong(
        lengths in proptest::collection::vec(1usize..200, 1..30),
        released in 0usize..20,
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let mut rig = Rig::new();
        for length in &lengths {
            rig.push(*length);
        }
        rig.release(released.min(rig.model.len()));
        drop(rig.ends.take());
        let mut bytes = fs::read(&rig.path).expect("reads");
        let at = PAGE + at.index(CAPACITY);
        bytes[at] ^= 1 << bit;
        fs::write(&rig.path, bytes).expect("writes");
        rig.ends = Some(ring::open(&rig.path, CAPACITY, Durability::Process).expect("opens"));
        let got: Vec<(u64, Vec<u8>)> = rig.consumer().peek(usize::MAX, usize::MAX)
            .map(|(sequence, bytes)| (sequence, bytes.to_vec())).collect();
        let want: Vec<(u64, Vec<u8>)> =
            rig.model.iter().map(|&(seq, len)| (seq, payload(seq, len))).collect();
        prop_assert!(want.starts_with(&got), "a part of the queue, from its start");
        rig.last = got.last().map_or(want.first().map_or(rig.last, |(s, _)| s - 1), |(s, _)| *s);
        rig.model.truncate(got.len());
        rig.push(50);
        rig.check();
    }
}

#[test]
fn a_record_that_is_torn_at_any_byte_is_not_there_and_those_before_it_are() {
    let mut rig = Rig::new();
    rig.push(100);
    rig.push(33);
    drop(rig.ends.take());
    let before = fs::read(&rig.path).expect("reads");
    rig.reopen();
    rig.push(75);
    drop(rig.ends.take());
    let after = fs::read(&rig.path).expect("reads");
    let differs = |at: &usize| before[*at] != after[*at];
    let changed: Vec<usize> = (PAGE..after.len()).filter(differs).collect();
    let (first, last) = (changed[0], changed[changed.len() - 1]);
    assert!(last - first >= 75, "the record's bytes");
    for cut in first..=last + 1 {
        // Written up to the cut, or from the cut on.
        for (head, tail) in [(&after, &before), (&before, &after)] {
            let torn = [&head[..cut], &tail[cut..]].concat();
            let is_whole = torn[PAGE..] == after[PAGE..];
            fs::write(&rig.path, &torn).expect("writes");
            let (_, consumer) =
                ring::open(&rig.path, CAPACITY, Durability::Process).expect("opens");
            let records: Vec<&[u8]> =
                consumer.peek(usize::MAX, usize::MAX).map(|(_, bytes)| bytes).collect();
            let want = [payload(1, 100), payload(2, 33), payload(3, 75)];
            assert_eq!(records, &want[..if is_whole { 3 } else { 2 }], "cut at {cut}");
        }
    }
}

#[test]
fn two_threads_pass_every_record_once_and_in_order() {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut producer, mut consumer) =
        ring::open(&dir.path().join("0.ring"), 16 * PAGE, Durability::Process).expect("creates");
    let writing = std::thread::spawn(move || {
        let mut sequence = 0;
        while sequence < RECORDS {
            let bytes = payload(sequence + 1, (sequence % 97) as usize);
            match producer.push(bytes.len(), |room| room.copy_from_slice(&bytes)) {
                Ok(given) => sequence = given,
                Err(Full) => std::thread::yield_now(),
            }
        }
    });
    let mut seen = 0;
    while seen < RECORDS {
        for (sequence, bytes) in consumer.peek(500, 10_000) {
            seen += 1;
            assert_eq!(sequence, seen);
            assert_eq!(bytes, payload(sequence, ((sequence - 1) % 97) as usize));
        }
        consumer.release(seen).expect("releases");
        std::thread::yield_now();
    }
    writing.join().expect("the writing end");
    assert_eq!((consumer.waiting(), consumer.used_bytes()), (0, 0));
}

#[test]
fn a_second_opening_and_a_foreign_file_are_refused_by_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("0.ring");
    let _ends = ring::open(&path, CAPACITY, Durability::Process).expect("creates");
    let error =
        ring::open(&path, CAPACITY, Durability::Process).err().expect("is refused").to_string();
    assert!(error.contains("another process") && error.contains("0.ring"), "{error}");
    let foreign = dir.path().join("1.ring");
    fs::write(&foreign, vec![7; 3 * PAGE]).expect("writes");
    let error =
        ring::open(&foreign, CAPACITY, Durability::Process).err().expect("is refused").to_string();
    assert!(error.contains("1.ring"), "{error}");
    assert_eq!(fs::read(&foreign).expect("reads"), vec![7; 3 * PAGE], "and left alone");
}

#[test]
fn numbering_goes_on_above_what_the_database_knows() {
    let mut rig = Rig::new();
    rig.push(10);
    rig.reopen();
    rig.consumer().skip_committed(41).expect("skips");
    rig.model.clear();
    rig.last = 41;
    rig.push(10);
    rig.check();
    rig.reopen();
    rig.check();
}
