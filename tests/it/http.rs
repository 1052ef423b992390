//! A plain HTTP/1.1 client over one kept connection. Tests need what libraries refuse to send: odd methods, bodies cut
//! short, raw bytes in headers, lengths that lie. It never sends a request twice, so that counts stay exact.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long an answer may take; far beyond any deadline of the server.
const ANSWER_SECONDS_MAX: u64 = 60;

/// What is sent: the parts as they are, nothing encoded and nothing added but `host` and `content-length`.
#[derive(Clone, Default)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Option<Vec<u8>>,
}

impl Request {
    pub fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), ..Self::default() }
    }

    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub fn post(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new("POST", path).body(body)
    }

    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// The bytes on the wire.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.path).into_bytes();
        let has = |name: &str| self.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        if !has("host") {
            bytes.extend(b"host: 127.0.0.1\r\n");
        }
        for (name, value) in &self.headers {
            bytes.extend(name.as_bytes());
            bytes.extend(b": ");
            bytes.extend(value);
            bytes.extend(b"\r\n");
        }
        let body = self.body.as_deref();
        if let (Some(body), false) = (body, has("content-length") || has("transfer-encoding")) {
            bytes.extend(format!("content-length: {}\r\n", body.len()).into_bytes());
        }
        bytes.extend(b"\r\n");
        bytes.extend(body.unwrap_or_default());
        bytes
    }
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One connection, opened when needed and kept while the server keeps it.
pub struct Client {
    address: SocketAddr,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, connection: None }
    }

    /// Sends a request and reads its answer.
    pub fn send(&mut self, request: &Request) -> io::Result<Answer> {
        self.send_bytes(&request.encode(), request.method == "HEAD")
    }

    /// Sends any bytes and reads one answer.
    pub fn send_bytes(&mut self, bytes: &[u8], is_head: bool) -> io::Result<Answer> {
        let mut connection = match self.connection.take() {
            Some(kept) if !is_closed(kept.get_ref()) => kept,
            _ => connect(self.address)?,
        };
        // A server that refuses a body answers before it has read it: the answer counts, not the broken pipe.
        let sent = connection.get_mut().write_all(bytes);
        let answer = match (read_answer(&mut connection, is_head), sent) {
            (Ok(answer), _) => answer,
            (Err(_), Err(error)) | (Err(error), Ok(())) => return Err(error),
        };
        if !answer.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            self.connection = Some(connection);
        }
        Ok(answer)
    }
}

fn connect(address: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(ANSWER_SECONDS_MAX)))?;
    Ok(BufReader::new(stream))
}

/// Whether the server has hung up on a kept connection.
fn is_closed(stream: &TcpStream) -> bool {
    let mut byte = [0];
    let looked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut byte));
    let restored = stream.set_nonblocking(false).is_ok();
    !restored || !matches!(looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

fn read_answer(from: &mut BufReader<TcpStream>, is_head: bool) -> io::Result<Answer> {
    loop {
        let (status, headers) = read_head(from)?;
        let mut answer = Answer { status, headers, body: Vec::new() };
        if status < 200 {
            continue;
        }
        if !is_head && status != 204 && status != 304 {
            answer.body = read_body(from, &answer)?;
        }
        return Ok(answer);
    }
}

fn read_head(from: &mut impl BufRead) -> io::Result<(u16, Vec<(String, String)>)> {
    let line = read_line(from)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("no status in {line:?}")))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(from)?;
        match line.split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => return Ok((status, headers)),
        }
    }
}

fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    if from.read_until(b'\n', &mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

fn read_body(from: &mut impl BufRead, answer: &Answer) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if answer.header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        loop {
            let line = read_line(from)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
            from.take(size).read_to_end(&mut body)?;
            read_line(from)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    match answer.header("content-length").map(str::parse::<u64>) {
        Some(length) => {
            let length = length.map_err(io::Error::other)?;
            if from.take(length).read_to_end(&mut body)? as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        None => {
            from.read_to_end(&mut body)?;
        }
    }
    Ok(body)
}
