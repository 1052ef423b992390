//! The events that are sent: a realistic mix, the same for the same seed. 10,000 paths and 200,000 visitors with a
//! skew (few are popular), real user agents, referrers on one view in five, UTM on one in twenty, and one event in
//! twenty is a custom event with data.

use std::fmt::Write;

const AGENTS: [&str; 8] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0",
    "Mozilla/5.0 (Linux; Android 14; SAMSUNG SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36",
];
const REFERRERS: [&str; 6] = [
    "https://www.google.com/",
    "https://duckduckgo.com/",
    "https://news.ycombinator.com/item?id=41000000",
    "https://t.co/abcdefghij",
    "https://www.bing.com/search?q=example",
    "https://blog.example.org/a-review",
];
const SCREENS: [&str; 5] = ["1920x1080", "390x844", "1440x900", "2560x1440", "412x915"];
const LANGUAGES: [&str; 5] = ["en-US", "de-DE", "fr-FR", "en-GB", "pt-BR"];

/// A small generator of random numbers (SplitMix64); the load needs no better one.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A number below `bound`, small ones far more often: the cube of an even one.
    fn skewed(&mut self, bound: u64) -> u64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        (unit * unit * unit * bound as f64) as u64
    }
}

/// What the events are like.
pub struct Mix {
    pub random: Random,
    /// Ids of websites; the popular visitors' come most often. At least one.
    pub websites: Vec<String>,
    /// The server, for the header.
    pub host: String,
    /// Every event has a path and a host name, and every request an agent, that no other has.
    pub distinct: bool,
    /// Events of one request; more than one go to `/api/batch`.
    pub batch: u64,
    /// Bodies are made at least this long by a title that is cut by the server.
    pub body_bytes: usize,
    /// Events made so far.
    pub made: u64,
    /// The body under work, kept for its memory.
    pub body: String,
}

impl Mix {
    /// Writes one request into `out`, replacing what was there.
    pub fn request(&mut self, out: &mut String) {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let visitor = self.random.skewed(200_000);
        if self.batch == 1 {
            self.event(&mut body, visitor);
        } else {
            for at in 0..self.batch {
                body.push(if at == 0 { '[' } else { ',' });
                let visitor = self.random.skewed(200_000);
                self.event(&mut body, visitor);
            }
            body.push(']');
        }
        out.clear();
        let _ = write!(
            out,
            "POST /api/{} HTTP/1.1\r\nhost: {}\r\nuser-agent: {}",
            if self.batch == 1 { "send" } else { "batch" },
            self.host,
            AGENTS[(visitor % 8) as usize]
        );
        if self.distinct {
            let _ = write!(out, " Build/{}", self.made);
        }
        let _ = write!(
            out,
            "\r\ncontent-type: application/json\r\nx-forwarded-for: 10.{}.{}.{}\r\ncontent-length: {}\r\n\r\n{body}",
            visitor >> 16 & 255,
            visitor >> 8 & 255,
            visitor & 255,
            body.len()
        );
        self.body = body;
    }

    /// Appends one event as the tracker writes it.
    fn event(&mut self, body: &mut String, visitor: u64) {
        let random = &mut self.random;
        let page = random.skewed(10_000);
        let website = &self.websites[(visitor % self.websites.len() as u64) as usize];
        let (screen, language) =
            (SCREENS[(visitor % 5) as usize], LANGUAGES[(visitor / 5 % 5) as usize]);
        let _ = write!(
            body,
            r#"{{"type":"event","payload":{{"website":"{website}","screen":"{screen}","language":"{language}""#
        );
        let from = body.len();
        let _ = write!(body, r#","title":"Page number {page} of the example"#);
        let padding = self.body_bytes.saturating_sub(from + 300);
        body.extend(std::iter::repeat_n('x', padding));
        let number = self.made;
        self.made += 1;
        let _ = if self.distinct {
            let (host, path) =
                (format_args!("h{number}.example.com"), format_args!("page-{number}"));
            write!(body, r#"","hostname":"{host}","url":"https://{host}/{path}"#)
        } else {
            let section = page % 40;
            write!(
                body,
                r#"","hostname":"www.example.com","url":"https://www.example.com/section-{section}/page-{page}"#
            )
        };
        if random.below(20) == 0 {
            body.push_str("?utm_source=newsletter&utm_medium=email&utm_campaign=autumn");
        }
        let referrer = if random.below(5) == 0 { REFERRERS[random.below(6) as usize] } else { "" };
        let _ = write!(body, r#"","referrer":"{referrer}""#);
        if random.below(20) == 0 {
            let (seats, price) = (random.below(20), random.below(200));
            let _ = write!(
                body,
                r#","name":"signup","data":{{"plan":"pro","seats":{seats},"price":{price}.99}}"#
            );
        }
        body.push_str("}}");
    }
}
