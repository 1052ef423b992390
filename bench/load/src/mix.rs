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

    /// A number below `bound`, small ones far more often: the square of an even one.
    fn skewed(&mut self, bound: u64) -> u64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        (unit * unit * unit * bound as f64) as u64
    }
}

/// Writes one request into `out`, replacing what was there.
pub fn request(
    out: &mut String,
    body: &mut String,
    random: &mut Random,
    websites: &[String],
    host: &str,
) {
    let visitor = random.skewed(200_000);
    let page = random.skewed(10_000);
    let website = &websites[(visitor % websites.len() as u64) as usize];
    let agent = AGENTS[(visitor % 8) as usize];
    body.clear();
    let _ = write!(
        body,
        r#"{{"type":"event","payload":{{"website":"{website}","screen":"{}","language":"{}","title":"Page number {page} of the example","hostname":"www.example.com","url":"https://www.example.com/section-{}/page-{page}{}","referrer":"{}""#,
        SCREENS[(visitor % 5) as usize],
        LANGUAGES[(visitor / 5 % 5) as usize],
        page % 40,
        if random.below(20) == 0 {
            "?utm_source=newsletter&utm_medium=email&utm_campaign=autumn"
        } else {
            ""
        },
        if random.below(5) == 0 { REFERRERS[random.below(6) as usize] } else { "" },
    );
    if random.below(20) == 0 {
        let _ = write!(
            body,
            r#","name":"signup","data":{{"plan":"pro","seats":{},"price":{}.99}}"#,
            random.below(20),
            random.below(200)
        );
    }
    body.push_str("}}");
    out.clear();
    let _ = write!(
        out,
        "POST /api/send HTTP/1.1\r\nhost: {host}\r\nuser-agent: {agent}\r\ncontent-type: application/json\r\n\
         x-forwarded-for: 10.{}.{}.{}\r\ncontent-length: {}\r\n\r\n{body}",
        visitor >> 16 & 255,
        visitor >> 8 & 255,
        visitor & 255,
        body.len()
    );
}
