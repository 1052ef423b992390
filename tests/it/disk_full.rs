//! A disk that fills up: a small one of our own (tmpfs), filled by events or by somebody else. The server refuses new
//! events while there is still a reserve, answers questions throughout, goes on by itself when there is room, and has
//! every event that it answered. Mounting needs root: the tests run where `SUMIMI_ROOT_TESTS=1` says so.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::faults::{check_after_end, large_event, send_large, wait_for_heartbeat};
use crate::http::Request;
use crate::kill::Outcome;
use crate::process::{Server, WEBSITE, number_from_env};

const MIB: u64 = 1 << 20;
const DISK_MIB: u64 = 320;
/// How soon a change of the disk must have shown.
const SEEN_SECONDS_MAX: u64 = 10;

/// A disk of [`DISK_MIB`], gone when dropped.
struct Disk(TempDir);

impl Disk {
    /// `None` where tests may not mount.
    fn mount() -> Option<Self> {
        if number_from_env("SUMIMI_ROOT_TESTS", 0) == 0 {
            println!("skipped: SUMIMI_ROOT_TESTS is not set");
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let size = format!("size={DISK_MIB}m");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "sumimi-test"]).arg(dir.path());
        assert!(mount.status().expect("mount runs").success(), "needs root");
        Some(Self(dir))
    }

    fn start(&self) -> Server {
        let home = tempfile::tempdir_in(self.0.path()).expect("a directory");
        Server::start_in(Server::builder(), home)
    }

    fn filler(&self) -> PathBuf {
        self.0.path().join("filler")
    }

    /// Somebody else writes until only this much is left; true when it could.
    fn fill(&self, server: &Server, leave_bytes: u64) {
        let mut file =
            File::options().create(true).append(true).open(self.filler()).expect("opens");
        let chunk = vec![1; 1 << 18];
        while leave_bytes == 0 || free_bytes(server) > leave_bytes {
            match file.write_all(&chunk) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return,
                Err(error) => panic!("{error}"),
            }
            if leave_bytes > 0 {
                thread::sleep(Duration::from_millis(10));
            }
        }
    }

    fn free(&self) {
        fs::remove_file(self.filler()).expect("it was written");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

fn free_bytes(server: &Server) -> u64 {
    server.heartbeat()["store"]["disk_free_bytes"].as_u64().expect("a number")
}

fn wait_for(server: &Server, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let since = Instant::now();
    loop {
        let beat = server.heartbeat();
        if is_so(&beat) {
            return beat;
        }
        let waited = since.elapsed();
        assert!(waited.as_secs() < SEEN_SECONDS_MAX, "{what}: {beat}\n{}", server.log());
        thread::sleep(Duration::from_millis(20));
    }
}

fn ask(server: &mut Server) {
    let stats = server.ask(&format!("/api/websites/{WEBSITE}/stats?startAt=0&endAt=4102444800000"));
    assert!(stats["pageviews"].is_number() || stats["pageviews"].is_object(), "{stats}");
}

#[test]
fn a_disk_that_fills_up_refuses_events_with_a_reserve_left_and_goes_on_by_itself() {
    let Some(disk) = Disk::mount() else { return };
    let mut server = disk.start();
    server.create_website();
    let mut outcome = Outcome::default();
    send_large(&server, "before", 20, &mut outcome);
    server.wait_until_committed();
    let reserve = server.heartbeat()["store"]["disk_reserve_bytes"].as_u64().expect("a number");
    disk.fill(&server, reserve + 4 * MIB);
    let sent = send_large(&server, "filling", 4_000, &mut outcome);
    assert!(sent < 4_000, "the events filled the disk");
    let answer = server.send(&large_event("/refused", 1_000));
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (503, &"disk".into()));
    assert!(answer.header("retry-after").is_some());
    server.wait_until_committed();
    let beat = wait_for(&server, "is low", |beat| beat["store"]["disk_low"] == true);
    assert_eq!(beat["ok"], true, "what was accepted is stored: {beat}");
    assert!(free_bytes(&server) > reserve / 2, "a reserve is kept: {beat}");
    assert!(beat["gate"]["refused"]["disk"].as_u64() >= Some(2), "{beat}");
    ask(&mut server);

    disk.free();
    wait_for(&server, "goes on", |beat| beat["store"]["disk_low"] == false);
    assert_eq!(send_large(&server, "after", 20, &mut outcome), 20, "{}", server.log());
    check_after_end(server, &outcome);
}

#[test]
fn a_disk_that_others_fill_to_the_last_byte_costs_no_event_and_no_question() {
    let Some(disk) = Disk::mount() else { return };
    let mut server = disk.start();
    server.create_website();
    for ring in fs::read_dir(server.home().join("data/ring")).expect("rings") {
        let ring = ring.expect("a file").metadata().expect("it is there");
        assert!(
            ring.blocks() * 512 >= ring.len(),
            "a hole would be a fault in the middle of an event"
        );
    }
    let mut outcome = Outcome::default();
    let load = thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let mut outcome = Outcome::default();
            while outcome.refused == 0 && outcome.unknown.is_empty() {
                send_large(&server, &format!("load-{}", outcome.answered.len()), 50, &mut outcome);
            }
            outcome
        });
        thread::sleep(Duration::from_millis(500));
        disk.fill(&server, 0);
        sending.join().expect("no other answer")
    });
    assert!(load.unknown.is_empty() && !load.answered.is_empty(), "{}", server.log());
    outcome.add(load);
    ask(&mut server);
    if server.heartbeat()["ring"]["events_waiting"] != 0 {
        assert_eq!(wait_for_heartbeat(&server, 503)["ok"], false, "nothing can be stored");
    }
    // Killed, it starts on the full disk, and answers questions at least.
    server.kill9();
    server.restart();
    ask(&mut server);
    assert_eq!(server.send(&Request::page_view("/refused")).status, 503);

    disk.free();
    server.wait_until_committed();
    wait_for_heartbeat(&server, 200);
    assert_eq!(send_large(&server, "after", 20, &mut outcome), 20, "{}", server.log());
    check_after_end(server, &outcome);
}
