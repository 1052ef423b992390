//! Sends events to a server and measures. Open loop (`--rate`): requests have a schedule, and a latency counts from
//! the scheduled moment, so that a server that stalls cannot hide it (no coordinated omission). Closed loop
//! (without `--rate`): every connection sends its next request when the answer is there. Prints one JSON object.
//!
//! Requests are made before the clock starts and sent from a pool, so that the generator needs less of its core than
//! the server of its own; `cpu` in the result is the share that it used, and near 1 means that it was the bound.

#![allow(clippy::disallowed_methods, reason = "the rule about clocks is the server's")]

mod mix;

use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Parser;
use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

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
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

struct Counts {
    latency_us: Histogram<u64>,
    ok: u64,
    refused: u64,
    other: u64,
    failed: u64,
}

impl Counts {
    fn new() -> Self {
        let latency_us = Histogram::new_with_bounds(1, 120_000_000, 3).expect("bounds are valid");
        Self { latency_us, ok: 0, refused: 0, other: 0, failed: 0 }
    }
}

/// Requests that are ready to be sent.
const POOL: usize = 50_000;

fn pool(args: &Args) -> Vec<Box<[u8]>> {
    let websites = std::fs::read_to_string(&args.websites).expect("the file of websites");
    let websites: Vec<String> = websites.lines().map(str::to_owned).collect();
    let mut random = mix::Random(args.seed);
    let (mut request, mut body) = (String::new(), String::new());
    let mut make = || {
        mix::request(&mut request, &mut body, &mut random, &websites, &args.address);
        request.as_bytes().into()
    };
    (0..POOL).map(|_| make()).collect()
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
    let pool = Rc::new(pool(&args));
    let cpu_before = cpu_seconds();
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(args.seconds);
    let interval = args.rate.map(|rate| Duration::from_secs_f64(args.connections as f64 / rate));
    let tasks: Vec<_> = (0..args.connections)
        .map(|index| {
            let (address, pool) = (args.address.clone(), Rc::clone(&pool));
            let first = start
                + interval.unwrap_or_default().mul_f64(index as f64 / args.connections as f64);
            let at = index * (POOL / args.connections);
            tokio::task::spawn_local(connection(address, pool, at, first, interval, end))
        })
        .collect();
    let mut all = Counts::new();
    for task in tasks {
        let counts = task.await.expect("a connection's task");
        all.latency_us.add(counts.latency_us).expect("same bounds");
        all.ok += counts.ok;
        all.refused += counts.refused;
        all.other += counts.other;
        all.failed += counts.failed;
    }
    let seconds = start.elapsed().as_secs_f64();
    let quantile = |q| all.latency_us.value_at_quantile(q) as f64 / 1_000.0;
    println!(
        "{}",
        serde_json::json!({
            "connections": args.connections,
            "rate": args.rate,
            "seconds": seconds,
            "ok": all.ok,
            "refused": all.refused,
            "other": all.other,
            "failed": all.failed,
            "ok_per_s": all.ok as f64 / seconds,
            "p50_ms": quantile(0.5),
            "p99_ms": quantile(0.99),
            "p999_ms": quantile(0.999),
            "cpu": (cpu_seconds() - cpu_before) / seconds,
            "max_ms": all.latency_us.max() as f64 / 1_000.0,
        })
    );
}

/// One connection until the end.
async fn connection(
    address: String,
    pool: Rc<Vec<Box<[u8]>>>,
    mut at: usize,
    first: Instant,
    interval: Option<Duration>,
    end: Instant,
) -> Counts {
    let mut counts = Counts::new();
    let mut buffer = Vec::new();
    let mut stream: Option<TcpStream> = None;
    let mut scheduled = first;
    loop {
        if let Some(interval) = interval {
            tokio::time::sleep_until(scheduled.into()).await;
            if scheduled >= end {
                return counts;
            }
            exchange(&mut stream, &address, &pool[at], &mut buffer, scheduled, &mut counts).await;
            scheduled += interval;
        } else {
            let now = Instant::now();
            if now >= end {
                return counts;
            }
            exchange(&mut stream, &address, &pool[at], &mut buffer, now, &mut counts).await;
        }
        at = (at + 1) % pool.len();
    }
}

async fn exchange(
    stream: &mut Option<TcpStream>,
    address: &str,
    request: &[u8],
    buffer: &mut Vec<u8>,
    since: Instant,
    counts: &mut Counts,
) {
    let status = match send(stream, address, request, buffer).await {
        Ok(status) => status,
        Err(_) => {
            *stream = None;
            counts.failed += 1;
            return;
        }
    };
    counts.latency_us.saturating_record(since.elapsed().as_micros() as u64);
    match status {
        200 => counts.ok += 1,
        503 => counts.refused += 1,
        _ => counts.other += 1,
    }
}

/// Sends a request and reads the whole answer; returns its status.
async fn send(
    stream: &mut Option<TcpStream>,
    address: &str,
    request: &[u8],
    buffer: &mut Vec<u8>,
) -> std::io::Result<u16> {
    let stream = match stream {
        Some(stream) => stream,
        None => {
            let fresh = TcpStream::connect(address).await?;
            fresh.set_nodelay(true)?;
            stream.insert(fresh)
        }
    };
    stream.write_all(request).await?;
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let Some(head) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let length = content_length(&buffer[..head]).unwrap_or(0);
        if buffer.len() >= head + 4 + length {
            let status =
                std::str::from_utf8(&buffer[9..12]).ok().and_then(|code| code.parse().ok());
            return status.ok_or_else(|| std::io::ErrorKind::InvalidData.into());
        }
    }
}

/// The length that an answer's head announces.
fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let line = head.split(|byte| *byte == b'\n').find(|line| {
        line.get(..NAME.len()).is_some_and(|start| start.eq_ignore_ascii_case(NAME))
    })?;
    std::str::from_utf8(&line[NAME.len()..]).ok()?.trim().parse().ok()
}
