//! One connection: a request out, its whole answer in, counted. Speaks just enough HTTP for that.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What became of requests. Those that were refused have latencies of their own.
pub struct Counts {
    pub latency_us: Histogram<u64>,
    pub refused_us: Histogram<u64>,
    pub ok: u64,
    /// Events in the requests that were `ok`.
    pub events: u64,
    pub refused: u64,
    pub other: u64,
    pub failed: u64,
}

impl Counts {
    pub fn new() -> Self {
        let empty = || Histogram::new_with_bounds(1, 120_000_000, 3).expect("bounds are valid");
        let (latency_us, refused_us) = (empty(), empty());
        Self { latency_us, refused_us, ok: 0, events: 0, refused: 0, other: 0, failed: 0 }
    }

    pub fn add(&mut self, other: &Self) {
        self.latency_us.add(&other.latency_us).expect("same bounds");
        self.refused_us.add(&other.refused_us).expect("same bounds");
        self.ok += other.ok;
        self.events += other.events;
        self.refused += other.refused;
        self.other += other.other;
        self.failed += other.failed;
    }
}

/// Sends one request and counts what became of it. The latency of an answer counts from `since`, that of a refusal from
/// the sending: when more is offered than this program can send, the rest of the wait is its own.
pub async fn exchange(
    stream: &mut Option<TcpStream>,
    address: &str,
    request: &[u8],
    buffer: &mut Vec<u8>,
    since: Instant,
    counts: &mut Counts,
) {
    let sent = Instant::now();
    let status = match send(stream, address, request, buffer).await {
        Ok(status) => status,
        Err(_) => {
            *stream = None;
            counts.failed += 1;
            return;
        }
    };
    let us = since.elapsed().as_micros() as u64;
    if is_last(buffer) {
        *stream = None;
    }
    match status {
        200 => {
            counts.latency_us.saturating_record(us);
            counts.ok += 1;
            counts.events += processed(buffer).unwrap_or(1);
        }
        503 => {
            counts.refused_us.saturating_record(sent.elapsed().as_micros() as u64);
            counts.refused += 1;
        }
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

/// Whether the answer's head says that the server closes the connection.
fn is_last(answer: &[u8]) -> bool {
    const LINE: &[u8] = b"connection: close";
    let lines = answer.split(|byte| *byte == b'\n').take_while(|line| line.len() > 1);
    lines.map(<[u8]>::trim_ascii_end).any(|line| line.eq_ignore_ascii_case(LINE))
}

/// How many events of a batch were taken, from its answer; the answer to a single event does not say.
fn processed(answer: &[u8]) -> Option<u64> {
    const NAME: &[u8] = b"\"processed\":";
    let at = answer.windows(NAME.len()).position(|window| window == NAME)? + NAME.len();
    let digits = answer[at..].iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// Holds a connection open until `end`: silent, or sending a request's body a byte at a time every `pause`. What the
/// server closes is opened anew.
pub async fn hold(address: String, pause: Option<Duration>, end: Instant) {
    const HEAD: &[u8] =
        b"POST /api/send HTTP/1.1\r\nhost: slow\r\ncontent-type: application/json\r\n\
        content-length: 60000\r\n\r\n";
    let until = tokio::time::Instant::from_std(end);
    while Instant::now() < end {
        let once = async {
            let mut stream = TcpStream::connect(&address).await?;
            let Some(pause) = pause else {
                return stream.read_u8().await;
            };
            stream.write_all(HEAD).await?;
            loop {
                stream.write_u8(b' ').await?;
                tokio::time::sleep(pause).await;
            }
        };
        let _ = tokio::time::timeout_at(until, once).await;
        // A server that refuses connections is not asked again at once.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
