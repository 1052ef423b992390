//! What a crash may take: nothing that was answered. Real processes are killed with SIGKILL under load, during recovery
//! and during their first start, and stopped with SIGTERM under load; then the database itself is asked.
//!
//! An event answered 200 must be there exactly once. One whose answer did not arrive may be there once or not at all.
//! `SUMIMI_KILL_ROUNDS` sets how often the load is killed.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use duckdb::{AccessMode, Config, Connection};

use crate::http::{Client, Request};
use crate::process::{Server, number_from_env};

const CONNECTIONS: usize = 64;

/// What became of the events that were sent, by their paths, which are unique.
#[derive(Default)]
pub struct Outcome {
    pub answered: Vec<String>,
    pub unknown: Vec<String>,
    pub refused: usize,
}

impl Outcome {
    pub fn add(&mut self, other: Self) {
        self.answered.extend(other.answered);
        self.unknown.extend(other.unknown);
        self.refused += other.refused;
    }

    /// Holds the outcome against the rows of the database, which nobody has open.
    pub fn check(&self, database: &Path) {
        let mut rows = rows_by_path(database);
        for path in &self.answered {
            let count = rows.remove(path).unwrap_or(0);
            assert_eq!(count, 1, "{path} was answered 200 once and is there {count} times");
        }
        for path in &self.unknown {
            let count = rows.remove(path).unwrap_or(0);
            assert!(count <= 1, "{path} was sent once and is there {count} times");
        }
        assert!(rows.is_empty(), "nobody sent {:?}", rows.keys().take(5).collect::<Vec<_>>());
        println!(
            "{} answered, {} unanswered, {} refused",
            self.answered.len(),
            self.unknown.len(),
            self.refused
        );
    }
}

fn rows_by_path(database: &Path) -> HashMap<String, u64> {
    let config = Config::default().access_mode(AccessMode::ReadOnly).expect("a known setting");
    let connection = Connection::open_with_flags(database, config).expect("the database opens");
    let question = "SELECT url_path, count(*) FROM facts.event GROUP BY url_path";
    let mut statement = connection.prepare(question).expect("the schema has events");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}

/// Connections that send page views with unique paths until they are stopped or cut off.
pub struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Outcome>>,
}

impl Load {
    pub fn start(server: &Server, name: &str) -> Self {
        Self::start_with(server, name, CONNECTIONS, Request::page_view)
    }

    /// `event` makes the event of a path.
    pub fn start_with(
        server: &Server,
        name: &str,
        connections: usize,
        event: fn(&str) -> Request,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..connections)
            .map(|connection| {
                let (client, stop) = (server.client(), Arc::clone(&stop));
                let prefix = format!("/{name}/{connection}");
                thread::spawn(move || send_until_stopped(client, &prefix, event, &stop))
            })
            .collect();
        Self { stop, threads }
    }

    pub fn end(self) -> Outcome {
        self.stop.store(true, Ordering::Relaxed);
        let mut outcome = Outcome::default();
        for thread in self.threads {
            outcome.add(thread.join().expect("the load got no unexpected answer"));
        }
        outcome
    }
}

fn send_until_stopped(
    mut client: Client,
    prefix: &str,
    event: fn(&str) -> Request,
    stop: &AtomicBool,
) -> Outcome {
    let mut outcome = Outcome::default();
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let path = format!("{prefix}/{number}");
        match client.send(&event(&path)) {
            Ok(answer) if answer.status == 200 => outcome.answered.push(path),
            Ok(answer) if answer.status == 503 => outcome.refused += 1,
            Ok(answer) => panic!("{path} was answered {}: {}", answer.status, answer.text()),
            Err(_) => {
                outcome.unknown.push(path);
                break;
            }
        }
    }
    outcome
}

