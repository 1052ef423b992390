//! The ring on a disk that loses power. The disk keeps what was flushed; of all other pages written since, it keeps
//! any subset, whole or torn between sectors, and it may have written any of them at any moment before. A model
//! pushes, acknowledges, commits to a database that keeps its word, releases, is killed and loses power, in any order.
//!
//! What must hold: an acknowledged record is in the database or waits; nothing waits twice, or that is in the database;
//! what waits is whole; what was pushed since the start waits in its order; a kill alone changes nothing. A record that
//! was lost before anyone acknowledged it may turn up at a later start, once. `KNOWN_ERRORS` are mistakes that the
//! model must find.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::file::RingFile;
use super::layout::{HEADER_BYTES, Header, RecordHead, record_bytes};
use super::{Consumer, Durability, GroupSync, Pending, Producer, begin, file, recover};

const PAGE: usize = 4096;
const SECTOR: usize = 512;
const CAPACITY: usize = 3 * PAGE;

/// A mistake made on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// Recovery believes a record whose checksum does not fit.
    SkipChecksum,
    /// The new head is published before the record is written.
    PublishFirst,
    /// Room is released before the database has committed.
    ReleaseFirst,
    /// Acknowledged without a flush of the records.
    RecordsUnsynced,
    /// Room is used again before the released position is flushed.
    ReleasesUnsynced,
}

const KNOWN_ERRORS: [Mistake; 5] = [
    Mistake::SkipChecksum,
    Mistake::PublishFirst,
    Mistake::ReleaseFirst,
    Mistake::RecordsUnsynced,
    Mistake::ReleasesUnsynced,
];

/// What survives the loss of power.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<Platter>>);

struct Platter {
    bytes: Vec<u8>,
    random: u64,
    mistake: Mistake,
    /// From now on every flush fails.
    broken: bool,
}

impl Disk {
    fn new(bytes: Vec<u8>, seed: u64, mistake: Mistake) -> Self {
        let random = seed | 1;
        Self(Arc::new(Mutex::new(Platter { bytes, random, mistake, broken: false })))
    }

    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the pages of a range, and by chance others.
    pub fn flush(&self, memory: &[u8], at: usize, length: usize) -> io::Result<()> {
        let mut platter = self.platter();
        if platter.broken {
            return Err(io::Error::other("the disk is broken"));
        }
        let forgotten = match platter.mistake {
            Mistake::RecordsUnsynced => at >= HEADER_BYTES,
            Mistake::ReleasesUnsynced => at + length <= HEADER_BYTES,
            _ => false,
        };
        if length > 0 && !forgotten {
            let range = at / PAGE * PAGE..(at + length).next_multiple_of(PAGE);
            platter.bytes[range.clone()].copy_from_slice(&memory[range]);
        }
        platter.write_back(memory);
        Ok(())
    }
}

impl Platter {
    fn chance(&mut self) -> u64 {
        // xorshift64*
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32
    }

