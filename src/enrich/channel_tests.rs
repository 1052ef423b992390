//! The channels of landing pages: what a real Umami answered for 85 of them, and where we differ on purpose.

use super::*;
use crate::enrich::page_url::{PathRules, Scratch, page, referrer};

/// Name, address, referrer, Umami's channel (`-`: none), ours where it differs.
#[rustfmt::skip]
const CASES: &[(&str, &str, &str, &str, Option<&str>)] = &[
    ("direct", "/c/direct", "", "-", Some("direct")),
    ("direct-refself", "/c/self", "https://example.com/x", "-", None),
    ("direct-wwwself", "/c/wwwself", "https://www.example.com/x", "-", None),
    ("direct-query", "/c/q?foo=bar", "", "-", Some("direct")),
    ("google", "/c/google", "https://www.google.com/", "organicSearch", None),
    ("google-uk", "/c/google-uk", "https://google.co.uk/url?sa=t", "organicSearch", None),
    ("bing", "/c/bing", "https://www.bing.com/search?q=a", "organicSearch", None),
    ("ddg", "/c/ddg", "https://duckduckgo.com/", "organicSearch", None),
    ("chatgpt", "/c/chatgpt", "https://chatgpt.com/", "organicSearch", None),
    ("perplexity", "/c/perplexity", "https://www.perplexity.ai/", "organicSearch", None),
    ("brave", "/c/brave", "https://search.brave.com/search?q=x", "organicSearch", None),
    ("yandex", "/c/yandex", "https://yandex.ru/", "organicSearch", None),
    ("baidu", "/c/baidu", "https://www.baidu.com/", "organicSearch", None),
    ("ecosia", "/c/ecosia", "https://www.ecosia.org/", "organicSearch", None),
    ("msn", "/c/msn", "https://www.msn.com/", "organicSearch", None),
    ("yahoo", "/c/yahoo", "https://search.yahoo.com/", "referral", None),
    ("facebook", "/c/fb", "https://l.facebook.com/l.php?u=x", "organicSocial", None),
    ("m.facebook", "/c/mfb", "https://m.facebook.com/", "organicSocial", None),
    ("instagram", "/c/ig", "https://l.instagram.com/", "organicSocial", None),
    ("t.co", "/c/tco", "https://t.co/abc", "organicSocial", None),
    ("x.com", "/c/x", "https://x.com/home", "organicSocial", None),
    ("reddit", "/c/reddit", "https://www.reddit.com/r/x", "organicSocial", None),
    ("oldreddit", "/c/oldreddit", "https://old.reddit.com/r/x", "organicSocial", None),
    ("linkedin", "/c/li", "https://www.linkedin.com/feed/", "organicSocial", None),
    ("hn", "/c/hn", "https://news.ycombinator.com/item?id=1", "organicSocial", None),
    ("bsky", "/c/bsky", "https://bsky.app/", "organicSocial", None),
    ("pinterest", "/c/pin", "https://www.pinterest.de/", "organicSocial", None),
    ("threads", "/c/threads", "https://www.threads.net/", "organicSocial", None),
    ("tiktok", "/c/tt", "https://www.tiktok.com/", "organicSocial", None),
    ("snapchat", "/c/snap", "https://www.snapchat.com/", "organicSocial", None),
    ("netflix-x.com-substr", "/c/netflix", "https://www.netflix.com/", "organicSocial", Some("referral")),
    ("reddit.-substr", "/c/notreddit", "https://notreddit.example/", "organicSocial", Some("referral")),
    ("gmail", "/c/gmail", "https://mail.google.com/mail/u/0", "organicSearch", None),
    ("gmail2", "/c/gmail2", "https://gmail.com/", "email", None),
    ("outlook", "/c/outlook", "https://outlook.live.com/", "email", None),
    ("proton", "/c/proton", "https://mail.proton.me/", "email", None),
    ("yahoo-mail", "/c/ymail", "https://mail.yahoo.com/", "email", None),
    ("amazon", "/c/amazon", "https://www.amazon.co.uk/", "organicShopping", None),
    ("etsy", "/c/etsy", "https://www.etsy.com/", "organicShopping", None),
    ("ebay", "/c/ebay", "https://www.ebay.com/", "organicShopping", None),
    ("youtube", "/c/yt", "https://www.youtube.com/watch?v=1", "organicVideo", None),
    ("twitch", "/c/twitch", "https://www.twitch.tv/", "organicVideo", None),
    ("vimeo", "/c/vimeo", "https://vimeo.com/1", "referral", None),
    ("github", "/c/github", "https://github.com/umami-software/umami", "referral", None),
    ("othersite", "/c/other", "https://partner.example.net/page?x=1", "referral", None),
    ("android-app", "/c/app", "android-app://com.google.android.gm/", "organicSearch", None),
    ("ip-ref", "/c/ipref", "http://8.8.8.8/x", "referral", None),
    ("port-ref", "/c/portref", "https://partner2.example.net:8443/page", "referral", None),
    ("gclid", "/c/gclid?gclid=Cj0KCQ", "https://www.google.com/", "paidAds", None),
    ("fbclid", "/c/fbclid?fbclid=IwAR0", "https://l.facebook.com/", "paidAds", None),
    ("msclkid", "/c/msclkid?msclkid=abc", "", "paidAds", None),
    ("ttclid", "/c/ttclid?ttclid=abc", "", "paidAds", None),
    ("li_fat_id", "/c/lifatid?li_fat_id=abc", "", "paidAds", None),
    ("twclid", "/c/twclid?twclid=abc", "", "paidAds", None),
    ("dclid", "/c/dclid?dclid=abc", "", "paidAds", None),
    ("aid-substr", "/c/aid?paid=1", "", "paidAds", Some("direct")),
    ("raid-substr", "/c/raid?raid=1", "", "paidAds", Some("direct")),
    ("utm-cpc", "/c/cpc?utm_source=google&utm_medium=cpc&utm_campaign=spring", "", "paidAds", None),
    ("utm-cpc-other", "/c/cpc2?utm_source=newsletter&utm_medium=cpc", "", "paidAds", None),
    ("utm-paid-social", "/c/paidsocial?utm_source=facebook&utm_medium=paid_social&utm_campaign=c1", "", "paidAds", None),
    ("utm-paidsocial", "/c/paidsocial2?utm_source=fb&utm_medium=paidsocial", "https://facebook.com/", "paidAds", None),
    ("utm-ppc-search", "/c/ppc?utm_source=bing&utm_medium=ppc", "https://www.bing.com/", "paidSearch", None),
    ("utm-PPC-upper", "/c/ppcup?utm_source=bing&utm_medium=PPC", "https://www.bing.com/", "organicSearch", None),
    ("utm-retargeting", "/c/retarget?utm_medium=retargeting&utm_source=x", "https://www.reddit.com/", "paidSocial", None),
    ("utm-push", "/c/push?utm_medium=push&utm_source=onesignal", "", "-", None),
    ("utm-p-search", "/c/psearch?utm_medium=podcast&utm_source=pod", "https://duckduckgo.com/", "paidSearch", None),
    ("utm-email", "/c/email?utm_source=newsletter&utm_medium=email&utm_campaign=march&utm_content=hero&utm_term=kw", "", "email", None),
    ("utm-Email", "/c/Email?utm_source=n&utm_medium=Email", "", "email", None),
    ("utm-referral", "/c/utmref?utm_source=partner&utm_medium=referral", "", "referral", None),
    ("utm-app", "/c/utmapp?utm_source=ios&utm_medium=app", "", "referral", None),
    ("utm-whatsapp", "/c/wa?utm_source=whatsapp&utm_medium=whatsapp", "", "referral", None),
    ("utm-affiliate", "/c/aff?utm_source=a&utm_medium=affiliate", "", "affiliate", None),
    ("utm-sms", "/c/sms?utm_source=twilio&utm_medium=sms", "", "sms", None),
    ("utm-src-sms", "/c/srcsms?utm_source=SMSblast&utm_medium=x", "", "sms", None),
    ("utm-organic", "/c/org?utm_source=g&utm_medium=organic", "", "organicSearch", None),
    ("utm-shop", "/c/shop?utm_source=g&utm_medium=shopping", "", "organicShopping", None),
    ("utm-video", "/c/video?utm_source=yt&utm_medium=video", "", "organicVideo", None),
    ("utm-unknown", "/c/utmunk?utm_source=foo&utm_medium=bar", "", "-", None),
    ("utm-source-only", "/c/utmsrc?utm_source=producthunt", "", "-", None),
    ("utm-google-src", "/c/utmg?utm_source=google&utm_medium=foo", "", "paidAds", None),
    ("utm-empty", "/c/utmempty?utm_source=&utm_medium=", "", "-", Some("direct")),
    ("utm-dup", "/c/utmdup?utm_source=a&utm_source=b", "", "-", None),
    ("utm-enc", "/c/utmenc?utm_source=my%20src&utm_campaign=%C3%A9t%C3%A9+2026", "", "-", None),
    ("utm-referrer-search", "/c/utmrefsearch?utm_source=partner&utm_medium=referral", "https://www.google.com/", "referral", None),
    ("gclid-email", "/c/gclidemail?gclid=1&utm_medium=email", "", "paidAds", None),
];

