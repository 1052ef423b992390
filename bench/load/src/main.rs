//! Sends events to a server and measures. Open loop (`--rate`): requests have a schedule, and a latency counts from
//! the scheduled moment, so that a server that stalls cannot hide it (no coordinated omission). Closed loop
//! (without `--rate`): every connection sends its next request when the answer is there. Prints one JSON object.

mod mix;

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
    /// Website ids, separated by commas
    #[arg(long, value_delimiter = ',')]
    websites: Vec<String>,
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

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args = Args::parse();
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(args.seconds);
    let interval = args.rate.map(|rate| Duration::from_secs_f64(args.connections as f64 / rate));
    let tasks: Vec<_> = (0..args.connections)
        .map(|index| {
            let (address, websites) = (args.address.clone(), args.websites.clone());
            let first = start
                + interval.unwrap_or_default().mul_f64(index as f64 / args.connections as f64);
            let seed = args.seed.wrapping_mul(1_000_003) + index as u64;
            tokio::spawn(connection(address, websites, seed, first, interval, end))
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
            "max_ms": all.latency_us.max() as f64 / 1_000.0,
        })
    );
}

/// One connection until the end.
async fn connection(
    address: String,
    websites: Vec<String>,
    seed: u64,
    first: Instant,
    interval: Option<Duration>,
    end: Instant,
) -> Counts {
    let mut counts = Counts::new();
    let mut random = mix::Random(seed);
    let (mut request, mut body, mut buffer) = (String::new(), String::new(), Vec::new());
    let mut stream: Option<TcpStream> = None;
    let mut scheduled = first;
    loop {
        if let Some(interval) = interval {
            tokio::time::sleep_until(scheduled.into()).await;
            if scheduled >= end {
                return counts;
            }
            mix::request(&mut request, &mut body, &mut random, &websites, &address);
            exchange(&mut stream, &address, &request, &mut buffer, scheduled, &mut counts).await;
            scheduled += interval;
        } else {
            let now = Instant::now();
            if now >= end {
                return counts;
            }
            mix::request(&mut request, &mut body, &mut random, &websites, &address);
            exchange(&mut stream, &address, &request, &mut buffer, now, &mut counts).await;
        }
    }
}

async fn exchange(
    stream: &mut Option<TcpStream>,
    address: &str,
    request: &str,
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
    request: &str,
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
    stream.write_all(request.as_bytes()).await?;
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let Some(head) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|value| value.trim().parse::<usize>().ok())
            .unwrap_or(0);
        if buffer.len() >= head + 4 + length {
            return text
                .get(9..12)
                .and_then(|code| code.parse().ok())
                .ok_or_else(|| std::io::ErrorKind::InvalidData.into());
        }
    }
}