#[test]
fn an_answered_event_survives_kill_9_and_is_counted_exactly_once() {
    let rounds = number_from_env("SUMIMI_KILL_ROUNDS", 5).max(1);
    let mut server = Server::builder().start();
    server.create_website();
    let mut outcome = Outcome::default();
    for round in 0..rounds {
        let load = Load::start(&server, &format!("round-{round}"));
        // From before the first commit to after the second, evenly.
        thread::sleep(Duration::from_millis((50 + 1_200 * round / rounds) as u64));
        server.kill9();
        outcome.add(load.end());
        if round % 2 == 1 {
            // Killed again while it recovers, or just after.
            server.start_and_kill_after(Duration::from_millis((600 * round / rounds) as u64));
        }
        server.restart();
    }
    server.wait_until_committed();
    let end = server.terminate();
    assert!(end.status.success(), "{}\n{}", end.status, server.log());
    assert!(!outcome.answered.is_empty(), "the load never got through");
    outcome.check(&server.database());
}

#[test]
fn with_power_durability_many_answers_share_one_flush() {
    let mut server = Server::builder().env("SUMIMI_DURABILITY", "power").start();
    server.create_website();
    let load = Load::start(&server, "power");
    thread::sleep(Duration::from_secs(1));
    let syncs = server.heartbeat()["ring"]["syncs"].as_u64().expect("a number");
    server.kill9();
    let outcome = load.end();
    assert!(syncs > 0, "answers came before any flush");
    let answered = outcome.answered.len() as u64;
    assert!(answered > 2 * syncs, "{answered} answers for {syncs} flushes");
    server.restart();
    server.wait_until_committed();
    assert!(server.terminate().status.success(), "{}", server.log());
    outcome.check(&server.database());
}

#[test]
fn a_first_start_that_is_killed_at_any_moment_leaves_something_that_starts() {
    const MOMENTS: u64 = 20;
    const FIRST_START_MS: u64 = 3_000;
    for moment in 0..MOMENTS {
        let home = tempfile::tempdir().expect("a temporary directory");
        let builder = Server::builder();
        let mut child = builder.spawn_only(home.path());
        thread::sleep(Duration::from_millis(FIRST_START_MS * moment / MOMENTS));
        child.kill().expect("it was started");
        child.wait().expect("it has ended");
        let mut server = Server::start_in(builder, home);
        server.create_website();
        let answer = server.send(&Request::page_view("/"));
        assert_eq!(answer.status, 200, "moment {moment}: {}\n{}", answer.text(), server.log());
    }
}

#[test]
fn a_second_server_on_the_same_directory_says_so_in_one_line_and_harms_nothing() {
    let mut server = Server::builder().start();
    server.create_website();
    let (status, stderr) = server.run_another();
    assert!(!status.success(), "two servers on one directory");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    let answer = server.send(&Request::page_view("/still-here"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    server.wait_until_committed();
    assert!(server.terminate().status.success(), "{}", server.log());
    assert_eq!(rows_by_path(&server.database()), HashMap::from([("/still-here".to_owned(), 1)]));
}

#[test]
fn sigterm_under_load_ends_in_time_with_everything_that_was_answered() {
    let mut server = Server::builder().start();
    server.create_website();
    let load = Load::start(&server, "sigterm");
    thread::sleep(Duration::from_millis(1_500));
    let end = server.terminate();
    let outcome = load.end();
    assert_eq!(end.status.code(), Some(0), "{}", server.log());
    assert!(end.took < Duration::from_secs(10), "took {:?}", end.took);
    assert!(!outcome.answered.is_empty(), "the load never got through");
    outcome.check(&server.database());
}

#[test]
fn what_is_kept_is_for_its_owner_alone() {
    let mut server = Server::builder().start();
    server.create_website();
    assert_eq!(server.send(&Request::page_view("/")).status, 200);
    let data = server.home().join("data");
    let mode =
        |path: &Path| std::fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    for name in ["", "ring"] {
        assert_eq!(mode(&data.join(name)), 0o700, "data/{name}");
    }
    let rings =
        std::fs::read_dir(data.join("ring")).expect("rings").map(|it| it.expect("one").path());
    let files: Vec<_> = rings.chain(["secret", "lock"].map(|name| data.join(name))).collect();
    assert!(files.len() > 2, "there is a ring");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}
