//! `sumimi serve`, in start-up order: settings, directory and lock, secret, database, what a crash left in the rings,
//! fresh rings, writer, HTTP. Stopping is the reverse: intake stops, the rings are drained, the log is folded, exit 0.
//!
//! Invariants: one server per data directory; every step can be killed and the next start finds something that
//! starts; the process ends non-zero when events can no longer be stored.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use actix_web::HttpServer;
use anyhow::{Context, Result, anyhow, bail};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::auth::Auth;
use crate::budget::{self, Budget};
use crate::config::Config;
use crate::health::Health;
use crate::intake::{Intake, Shared, pace};
use crate::limits;
use crate::ring::{self, Consumer, Durability, GroupSync, Producer};
use crate::server::{self, Recorder, Services};
use crate::store::Store;
use crate::store::reader::Readers;
use crate::telemetry::Telemetry;
use crate::tracker::TrackerAssets;
use crate::writer::Writer;

/// Serves until a signal or a fatal error.
///
/// # Errors
/// One line that tells what to do.
pub fn run(config: &Config) -> Result<()> {
    start_log(&config.log)?;
    let budget = Budget::new(config, budget::memory_seen_bytes(Path::new("/")), budget::cpus());
    let data_dir = create_data_dir(&config.data_dir)?;
    let _lock = lock(&data_dir)?;
    let secret = secret(config, &data_dir)?;
    let store = Arc::new(Store::open(&data_dir)?);
    let telemetry = Arc::new(Telemetry::default());

    let ring_dir = data_dir.join("ring");
    create_private_dir(&ring_dir)?;
    recover(&store, &ring_dir, &telemetry, &data_dir, &budget)?;
    let durability = Durability::from_setting(&config.durability);
    let (producers, consumers) = open_rings(&ring_dir, &budget, durability)?;
    let writer = Writer::new(&store, consumers, Arc::clone(&telemetry), &data_dir)?;

    let directory = Arc::new(store.directory()?);
    let auth = Arc::new(Auth::open(&store, Arc::clone(&directory), secret.as_bytes())?);
    let generated = auth.ensure_admin(config.admin_password.clone())?;
    let collect_path = config.collect_api_endpoint.clone();
    let names = config.tracker_script_name.as_deref().unwrap_or_default();
    let services = Services {
        readers: Arc::new(Readers::new(&store)?),
        store: Arc::clone(&store),
        auth,
        directory: Arc::clone(&directory),
        health: Arc::new(Health::new(
            Arc::clone(&telemetry),
            budget.clone(),
            store.path().to_owned(),
        )),
        tracker: Arc::new(TrackerAssets::new(collect_path.as_deref().unwrap_or("/api/send"))),
        recorder: Arc::new(Recorder::new(&secret, config.replay_days)),
        tracker_names: names.split(',').map(str::to_owned).collect(),
        base_path: config.base_path.clone().unwrap_or_default(),
        collect_path,
    };
    let shared = Arc::new(Shared::new(config, &secret, budget.rate, directory, telemetry)?);
    serve(config, &budget, &services, &shared, producers, writer, generated.as_deref())
}

