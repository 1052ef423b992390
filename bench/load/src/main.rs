//! Sends events to a server and measures. Open loop (`--rate`): requests have a schedule, and a latency counts from
//! the scheduled moment, so that a server that stalls cannot hide it (no coordinated omission). Closed loop
//! (without `--rate`): every connection sends its next request when the answer is there. Prints one JSON object.
//!
//! Ordinary requests are made before the clock starts and sent from a pool, so that the generator needs less of its
//! core than the server of its own; `cpu` in the result is the share that it used, and near 1 means that it was the
//! bound. Batches, large bodies and distinct events are made as they are sent.

#![allow(clippy::disallowed_methods, reason = "the rule about clocks is the server's")]

mod connection;
mod mix;
mod schedule;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Parser;
use connection::Counts;
use hdrhistogram::Histogram;
use mix::Mix;
use schedule::Schedule;

#[derive(Parser)]
struct Args {
    /// Address of the server
    #[arg(long, default_value = "127.0.0.1:3000")]
    address: String,
    /// File with website ids, one a line
    #[arg(long)]
    websites: std::path::PathBuf,
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Requests per second over all connections; without it, closed loop
    #[arg(long)]
    rate: Option<f64>,
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Stop when so many requests were sent, if that is before the time is over
    #[arg(long, default_value_t = u64::MAX)]
    requests: u64,
    /// Events of one request, sent to /api/batch when more than one
    #[arg(long, default_value_t = 1)]
    batch: u64,
    /// Make bodies so long
    #[arg(long, default_value_t = 0)]
    body_bytes: usize,
    /// Give every event a path and a host name, and every request an agent, of its own
    #[arg(long)]
    distinct: bool,
    /// So many more connections that are open and silent
    #[arg(long, default_value_t = 0)]
    idle: usize,
    /// So many more connections that send a byte every 100 ms
    #[arg(long, default_value_t = 0)]
    slow: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Requests that are ready to be sent.
const POOL: usize = 50_000;
const SLOW_PAUSE: Duration = Duration::from_millis(100);

/// Where requests come from.
enum Source {
    Pool(Vec<Box<[u8]>>),
    Made(RefCell<Mix>),
}

impl Source {
    fn new(args: &Args) -> Self {
        let websites = std::fs::read_to_string(&args.websites).expect("the file of websites");
        let mut mix = Mix {
            random: mix::Random(args.seed),
            websites: websites.lines().map(str::to_owned).collect(),
            host: args.address.clone(),
            distinct: args.distinct,
            batch: args.batch,
            body_bytes: args.body_bytes,
            made: 0,
            body: String::new(),
        };
        if args.distinct || args.batch > 1 || args.body_bytes > 0 {
            return Self::Made(RefCell::new(mix));
        }
        let mut request = String::new();
        let mut make = || {
            mix.request(&mut request);
            request.as_bytes().into()
        };
        Self::Pool((0..POOL).map(|_| make()).collect())
    }

    /// The request at a place of the pool, or a new one in `scratch`.
    fn next<'a>(&'a self, at: &mut usize, scratch: &'a mut String) -> &'a [u8] {
        match self {
            Self::Pool(pool) => {
                *at = (*at + 1) % pool.len();
                &pool[*at]
            }
            Self::Made(mix) => {
                mix.borrow_mut().request(scratch);
                scratch.as_bytes()
            }
        }
    }
}

/// Processor time of this process so far.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // One thread: nothing that the connections share needs to be sent to another.
    tokio::task::LocalSet::new().run_until(run()).await;
}

async fn run() {
    let args = Args::parse();
    let source = Rc::new(Source::new(&args));
    let left = Rc::new(Cell::new(args.requests));
    let cpu_before = cpu_seconds();
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(args.seconds);
    for index in 0..args.idle + args.slow {
        let pause = (index >= args.idle).then_some(SLOW_PAUSE);
        tokio::task::spawn_local(connection::hold(args.address.clone(), pause, end));
    }
    let tasks: Vec<_> = (0..args.connections)
        .map(|index| {
            let schedule =
                args.rate.map(|rate| Schedule::new(start, end, rate, args.connections, index));
            let one = Connection {
                address: args.address.clone(),
                source: Rc::clone(&source),
                at: index * (POOL / args.connections),
                left: Rc::clone(&left),
                end,
            };
            tokio::task::spawn_local(one.run(schedule))
        })
        .collect();
    let mut all = Counts::new();
    for task in tasks {
        all.add(&task.await.expect("a connection's task"));
    }
    report(&args, &all, start.elapsed().as_secs_f64(), cpu_seconds() - cpu_before);
}

fn report(args: &Args, all: &Counts, seconds: f64, cpu_s: f64) {
    let ms = |of: &Histogram<u64>, quantile| of.value_at_quantile(quantile) as f64 / 1_000.0;
    println!(
        "{}",
        serde_json::json!({
            "connections": args.connections,
            "rate": args.rate,
            "seconds": seconds,
            "ok": all.ok,
            "events": all.events,
            "refused": all.refused,
            "other": all.other,
            "failed": all.failed,
            "ok_per_s": all.ok as f64 / seconds,
            "p50_ms": ms(&all.latency_us, 0.5),
            "p99_ms": ms(&all.latency_us, 0.99),
            "p999_ms": ms(&all.latency_us, 0.999),
            "max_ms": all.latency_us.max() as f64 / 1_000.0,
            "refused_p50_ms": ms(&all.refused_us, 0.5),
            "refused_p99_ms": ms(&all.refused_us, 0.99),
            "cpu": cpu_s / seconds,
        })
    );
}

/// One of those that send.
struct Connection {
    address: String,
    source: Rc<Source>,
    /// Where it is in the pool.
    at: usize,
    /// Requests that all connections together may still send.
    left: Rc<Cell<u64>>,
    end: Instant,
}

impl Connection {
    /// Sends until the schedule or the time is over, or no request is left.
    async fn run(mut self, mut schedule: Option<Schedule>) -> Counts {
        let mut counts = Counts::new();
        let (mut buffer, mut scratch) = (Vec::new(), String::new());
        let mut stream = None;
        loop {
            let moment = match &mut schedule {
                Some(schedule) => schedule.next(),
                None => Some(Instant::now()).filter(|now| *now < self.end),
            };
            let (Some(since), Some(left)) = (moment, self.left.get().checked_sub(1)) else {
                return counts;
            };
            self.left.set(left);
            if schedule.is_some() {
                tokio::time::sleep_until(since.into()).await;
            }
            let request = self.source.next(&mut self.at, &mut scratch);
            connection::exchange(
                &mut stream,
                &self.address,
                request,
                &mut buffer,
                since,
                &mut counts,
            )
            .await;
        }
    }
}
