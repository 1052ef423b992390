//! The program as people run it: a real process with its own data directory, on a free port, ended when the test ends.
//! What it prints is checked (the address comes from its own line), and its log is shown when something fails.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{Answer, Client, Request};

/// The password of `admin` in every test.
pub const PASSWORD: &str = "correct horse battery";
/// A website for tests that need one.
pub const WEBSITE: &str = "11111111-1111-4111-8111-111111111111";
/// A user agent that nobody takes for a robot.
pub const AGENT: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
                         Chrome/131.0.0.0 Safari/537.36";

/// A start takes a moment; on a busy machine a long one.
const START_SECONDS_MAX: u64 = 60;
/// What was answered is committed at the latest after this; far beyond the writer's interval.
const COMMIT_SECONDS_MAX: u64 = 60;
/// Longer than the interval in which the server refreshes its gauges.
const GAUGE_MS: u64 = 100;

/// A number from a test switch in the environment.
pub fn number_from_env(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// How to start a server.
#[derive(Clone)]
pub struct Builder {
    env: Vec<(String, String)>,
    args: Vec<String>,
    /// Run by the shell before the program takes its place.
    before: Option<&'static str>,
}

impl Builder {
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.retain(|(key, _)| key != name);
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// Runs a shell command first, for what a process inherits.
    pub fn before(mut self, command: &'static str) -> Self {
        self.before = Some(command);
        self
    }

    /// Starts on a fresh directory and waits until it listens.
    pub fn start(self) -> Server {
        let home = tempfile::tempdir().expect("a temporary directory");
        let process = Process::spawn(&self, home.path());
        Server::from_parts(self, home, process)
    }

    /// Runs to the end on a directory that may be in use; returns the exit status and what came on standard error.
    fn run_to_end(&self, home: &Path) -> (ExitStatus, String) {
        let output = command(self, home).output().expect("the program runs");
        (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Starts on `home`, without waiting for anything.
    pub fn spawn_only(&self, home: &Path) -> Child {
        let mut command = command(self, home);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
    }
}

fn command(builder: &Builder, home: &Path) -> Command {
    let program = env!("CARGO_BIN_EXE_sumimi");
    let mut command = Command::new(builder.before.map_or(program, |_| "/bin/sh"));
    if let Some(before) = builder.before {
        command.args(["-c", &format!("{before}; exec \"$0\" \"$@\""), program]);
    }
    command.env_clear().current_dir(home).stdin(Stdio::null());
    for name in ["PATH", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("SUMIMI_DATA_DIR", home.join("data"));
    command.envs(builder.env.iter().map(|(key, value)| (key, value))).args(&builder.args);
    command
}

/// A running process and where it listens.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn spawn(builder: &Builder, home: &Path) -> Self {
        let log = home.join("log");
        let stderr = File::options().create(true).append(true).open(&log).expect("a log file");
        let mut command = command(builder, home);
        #[allow(clippy::zombie_processes, reason = "`Drop` of the process waits for it")]
        let mut child =
            command.stdout(Stdio::piped()).stderr(stderr).spawn().expect("the program starts");
        let stdout = child.stdout.take().expect("standard output is piped");
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            // Reads to the end, so that the server never waits for its standard output.
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        let deadline = Instant::now() + Duration::from_secs(START_SECONDS_MAX);
        loop {
            let line = match lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {
                    let _ = child.kill();
                    panic!("the server did not start:\n{}", read(&log));
                }
            };
            if let Some((_, rest)) = line.split_once("http://") {
                let end = rest.find(|c: char| !(c.is_ascii_digit() || ".:[]".contains(c)));
                let address = rest[..end.unwrap_or(rest.len())].parse().expect("an address");
                return Self { child, address };
            }
        }
    }
}

fn read(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// A server of a test. Killed when dropped.
pub struct Server {
    builder: Builder,
    home: TempDir,
    process: Process,
    token: Option<String>,
}

/// How a server ended.
pub struct End {
    pub status: ExitStatus,
    pub took: Duration,
}

impl Server {
    pub fn builder() -> Builder {
        Builder { env: Vec::new(), args: vec!["serve".to_owned()], before: None }
            .env("SUMIMI_LISTEN", "127.0.0.1:0")
            .env("SUMIMI_ADMIN_PASSWORD", PASSWORD)
            .env("SUMIMI_MEMORY", "512MB")
            .env("SUMIMI_LOG", "warn")
    }

    fn from_parts(builder: Builder, home: TempDir, process: Process) -> Self {
        Self { builder, home, process, token: None }
    }

    /// A server over what another start left in `home`.
    pub fn start_in(builder: Builder, home: TempDir) -> Self {
        let process = Process::spawn(&builder, home.path());
        Self::from_parts(builder, home, process)
    }

    pub fn address(&self) -> SocketAddr {
        self.process.address
    }

    pub fn client(&self) -> Client {
        Client::new(self.address())
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn database(&self) -> PathBuf {
        self.home().join("data/sumimi.duckdb")
    }

    /// All that the process wrote to standard error, in all its lives.
    pub fn log(&self) -> String {
        read(&self.home().join("log"))
    }

    /// Sends one request on a connection of its own.
    pub fn send(&self, request: &Request) -> Answer {
        let answer = self.client().send(request);
        answer.unwrap_or_else(|error| {
            panic!("{} {}: {error}\n{}", request.method, request.path, self.log())
        })
    }

    /// The token of `admin`, asked for once.
    pub fn login(&mut self) -> String {
        if let Some(token) = &self.token {
            return token.clone();
        }
        let body = json!({"username": "admin", "password": PASSWORD}).to_string();
        let answer = self.send(&Request::post("/api/auth/login", body).json());
        assert_eq!(answer.status, 200, "{}", answer.text());
        let token = answer.json()["token"].as_str().expect("a token").to_owned();
        self.token = Some(token.clone());
        token
    }

    /// Creates [`WEBSITE`].
    pub fn create_website(&mut self) {
        let token = self.login();
        let body = json!({"id": WEBSITE, "name": "Test", "domain": "example.com"}).to_string();
        let answer = self.send(&Request::post("/api/websites", body).json().bearer(&token));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// Asks a question as `admin`; the answer must be 200.
    pub fn ask(&mut self, path: &str) -> Value {
        let token = self.login();
        let answer = self.send(&Request::get(path).bearer(&token));
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    pub fn heartbeat(&self) -> Value {
        self.send(&Request::get("/api/heartbeat")).json()
    }

    /// Waits until everything that was answered is in the database: nothing waits in a ring, twice, further apart than
    /// the gauge's interval.
    pub fn wait_until_committed(&self) {
        let deadline = Instant::now() + Duration::from_secs(COMMIT_SECONDS_MAX);
        let mut empty = 0;
        while empty < 2 {
            let beat = self.heartbeat();
            empty = if beat["ring"]["events_waiting"] == 0 { empty + 1 } else { 0 };
            assert!(Instant::now() < deadline, "events still wait: {beat}\n{}", self.log());
            thread::sleep(Duration::from_millis(GAUGE_MS));
        }
    }

    /// Ends it as an out-of-memory kill does: at once, with no chance to do anything.
    pub fn kill9(&mut self) {
        self.process.child.kill().expect("it was running");
        self.process.child.wait().expect("it has ended");
    }

    pub fn pid(&self) -> u32 {
        self.process.child.id()
    }

    /// Waits until it ends by itself.
    pub fn wait_for_end(&mut self, longest: Duration) -> End {
        let since = Instant::now();
        loop {
            if let Some(status) = self.process.child.try_wait().expect("it is a child") {
                return End { status, took: since.elapsed() };
            }
            assert!(since.elapsed() < longest, "it runs on\n{}", self.log());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asks it to stop, and waits.
    pub fn terminate(&mut self) -> End {
        let asked_at = Instant::now();
        let pid = self.process.child.id().to_string();
        let kill = Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
        assert!(kill.success(), "it was running:\n{}", self.log());
        let status = self.process.child.wait().expect("it has ended");
        End { status, took: asked_at.elapsed() }
    }

    /// Starts a second program beside it with the same settings, and waits until that one ends.
    pub fn run_another(&self) -> (ExitStatus, String) {
        self.builder.run_to_end(self.home.path())
    }

    /// After it has ended: starts it on the same directory and kills it after a while, listening or not.
    pub fn start_and_kill_after(&self, delay: Duration) {
        let mut child = self.builder.spawn_only(self.home.path());
        thread::sleep(delay);
        child.kill().expect("it was started");
        child.wait().expect("it has ended");
    }

    /// Starts it again on the same directory, after it has ended.
    pub fn restart(&mut self) {
        self.process = Process::spawn(&self.builder, self.home.path());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.child.kill();
        let _ = self.process.child.wait();
    }
}

impl Request {
    /// Says that the body is JSON.
    pub fn json(self) -> Self {
        self.header("content-type", "application/json")
    }

    /// A page view of [`WEBSITE`] as the tracker sends it.
    pub fn page_view(path: &str) -> Self {
        let payload = json!({"website": WEBSITE, "hostname": "example.com", "url": path});
        Self::event(&payload)
    }

    /// A message of type `event` as the tracker sends it.
    pub fn event(payload: &Value) -> Self {
        let body = json!({"type": "event", "payload": payload}).to_string();
        Self::post("/api/send", body).json().header("user-agent", AGENT)
    }
}