/// Runs the threads that keep events and the HTTP server until one of them ends.
fn serve(
    config: &Config,
    budget: &Budget,
    services: &Services,
    shared: &Arc<Shared>,
    mut producers: Vec<Producer>,
    writer: Writer,
    generated: Option<&str>,
) -> Result<()> {
    let (stop_writer, stopped) = crossbeam_channel::bounded(0);
    let keeper_ended = Arc::new(Notify::new());
    let writer = spawn("writer", &keeper_ended, move || writer.run(&stopped))?;
    let flusher = match Durability::from_setting(&config.durability) {
        Durability::Process => None,
        Durability::Power => {
            let group = GroupSync::attach(producers.iter_mut());
            let telemetry = Arc::clone(&shared.telemetry);
            Some(spawn("flusher", &keeper_ended, move || flush(group, &telemetry))?)
        }
    };

    let gauges = producers.iter().map(Producer::gauge).collect();
    let pace = pace::keep(Arc::clone(shared), gauges, budget.rate);
    let factory = {
        let (services, shared) = (services.clone(), Arc::clone(shared));
        let producers = Mutex::new(producers);
        Arc::new(move || server::app(&services, intake(&services, &shared, &producers)))
    };
    let outcome = actix_web::rt::System::new().block_on(async {
        let server = HttpServer::new(move || factory())
            .workers(budget.workers)
            .worker_max_blocking_threads(limits::BLOCKING_THREADS_PER_WORKER)
            .max_connections(limits::CONNECTIONS_PER_WORKER_MAX)
            .keep_alive(Duration::from_secs(limits::KEEP_ALIVE_SECONDS))
            .client_request_timeout(Duration::from_millis(limits::REQUEST_HEAD_MS_MAX))
            .shutdown_timeout(limits::SHUTDOWN_SECONDS_MAX)
            .disable_signals()
            .bind(config.listen)
            .with_context(|| {
                format!("SUMIMI_LISTEN (--listen): cannot listen on {}", config.listen)
            })?;
        actix_web::rt::spawn(pace);
        let port = server.addrs().first().map_or(config.listen.port(), std::net::SocketAddr::port);
        let running = server.run();
        greet(config, port, generated);
        let handle = running.handle();
        actix_web::rt::spawn(async move {
            let graceful = tokio::select! {
                graceful = ask_to_stop() => graceful,
                () = keeper_ended.notified() => false,
            };
            if !graceful {
                thread::spawn(end_at_last);
            }
            handle.stop(graceful).await;
        });
        running.await.context("the HTTP server has failed")
    });
    drop(stop_writer);
    let written = joined("writer", writer);
    // It ends by itself only when it has failed, or when the last worker has gone.
    let synced = flusher.filter(JoinHandle::is_finished).map(|it| joined("flusher", it));
    outcome.and(written).and(synced.unwrap_or(Ok(())))
}

/// One worker's side of the intake, with the next ring.
fn intake(services: &Services, shared: &Arc<Shared>, producers: &Mutex<Vec<Producer>>) -> Intake {
    let producer = producers.lock().ok().and_then(|mut list| list.pop());
    let collect_path = services.collect_path.as_deref();
    Intake::new(Arc::clone(shared), producer, &services.base_path, collect_path)
}

/// Starts a thread that keeps events; when it ends, however it ends, the server must not go on.
fn spawn(
    name: &str,
    ended: &Arc<Notify>,
    work: impl FnOnce() -> Result<()> + Send + 'static,
) -> Result<JoinHandle<Result<()>>> {
    struct Bell(Arc<Notify>);
    impl Drop for Bell {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let bell = Bell(Arc::clone(ended));
    let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _bell = bell;
        work()
    });
    thread.with_context(|| format!("cannot start the {name}"))
}

fn joined(name: &str, thread: JoinHandle<Result<()>>) -> Result<()> {
    thread.join().map_err(|_| anyhow!("the {name} has crashed; its events wait"))?
}

/// Flushes the rings for those who wait; a disk that fails once is not asked again.
fn flush(group: GroupSync, telemetry: &Telemetry) -> Result<()> {
    group.run(|| telemetry.syncs.add(1)).map_err(|error| {
        telemetry.engine_dead.set(1);
        error.into()
    })
}

/// Ends the process that has failed and does not come to its end, so that a supervisor starts it again.
fn end_at_last() {
    let longest = Duration::from_millis(limits::FAILED_END_MS_MAX);
    let _ = crossbeam_channel::after(longest).recv();
    tracing::error!("the failed server hangs and is ended; what it answered waits in the rings");
    std::process::abort();
}

/// Ends when the process is told to stop.
async fn ask_to_stop() -> bool {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    true
}

/// Address, sign-in and next step, on standard output.
fn greet(config: &Config, port: u16, generated: Option<&str>) {
    let mut address = config.listen;
    address.set_port(port);
    let base_path = config.base_path.as_deref().unwrap_or_default();
    let sign_in = match generated {
        Some(password) => format!("the password {password} (shown this once)"),
        None => "your password (`sumimi user password admin` sets a new one)".to_owned(),
    };
    let mut out = std::io::stdout().lock();
    // A closed standard output is no reason not to serve.
    let _ = writeln!(
        out,
        "Sumimi {} listens on http://{address}{base_path}\n\
         Sign in as admin with {sign_in}\n\
         Next: add a website and its snippet, see README.md (POST /api/websites)",
        env!("CARGO_PKG_VERSION"),
    );
    let _ = out.flush();
}

