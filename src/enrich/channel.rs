//! The acquisition channel of a page view, from its referrer and its landing query: Umami's names and the order of
//! its rules. Computed once at intake, since the rules are dozens of text tests per row.
//!
//! Where Umami tests for a piece of text anywhere, hosts are compared by label here, so that `netflix.com` is not
//! `x.com`; a view without referrer and campaign is `direct`, which Umami loses; click ids are parameters, not pieces
//! of text (`?raid=1` is no advertisement). `docs/umami.md` lists these.

/// What a channel is decided from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Landing<'a> {
    /// `None` or empty: no referrer with a host.
    pub referrer_domain: Option<&'a str>,
    pub hostname: Option<&'a str>,
    /// The raw query, without `?`.
    pub query: &'a str,
    pub utm_source: Option<&'a str>,
    pub utm_medium: Option<&'a str>,
    pub utm_campaign: Option<&'a str>,
}

/// Parameters that only advertisements carry.
const PAID_PARAMETERS: [&str; 14] = [
    "ad_id",
    "aid",
    "dclid",
    "epik",
    "fbclid",
    "gclid",
    "li_fat_id",
    "msclkid",
    "ob_click_id",
    "pc_id",
    "rdt_cid",
    "scid",
    "ttclid",
    "twclid",
];

// Hosts: `name.tld` matches the host and what is under it; `name.` matches the name before any public suffix.
const SEARCH: [&str; 10] = [
    "baidu.com",
    "bing.com",
    "chatgpt.com",
    "duckduckgo.com",
    "ecosia.org",
    "google.",
    "msn.com",
    "perplexity.ai",
    "search.brave.com",
    "yandex.",
];
const SOCIAL: [&str; 15] = [
    "bsky.app",
    "facebook.com",
    "fb.com",
    "ig.com",
    "instagram.com",
    "linkedin.",
    "news.ycombinator.com",
    "pinterest.",
    "reddit.",
    "snapchat.",
    "t.co",
    "threads.net",
    "tiktok.",
    "twitter.com",
    "x.com",
];
const EMAIL: [&str; 7] = [
    "gmail.",
    "hotmail.",
    "mail.yahoo.",
    "outlook.",
    "outlook.live.com",
    "proton.me",
    "protonmail.",
];
const SHOPPING: [&str; 9] = [
    "alibaba.com",
    "aliexpress.com",
    "amazon.",
    "bestbuy.com",
    "ebay.com",
    "etsy.com",
    "newegg.com",
    "target.com",
    "walmart.com",
];
const VIDEO: [&str; 2] = ["twitch.", "youtube."];

/// The channel; `None` for what belongs to none: a step inside the site, a campaign without a rule.
#[must_use]
pub fn channel(landing: &Landing<'_>) -> Option<&'static str> {
    let domain = landing.referrer_domain.unwrap_or_default();
    if domain.is_empty() && landing.query.is_empty() {
        return Some("direct");
    }
    let medium = landing.utm_medium.unwrap_or_default();
    let source = landing.utm_source.unwrap_or_default();
    if is_paid(landing.query, source, medium) {
        return Some("paidAds");
    }
    let medium_has = |piece: &str| contains(medium, piece);
    if medium_has("referral") || medium_has("app") || medium_has("link") {
        return Some("referral");
    }
    if medium_has("affiliate") {
        return Some("affiliate");
    }
    if medium_has("sms") || contains(source, "sms") {
        return Some("sms");
    }
    let paid = medium.starts_with('p')
        || ["ppc", "retargeting", "paid"].iter().any(|piece| medium.contains(piece));
    let either = |organic, bought| Some(if paid { bought } else { organic });
    if is_one_of(domain, &SEARCH) || medium_has("organic") {
        return either("organicSearch", "paidSearch");
    }
    if is_one_of(domain, &SOCIAL) {
        return either("organicSocial", "paidSocial");
    }
    if is_one_of(domain, &EMAIL) || medium_has("mail") {
        return Some("email");
    }
    if is_one_of(domain, &SHOPPING) || medium_has("shop") {
        return either("organicShopping", "paidShopping");
    }
    if is_one_of(domain, &VIDEO) || medium_has("video") {
        return either("organicVideo", "paidVideo");
    }
    let own = landing.hostname.unwrap_or_default();
    if !domain.is_empty() {
        return (domain != own.strip_prefix("www.").unwrap_or(own)).then_some("referral");
    }
    let campaign = [landing.utm_source, landing.utm_medium, landing.utm_campaign];
    campaign.iter().flatten().all(|text| text.is_empty()).then_some("direct")
}

fn is_paid(query: &str, source: &str, medium: &str) -> bool {
    let names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    names.into_iter().any(|name| PAID_PARAMETERS.contains(&name))
        || ["cpc", "paid"].iter().any(|start| starts_with(medium, start))
        || starts_with(source, "google")
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Whether a text contains a lower-case piece, whatever its own case.
fn contains(text: &str, piece: &str) -> bool {
    text.as_bytes().windows(piece.len()).any(|window| window.eq_ignore_ascii_case(piece.as_bytes()))
}

/// Whether a host is one of the list, or under one.
fn is_one_of(host: &str, list: &[&str]) -> bool {
    !host.is_empty() && list.iter().any(|name| matches_host(host, name))
}

fn matches_host(host: &str, name: &str) -> bool {
    let Some(name) = name.strip_suffix('.') else {
        return host == name || host.strip_suffix(name).is_some_and(|under| under.ends_with('.'));
    };
    // The name, then a public suffix: one label, or a second-level one such as `co.uk`.
    let mut from = 0;
    while let Some(at) = host[from..].find(name) {
        let start = from + at;
        let end = start + name.len();
        let begins = start == 0 || host.as_bytes()[start - 1] == b'.';
        if begins && host[end..].starts_with('.') && is_suffix(&host[end + 1..]) {
            return true;
        }
        from = end;
    }
    // An Android app names its maker first: com.google.android.gm.
    host.strip_prefix("com.")
        .and_then(|rest| rest.strip_prefix(name))
        .is_some_and(|rest| rest.starts_with('.'))
}

fn is_suffix(text: &str) -> bool {
    match text.split_once('.') {
        None => !text.is_empty(),
        Some((second, first)) => {
            first.len() == 2 && ["co", "com", "org", "net", "ne", "or"].contains(&second)
        }
    }
}

#[cfg(test)]
#[path = "channel_tests.rs"]
mod tests;
