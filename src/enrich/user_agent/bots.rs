//! Who is a robot: the pattern list of the isbot package, with corrections for people that it takes for robots and
//! robots that it takes for people. An empty agent is a robot: every browser sends one.

use std::sync::LazyLock;

use isbot::Bots;

static LIST: LazyLock<Bots> = LazyLock::new(Bots::default);

/// Lower-case pieces of agents of people: apps that show web pages, a maker of phones.
const PEOPLE: [&str; 10] = [
    "cubot",
    "fban/",
    "fbav/",
    "instagram ",
    "micromessenger/",
    "bytelocale",
    " line/",
    "snapchat/",
    "gsa/",
    "electron/",
];
/// Lower-case pieces of agents of robots.
const ROBOTS: [&str; 12] = [
    "headlesschrome",
    "chrome-lighthouse",
    "ptst/",
    "bot/",
    "bot;",
    "crawler",
    "spider",
    "curl/",
    "wget/",
    "python-",
    "go-http-client",
    "webappmanager",
];

/// Whether an agent is a robot's.
pub fn is_bot(agent: &str) -> bool {
    let lower = agent.to_ascii_lowercase();
    let has = |pieces: &[&str]| pieces.iter().any(|piece| lower.contains(piece));
    // One word, such as `node` or `axios/1.7`: browsers name more than themselves.
    if agent.split_whitespace().nth(1).is_none() {
        return true;
    }
    if has(&ROBOTS) && !lower.contains("cubot") {
        return true;
    }
    !has(&PEOPLE) && LIST.is_bot(agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_count() {
        let chrome = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0";
        for agent in [
            format!("Mozilla/5.0 (Windows NT 10.0; Win64; x64) {chrome} Safari/537.36"),
            format!("Mozilla/5.0 (Windows NT 10.0; Win64; x64) {chrome} Electron/30.0.1 Safari/537.36"),
            format!("Mozilla/5.0 (Linux; Android 9; CUBOT_X18_Plus) {chrome} Mobile Safari/537.36"),
            format!("Mozilla/5.0 (Linux; Android 13; Pixel 7; wv) Version/4.0 {chrome} Mobile Safari/537.36"),
            format!("Mozilla/5.0 (Linux; Android 13; SM-A1; wv) {chrome} Mobile Safari/537.36 BytedanceWebview/d8a21c6 BytеLocale/en"),
            format!("Mozilla/5.0 (Linux; Android 13) {chrome} Mobile Safari/537.36 MicroMessenger/8.0.47 NetType/WIFI"),
            format!("Mozilla/5.0 (Linux; Android 13; SM-G9) {chrome} Mobile Safari/537.36 Line/13.1.0"),
            format!("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {chrome} Safari/537.36 Ddg/17.4"),
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Snapchat/12.80".into(),
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) GSA/330.0 Mobile/15E148 Safari/604.1".into(),
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 [FBAN/FBIOS;FBAV/465.0]".into(),
        ] {
            assert!(!is_bot(&agent), "{agent}");
        }
    }

    #[test]
    fn robots_do_not() {
        for agent in [
            "",
            "-",
            "Mozilla/5.0",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)",
            "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)",
            "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
            "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
            "curl/8.5.0",
            "python-requests/2.32.3",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/131.0.0.0 Safari/537.36",
        ] {
            assert!(is_bot(agent), "{agent}");
        }
    }
}
