//! SIGKILL at chosen moments, with four workers under load: while a batch is being committed, while the log is being
//! folded into the file, while the next start recovers, and with full rings. The moments are seen from outside, in the
//! files. `SUMIMI_KILL_ROUNDS` sets how many kills there are; each fifth one is of the same kind.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use sumimi::limits;

use crate::faults::{builder, large_event, limit_files};
use crate::kill::{Load, Outcome};
use crate::process::{Server, number_from_env};

/// A busy machine takes its time; a quiet one needs a hundredth of it.
const SECONDS_MAX: u64 = 240;
const LARGE_BYTES: usize = 50_000;
const LARGE_CONNECTIONS: usize = 8;

#[derive(Clone, Copy, Debug)]
enum Moment {
    /// Any.
    Load,
    Commit,
    Checkpoint,
    Recovery,
    FullRings,
}

const MOMENTS: [Moment; 5] =
    [Moment::Load, Moment::Commit, Moment::Checkpoint, Moment::Recovery, Moment::FullRings];

fn large(path: &str) -> crate::http::Request {
    large_event(path, LARGE_BYTES)
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Looks as often as it can, since what is waited for may take a millisecond.
fn wait_until(what: &str, server: &Server, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        let late = since.elapsed() > Duration::from_secs(SECONDS_MAX);
        assert!(!late, "{what} never came\n{}", server.log());
        std::hint::spin_loop();
        thread::yield_now();
    }
}

/// Loads the server until the moment has come, and kills it.
fn kill_at(server: &mut Server, moment: Moment, round: usize, outcome: &mut Outcome) {
    let name = format!("{moment:?}-{round}");
    let (file, log) = (server.database(), server.database().with_extension("duckdb.wal"));
    let load = match moment {
        Moment::Checkpoint | Moment::FullRings => {
            Load::start_with(server, &name, LARGE_CONNECTIONS, large)
        }
        _ => Load::start(server, &name),
    };
    match moment {
        Moment::Load | Moment::Recovery => {
            thread::sleep(Duration::from_millis((50 + round * 77 % 1_200) as u64));
        }
        Moment::Commit => {
            let (before, whole) = (size(&log), changed_at(&file));
            // A full row group goes to the file and not to the log.
            wait_until("a commit", server, || size(&log) > before || changed_at(&file) != whole);
        }
        Moment::Checkpoint => {
            wait_until("a long log", server, || size(&log) > limits::WAL_BYTES_MAX as u64 / 2);
            let before = changed_at(&file);
            wait_until("a checkpoint", server, || changed_at(&file) != before);
        }
        Moment::FullRings => {
            limit_files(server, "4096");
            wait_until("a full ring", server, || {
                thread::sleep(Duration::from_millis(20));
                server.heartbeat()["gate"]["refused"]["ring_full"].as_u64() > Some(0)
            });
        }
    }
    // Some at the beginning of it, some a little later.
    thread::sleep(Duration::from_micros((round * 700 % 5_000) as u64));
    server.kill9();
    outcome.add(load.end());
    if matches!(moment, Moment::Recovery | Moment::FullRings) {
        for kill in 0..3 {
            server
                .start_and_kill_after(Duration::from_millis((20 + 60 * kill + round % 50) as u64));
        }
    }
}

#[test]
fn whenever_it_is_killed_what_was_answered_is_there_once() {
    let rounds = number_from_env("SUMIMI_KILL_ROUNDS", MOMENTS.len());
    let mut server = builder().env("SUMIMI_WORKERS", "4").env("SUMIMI_MEMORY", "256MB").start();
    server.create_website();
    assert_eq!(fs::read_dir(server.home().join("data/ring")).expect("rings").count(), 4);
    let mut outcome = Outcome::default();
    for round in 0..rounds {
        kill_at(&mut server, MOMENTS[round % MOMENTS.len()], round, &mut outcome);
        server.restart();
    }
    server.wait_until_committed();
    assert_eq!(server.heartbeat()["writer"]["set_aside"], 0, "{}", server.log());
    let end = server.terminate();
    assert!(end.status.success(), "{}\n{}", end.status, server.log());
    assert!(!outcome.answered.is_empty(), "the load never got through");
    outcome.check(&server.database());
}

#[test]
fn the_log_stays_bounded_however_much_is_written() {
    // What one transaction may add after the log was found short enough, encoded.
    const BATCH_BYTES: usize = 2 * limits::BATCH_BYTES_MAX;
    let mut server = Server::builder().start();
    server.create_website();
    let log = server.database().with_extension("duckdb.wal");
    let load = Load::start_with(&server, "log", LARGE_CONNECTIONS, large);
    let (mut longest, mut folded, mut before) = (0, 0, 0);
    wait_until("a checkpoint", &server, || {
        let now = size(&log);
        longest = longest.max(now);
        folded += usize::from(now < before / 2);
        before = now;
        thread::sleep(Duration::from_millis(2));
        folded == 1
    });
    let outcome = load.end();
    println!("the log was {longest} bytes at most");
    assert!(longest <= (limits::WAL_BYTES_MAX + BATCH_BYTES) as u64, "{longest}");
    server.wait_until_committed();
    assert!(server.terminate().status.success(), "{}", server.log());
    assert_eq!(size(&log), 0, "a stop folds it");
    outcome.check(&server.database());
}