fn of(address: &str, from: &str) -> Option<&'static str> {
    let mut scratch = Scratch::default();
    let host = Some("example.com");
    let page = page(Some(address), host, PathRules::default(), &mut scratch).expect("is valid");
    let from = referrer(Some(from), host, &mut scratch).expect("is valid");
    let utm = |slot: usize| page.utm[slot].as_ref().map(|piece| scratch.text(piece));
    channel(&Landing {
        referrer_domain: from.as_ref().map(|referrer| scratch.text(&referrer.domain)),
        hostname: host,
        query: scratch.text(&page.query),
        utm_source: utm(0),
        utm_medium: utm(1),
        utm_campaign: utm(2),
    })
}

#[test]
fn channels_are_those_of_umami_or_differ_on_purpose() {
    for (name, address, from, umami, ours) in CASES {
        let want = ours.unwrap_or(umami);
        assert_eq!(of(address, from).unwrap_or("-"), want, "{name}");
    }
}

#[test]
fn only_real_hosts_match() {
    for (from, want) in [
        ("https://goggle.com/", "referral"),
        ("https://news.google.com/", "organicSearch"),
        ("https://google.evil.com/", "referral"),
        ("https://www.google.co.jp/", "organicSearch"),
        ("https://not.co/", "referral"),
        ("https://about.x.com/", "organicSocial"),
    ] {
        assert_eq!(of("/", from), Some(want), "{from}");
    }
}