    /// The kernel writes what it likes whenever it likes: each page with a chance of one in four, torn ones among them.
    fn write_back(&mut self, memory: &[u8]) {
        for page in (0..memory.len()).step_by(PAGE) {
            let torn = match self.chance() % 8 {
                0 => false,
                1 => true,
                _ => continue,
            };
            for sector in (page..page + PAGE).step_by(SECTOR) {
                if !torn || self.chance().is_multiple_of(2) {
                    let range = sector..sector + SECTOR;
                    self.bytes[range.clone()].copy_from_slice(&memory[range]);
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push(usize),
    /// Claims room, writes a part, and is killed.
    PushAndDie(usize),
    /// A round of the group commit; whoever was covered is acknowledged.
    Sync,
    /// The database takes this many records; then they are released, unless it comes to a kill in between.
    Commit(usize),
    Release,
    /// The kernel writes by itself.
    WriteBack,
    Kill,
    LosePower,
}

fn steps() -> impl Strategy<Value = (u64, Vec<Step>)> {
    let step = prop_oneof![
        // Few lengths, so that records of different lives lie in the same places.
        10 => prop_oneof![Just(1_000usize), Just(2_032)].prop_map(Step::Push),
        2 => (8usize..1_200).prop_map(Step::Push),
        1 => prop_oneof![Just(4_076usize), Just(8), Just(6_000)].prop_map(Step::Push),
        1 => (8usize..1_200).prop_map(Step::PushAndDie),
        4 => Just(Step::Sync),
        4 => (1usize..8).prop_map(Step::Commit),
        4 => Just(Step::Release),
        2 => Just(Step::WriteBack),
        1 => Just(Step::Kill),
        2 => Just(Step::LosePower),
    ];
    (any::<u64>(), proptest::collection::vec(step, 1..80))
}

/// A record: its number among all that were ever pushed, then bytes that follow from it.
fn payload(number: u64, length: usize) -> Vec<u8> {
    let rest = (8..length).map(|at| (number as usize * 31 + at * 7) as u8);
    number.to_le_bytes().into_iter().chain(rest).collect()
}

type Verdict = Result<(), String>;

struct Rig {
    _dir: tempfile::TempDir,
    path: PathBuf,
    disk: Disk,
    durability: Durability,
    mistake: Mistake,
    ends: Option<(Producer, Consumer, GroupSync)>,
    /// Lengths of all that were ever pushed, by number.
    pushed: Vec<usize>,
    waiting_for_disk: Vec<(u64, Pending)>,
    acknowledged: Vec<u64>,
    /// The number of the first record of this life.
    life: u64,
    /// The database: committed numbers, and the cursor.
    rows: BTreeSet<u64>,
    cursor: u64,
}

impl Rig {
    fn new(seed: u64, durability: Durability, mistake: Mistake) -> Self {
        let dir = tempfile::tempdir_in(memory_dir()).expect("a directory");
        let path = dir.path().join("0.ring");
        file::create(&path, CAPACITY).expect("creates");
        let disk = Disk::new(fs::read(&path).expect("reads"), seed, mistake);
        let mut rig = Self {
            _dir: dir,
            path,
            disk,
            durability,
            mistake,
            ends: None,
            pushed: Vec::new(),
            waiting_for_disk: Vec::new(),
            acknowledged: Vec::new(),
            life: 0,
            rows: BTreeSet::new(),
            cursor: 0,
        };
        rig.open().expect("a new one");
        rig
    }

    fn ends(&mut self) -> &mut (Producer, Consumer, GroupSync) {
        self.ends.as_mut().expect("open")
    }

    /// As a start does: opens, drops what the database has, and looks at what waits.
    fn open(&mut self) -> Verdict {
        let mut file = RingFile::open(&self.path).map_err(|error| error.to_string())?;
        file.disk = Some(self.disk.clone());
        let header = Header::read(file.header()).ok_or("the header is lost")?;
        let fits = match self.mistake {
            Mistake::SkipChecksum => |_: &RecordHead, _: &[u8]| true,
            _ => RecordHead::fits,
        };
        let found = recover::walk(&file, fits);
        let (mut producer, mut consumer) =
            begin(file, header.ring_id, found, self.durability).expect("the disk works");
        consumer.skip_committed(self.cursor).expect("the disk works");
        if consumer.peek(1, 0).any(|(sequence, _)| sequence <= self.cursor) {
            return Err("a committed record is handed out again".to_owned());
        }
        let group = GroupSync::attach(std::iter::once(&mut producer));
        self.ends = Some((producer, consumer, group));
        let waiting = self.waiting()?;
        for number in &self.acknowledged {
            if !self.rows.contains(number) && !waiting.contains(number) {
                return Err(format!("{number} was acknowledged and is lost"));
            }
        }
        Ok(())
    }

    /// What waits and is not committed, as it may be until it is released.
    fn uncommitted(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let (_, consumer, _) = self.ends.as_ref().expect("open");
        consumer.peek(usize::MAX, usize::MAX).skip_while(|(sequence, _)| *sequence <= self.cursor)
    }

    /// The numbers that wait for the database.
    fn waiting(&self) -> Result<Vec<u64>, String> {
        let mut numbers: Vec<u64> = Vec::new();
        for (sequence, bytes) in self.uncommitted() {
            let number = bytes.first_chunk().map_or(u64::MAX, |word| u64::from_le_bytes(*word));
            let length = self.pushed.get(number as usize).copied();
            if length.is_none_or(|length| bytes != payload(number, length)) {
                return Err(format!("sequence {sequence} is not what was pushed"));
            }
            if self.rows.contains(&number) || numbers.contains(&number) {
                return Err(format!("{number} is there twice"));
            }
            if numbers.last().is_some_and(|before| *before > number && number >= self.life) {
                return Err(format!("{number} comes after {:?}", numbers.last()));
            }
            numbers.push(number);
        }
        Ok(numbers)
    }

    fn push(&mut self, length: usize) -> Verdict {
        let number = self.pushed.len() as u64;
        let bytes = payload(number, length);
        let mistake = self.mistake;
        let (producer, consumer, _) = self.ends();
        let before = consumer.waiting();
        let mut seen = before;
        let mut fill = |room: &mut [u8]| {
            // A consumer that looks now, in the middle of a push.
            seen = consumer.waiting();
            room.copy_from_slice(&bytes);
        };
        let outcome = match mistake {
            Mistake::PublishFirst => push_published_first(producer, length, fill),
            _ => producer.push(length, &mut fill).is_ok(),
        };
        if seen != before {
            return Err("a record was seen before it was written".to_owned());
        }
        if outcome {
            self.pushed.push(length);
            match self.ends().0.pending() {
                Some(pending) => self.waiting_for_disk.push((number, pending)),
                None => self.acknowledged.push(number),
            }
        }
        Ok(())
    }

    fn push_and_die(&mut self, length: usize) -> Verdict {
        let bytes = payload(self.pushed.len() as u64, length);
        let (producer, ..) = self.ends();
        let killed = std::panic::AssertUnwindSafe(|| {
            producer.push(length, |room| {
                room[..length / 2].copy_from_slice(&bytes[..length / 2]);
                // Without the hook that prints.
                std::panic::resume_unwind(Box::new(()));
            })
        });
        let _ = std::panic::catch_unwind(killed);
        self.kill()
    }

    fn sync(&mut self) {
        self.ends().2.round().expect("the disk works");
        for (number, pending) in std::mem::take(&mut self.waiting_for_disk) {
            let announced = pending.synced().now_or_never();
            announced.expect("the round covers it").expect("the disk works");
            self.acknowledged.push(number);
        }
    }

    fn commit(&mut self, count: usize) -> Verdict {
        let numbers = self.waiting()?;
        let records: Vec<u64> =
            self.uncommitted().take(count).map(|(sequence, _)| sequence).collect();
        if let Some(last) = records.last() {
            if self.mistake == Mistake::ReleaseFirst {
                self.ends().1.release(*last).expect("the disk works");
                // The commit did not come to pass.
                return self.kill();
            }
            self.rows.extend(&numbers[..records.len()]);
            self.cursor = *last;
        }
        Ok(())
    }

    fn release(&mut self) {
        let cursor = self.cursor;
        self.ends().1.release(cursor).expect("the disk works");
    }

    fn end_life(&mut self) {
        self.ends = None;
        self.waiting_for_disk.clear();
        self.life = self.pushed.len() as u64;
    }

    /// The process dies: what was published is there, all of it.
    fn kill(&mut self) -> Verdict {
        let expected = self.waiting()?;
        self.end_life();
        self.open()?;
        if self.waiting()?.starts_with(&expected) {
            Ok(())
        } else {
            Err("a kill has taken something".to_owned())
        }
    }

    fn lose_power(&mut self) -> Verdict {
        self.end_life();
        let memory = fs::read(&self.path).expect("reads");
        let mut platter = self.disk.platter();
        platter.write_back(&memory);
        fs::write(&self.path, &platter.bytes).expect("writes");
        drop(platter);
        if self.durability == Durability::Process {
            // Nothing was promised.
            self.acknowledged.clear();
        }
        self.open()
    }

    fn step(&mut self, step: &Step) -> Verdict {
        match *step {
            Step::Push(length) => self.push(length),
            Step::PushAndDie(length) => self.push_and_die(length),
            Step::Sync => {
                self.sync();
                Ok(())
            }
            Step::Commit(count) => self.commit(count),
            Step::Release => {
                self.release();
                Ok(())
            }
            Step::WriteBack => {
                let memory = fs::read(&self.path).expect("reads");
                self.disk.platter().write_back(&memory);
                Ok(())
            }
            Step::Kill => self.kill(),
            Step::LosePower => self.lose_power(),
        }
    }
}

/// What [`Producer::push`] would be with its last two steps first.
fn push_published_first(
    producer: &mut Producer,
    length: usize,
    fill: impl FnOnce(&mut [u8]),
) -> bool {
    use std::sync::atomic::Ordering;
    if producer.free_bytes() < 2 * record_bytes(length) {
        return false;
    }
    let shared = Arc::clone(&producer.shared);
    shared.published.fetch_add(1, Ordering::AcqRel);
    let pushed = producer.push(length, fill).is_ok();
    shared.published.fetch_sub(1, Ordering::AcqRel);
    pushed
}

/// Files in memory, where there are any: the disk here is the model's.
fn memory_dir() -> PathBuf {
    let shared_memory = PathBuf::from("/dev/shm");
    if shared_memory.is_dir() { shared_memory } else { std::env::temp_dir() }
}

fn live(seed: u64, steps: &[Step], durability: Durability, mistake: Mistake) -> Verdict {
    let mut rig = Rig::new(seed, durability, mistake);
    for (index, step) in steps.iter().enumerate() {
        rig.step(step).map_err(|error| format!("step {index}, {step:?}: {error}"))?;
    }
    rig.lose_power()?;
    rig.commit(usize::MAX)
}

proptest! {
    #![proptest_config(Config { cases: 500, ..Config::default() })]

    #[test]
    fn what_was_acknowledged_survives_the_loss_of_power((seed, steps) in steps()) {
        let verdict = live(seed, &steps, Durability::Power, Mistake::None);
        prop_assert_eq!(verdict, Ok(()));
    }

    #[test]
    fn without_flushes_a_loss_of_power_takes_the_end_and_breaks_nothing((seed, steps) in steps()) {
        let verdict = live(seed, &steps, Durability::Process, Mistake::None);
        prop_assert_eq!(verdict, Ok(()));
    }
}

#[test]
fn known_errors_are_found() {
    for mistake in KNOWN_ERRORS {
        let config = Config { cases: 2_000, failure_persistence: None, ..Config::default() };
        let random = TestRng::deterministic_rng(RngAlgorithm::default());
        let found = TestRunner::new_with_rng(config, random).run(&steps(), |(seed, steps)| {
            let verdict = live(seed, &steps, Durability::Power, mistake);
            verdict.map_err(TestCaseError::fail)
        });
        println!("{mistake:?}: {}", found.as_ref().err().map_or("-".into(), ToString::to_string));
        assert!(found.is_err(), "{mistake:?} goes unnoticed");
    }
}

#[test]
fn a_flush_that_fails_ends_acknowledging_and_releasing() {
    let mut rig = Rig::new(1, Durability::Power, Mistake::None);
    rig.push(100).expect("works");
    rig.sync();
    rig.push(100).expect("works");
    let free = rig.ends().0.free_bytes();
    rig.disk.platter().broken = true;
    assert!(rig.ends().1.release(1).is_err());
    assert_eq!(rig.ends().0.free_bytes(), free, "no room is freed");
    let (producer, consumer, mut group) = rig.ends.take().expect("open");
    assert!(group.round().is_err());
    drop(group);
    rig.disk.platter().broken = false;
    for (_, pending) in rig.waiting_for_disk.drain(..) {
        assert!(matches!(pending.synced().now_or_never(), Some(Err(_))));
    }
    drop((producer, consumer));
}
