//! Browser, system and device from a user agent, in Umami's words (those of the detect-browser and ua-parser
//! packages), and who is a robot. An ordered table of pieces of text: the first rule that fits counts.
//!
//! Parsing costs microseconds, so [`AgentCache`] remembers answers; all words are static, so nothing is copied and no
//! agent is kept.

mod bots;
mod cache;

pub use cache::AgentCache;

/// What an agent says about its machine. `None`: not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    pub browser: Option<&'static str>,
    pub os: Option<&'static str>,
    pub device: &'static str,
    pub bot: bool,
}

/// Reads an agent, without the cache.
#[must_use]
pub fn classify(agent: &str) -> Client {
    let find = |rules: &[(&'static str, Rule)]| {
        rules.iter().find(|(_, rule)| rule.fits(agent)).map(|(name, _)| *name)
    };
    Client {
        browser: find(BROWSERS),
        os: find(SYSTEMS),
        device: find(DEVICES).unwrap_or("desktop"),
        bot: bots::is_bot(agent),
    }
}

/// A desktop with a screen at most 1920 wide is called a laptop. The width is the number before the `x`.
#[must_use]
pub fn device_with_screen(device: &'static str, screen: Option<&str>) -> &'static str {
    let width = screen.and_then(|screen| {
        let digits = screen.bytes().take_while(u8::is_ascii_digit).count();
        screen[..digits].parse::<u64>().ok()
    });
    match (device, width) {
        ("desktop", Some(0..=1920)) => "laptop",
        _ => device,
    }
}

/// What must be in an agent.
enum Rule {
    /// Any of these.
    Any(&'static [&'static str]),
    /// All of these, in this order.
    All(&'static [&'static str]),
    /// All of the first in this order, and none of the second.
    Without(&'static [&'static str], &'static [&'static str]),
    /// This, followed by a version and then a space or the end.
    Version(&'static str),
    /// This, followed by a digit.
    Digit(&'static str),
}

impl Rule {
    fn fits(&self, agent: &str) -> bool {
        let in_order = |pieces: &[&str]| {
            let mut rest = agent;
            pieces.iter().all(|piece| match rest.find(piece) {
                Some(at) => {
                    rest = &rest[at + piece.len()..];
                    true
                }
                None => false,
            })
        };
        let after = |piece: &str| agent.find(piece).map(|at| &agent[at + piece.len()..]);
        match self {
            Self::Any(pieces) => pieces.iter().any(|piece| agent.contains(piece)),
            Self::All(pieces) => in_order(pieces),
            Self::Without(pieces, not) => {
                in_order(pieces) && !not.iter().any(|piece| agent.contains(piece))
            }
            Self::Version(piece) => after(piece).is_some_and(|rest| {
                let end = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
                end > 0
                    && rest[end..].bytes().next().is_none_or(|byte| byte == b' ' || byte == b':')
            }),
            Self::Digit(piece) => after(piece)
                .is_some_and(|rest| rest.as_bytes().first().is_some_and(u8::is_ascii_digit)),
        }
    }
}

use Rule::{All, Any, Digit, Version, Without};

const BROWSERS: &[(&str, Rule)] = &[
    ("edge", Any(&["Edge/"])),
    ("edge-ios", Any(&["EdgiOS/"])),
    ("yandexbrowser", Any(&["YaBrowser/"])),
    ("kakaotalk", Any(&["KAKAOTALK "])),
    ("samsung", Any(&["SamsungBrowser/"])),
    ("silk", Any(&["Silk/"])),
    ("miui", Any(&["MiuiBrowser/"])),
    ("edge-chromium", Any(&["Edg/", "EdgA/"])),
    ("opera", Any(&["OPR/"])),
    ("chromium-webview", All(&["wv)", "Chrome/"])),
    ("chrome", Version("Chrome/")),
    ("chrome", Version("Chromium/")),
    ("crios", Any(&["CriOS/"])),
    ("firefox", Version("Firefox/")),
    ("fxios", Any(&["FxiOS/"])),
    ("opera-mini", All(&["Opera Mini", "Version/"])),
    ("opera", Any(&["Opera/"])),
    ("ie", All(&["Trident/7.0", "rv:"])),
    ("ie", All(&["MSIE ", "Trident/"])),
    ("ie", Any(&["MSIE 7.0"])),
    ("bb10", All(&["BB10;", "Version/"])),
    ("android", Digit("Android ")),
    ("ios", All(&["Version/", "Mobile", "Safari"])),
    ("safari", All(&["Version/", "Safari"])),
    ("facebook", Any(&["FBAV/", "FBSV/"])),
    ("instagram", Any(&["Instagram "])),
    ("ios-webview", All(&["AppleWebKit/", "Mobile"])),
    ("ios-webview", All(&["(iP", "AppleWebKit/", "Gecko)"])),
];

const SYSTEMS: &[(&str, Rule)] = &[
    ("iOS", Any(&["iPhone", "iPod", "iPad"])),
    ("Android OS", Any(&["Android"])),
    ("BlackBerry OS", Any(&["BlackBerry", "BB10"])),
    ("Windows Mobile", Any(&["IEMobile"])),
    ("Amazon OS", Any(&["Kindle"])),
    ("Windows 2000", Any(&["Windows NT 5.0", "Windows 2000"])),
    ("Windows XP", Any(&["Windows NT 5.1", "Windows XP"])),
    ("Windows Server 2003", Any(&["Windows NT 5.2"])),
    ("Windows Vista", Any(&["Windows NT 6.0"])),
    ("Windows 7", Any(&["Windows NT 6.1"])),
    ("Windows 8", Any(&["Windows NT 6.2"])),
    ("Windows 8.1", Any(&["Windows NT 6.3"])),
    ("Windows 10", Any(&["Windows NT 10.0"])),
    ("Open BSD", Any(&["OpenBSD"])),
    ("Sun OS", Any(&["SunOS"])),
    ("Chrome OS", Any(&["CrOS"])),
    ("Linux", Any(&["Linux", "X11"])),
    ("Mac OS", Any(&["Macintosh", "Mac_PowerPC"])),
];

const DEVICES: &[(&str, Rule)] = &[
    ("console", Any(&["PlayStation", "Xbox", "Nintendo"])),
    (
        "smarttv",
        Any(&[
            "SMART-TV",
            "SmartTV",
            "Smart TV",
            "AppleTV",
            "Apple TV",
            "CrKey",
            "BRAVIA",
            "HbbTV",
            "GoogleTV",
            "Android TV",
            "Roku",
            " TV Safari",
            "Web0S",
            "; AFT",
        ]),
    ),
    ("wearable", Digit("; SM-R")),
    ("wearable", Any(&["Watch OS", "watchOS", "Wear OS"])),
    ("tablet", Any(&["iPad", "Tablet", "PlayBook", "; SM-T", "; SM-X", "SAMSUNG SM-T", "; KF"])),
    ("mobile", Any(&["iPhone", "iPod", "Mobile", "Windows Phone", "BlackBerry", "Dalvik/"])),
    ("tablet", Without(&["Android "], &["Opera Mini"])),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// agent, robot or not, browser, system, device: what a real Umami stored for these agents.
    const FIXTURE: &str = include_str!("../../../tests/fixtures/user_agents.tsv");

    #[test]
    fn agents_get_the_words_that_umami_gives_them() {
        let mut lines = 0;
        for line in FIXTURE.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [agent, bot, browser, os, device] = fields[..] else { panic!("{line}") };
            let found = classify(agent);
            let word = |text: &'static str| Some(text).filter(|text| *text != "-");
            assert_eq!(found.bot, bot == "bot", "{agent}");
            if !found.bot {
                let want = (word(browser), word(os), device);
                assert_eq!((found.browser, found.os, found.device), want, "{agent}");
            }
            lines += 1;
        }
        assert!(lines > 50, "{lines}");
    }

    #[test]
    fn a_narrow_desktop_is_a_laptop() {
        for (screen, want) in [
            (Some("1920x1080"), "laptop"),
            (Some("1921x1080"), "desktop"),
            (Some("0x0"), "laptop"),
            (Some("abc"), "desktop"),
            (Some(""), "desktop"),
            (None, "desktop"),
        ] {
            assert_eq!(device_with_screen("desktop", screen), want, "{screen:?}");
        }
        assert_eq!(device_with_screen("tablet", Some("800x600")), "tablet");
    }
}