fn start_log(filter: &str) -> Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .with_context(|| format!("SUMIMI_LOG (--log): {filter:?} is not a level or a filter"))?;
    // Already started: a test that serves twice in one process keeps the first one.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_writer(std::io::stderr)
        .try_init();
    Ok(())
}

fn create_data_dir(path: &Path) -> Result<PathBuf> {
    create_private_dir(path).and_then(|()| path.canonicalize()).with_context(|| {
        format!("SUMIMI_DATA_DIR (--data-dir): cannot create or open {}", path.display())
    })
}

/// Only its owner may look inside; one that exists keeps its mode.
fn create_private_dir(path: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// One server per directory. The lock dies with the process.
fn lock(data_dir: &Path) -> Result<fs::File> {
    let path = data_dir.join("lock");
    let file = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| {
            format!("SUMIMI_DATA_DIR (--data-dir): cannot write in {}", data_dir.display())
        })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => bail!(
            "another sumimi uses {}; stop it first, or name another directory with SUMIMI_DATA_DIR",
            data_dir.display()
        ),
    }
}

/// The given secret, or the one in the data directory, made at the first start: 32 random bytes in hex, mode 0600.
fn secret(config: &Config, data_dir: &Path) -> Result<String> {
    if let Some(secret) = &config.app_secret {
        return Ok(secret.clone());
    }
    let path = data_dir.join("secret");
    if let Ok(secret) = fs::read_to_string(&path) {
        return Ok(secret.trim().to_owned());
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).context("the system gives no random bytes")?;
    let words =
        bytes.chunks_exact(8).map(|word| word.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)));
    let secret = words.fold(String::new(), |text, word| text + &format!("{word:016x}"));
    let aside = data_dir.join("secret.new");
    let mut file =
        fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&aside)?;
    file.write_all(secret.as_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, &path)?;
    fs::File::open(data_dir)?.sync_all()?;
    Ok(secret)
}

/// Commits what a crash left in the rings, then removes the files that do not fit the settings of today.
fn recover(
    store: &Store,
    ring_dir: &Path,
    telemetry: &Arc<Telemetry>,
    data_dir: &Path,
    budget: &Budget,
) -> Result<()> {
    let mut found = Vec::new();
    for entry in fs::read_dir(ring_dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ring") {
            // What is released here is the database's; nothing is pushed, so no position needs to be synced.
            let capacity = budget.ring_bytes_each as usize;
            let (_, consumer) = ring::open(&path, capacity, Durability::Process)?;
            found.push((path, consumer));
        }
    }
    let unfit: Vec<PathBuf> = found
        .iter()
        .filter(|(path, consumer)| {
            let expected = (0..budget.workers).any(|index| *path == ring_path(ring_dir, index));
            !expected || consumer.capacity_bytes() as u64 != budget.ring_bytes_each
        })
        .map(|(path, _)| path.clone())
        .collect();
    let consumers = found.into_iter().map(|(_, consumer)| consumer).collect();
    let mut writer = Writer::new(store, consumers, Arc::clone(telemetry), data_dir)?;
    let drained = writer.drain().context("events of the last run cannot be stored yet")?;
    drop(writer);
    // With a full disk they wait on, those of unfit files for the next start.
    for path in unfit.into_iter().filter(|_| drained) {
        fs::remove_file(path)?;
    }
    Ok(())
}

fn open_rings(
    ring_dir: &Path,
    budget: &Budget,
    durability: Durability,
) -> Result<(Vec<Producer>, Vec<Consumer>)> {
    let capacity = budget.ring_bytes_each as usize;
    let open = |index| ring::open(&ring_path(ring_dir, index), capacity, durability);
    let rings: Result<Vec<_>, _> = (0..budget.workers).map(open).collect();
    Ok(rings?.into_iter().unzip())
}

fn ring_path(ring_dir: &Path, index: usize) -> PathBuf {
    ring_dir.join(format!("{index}.ring"))
}
