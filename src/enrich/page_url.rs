//! Path, query, host, UTM values and click ids out of the addresses that a tracker sends, as the WHATWG URL rules
//! read them. The ordinary address takes a path without allocation; anything unusual goes through the `url` crate,
//! and a property test holds the two together.
//!
//! What must stay true: one page has one path, whether a browser sent it encoded or not; nothing an address contains
//! is refused except what no browser could navigate to (`http://`, `http://[bad`).

use percent_encoding::percent_decode_str;
use url::Url;

use super::scratch::URI_RESERVED;
pub use super::scratch::{Piece, Scratch};

/// The address is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidUrl;

/// A page title, decoded when the whole of it can be.
pub fn title<'s>(title: &'s str, scratch: &mut Scratch) -> Piece<'s> {
    let decoded = title.contains('%').then(|| scratch.decoded(title, b""));
    decoded.flatten().unwrap_or(Piece::Input(title))
}

/// An address taken apart. Path and query as WHATWG writes them: the path still encoded, the query without `?`.
struct Parts<'s> {
    /// Empty for an address without one.
    host: Piece<'s>,
    path: Piece<'s>,
    query: Piece<'s>,
    /// With its `#`, or empty.
    fragment: Piece<'s>,
    /// `http`, `https` or `ftp`.
    is_web: bool,
    /// An app's address, `android-app://name/`, whose host is worth keeping.
    is_app: bool,
}

/// Takes an address apart, relative to a page on `host`.
fn parts<'s>(
    address: &'s str,
    host: Option<&str>,
    scratch: &mut Scratch,
) -> Result<Parts<'s>, InvalidUrl> {
    match ordinary(address) {
        Some(parts) => Ok(parts),
        None => unusual(address, host, scratch),
    }
}

/// The address of an ordinary page: nothing in it that the rules would change.
fn ordinary(address: &str) -> Option<Parts<'_>> {
    let (host, rest) = if address.starts_with('/') {
        ("", address)
    } else {
        let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
        let end = rest.bytes().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
        rest.split_at(end.unwrap_or(rest.len()))
    };
    if rest.starts_with("//") || host.is_empty() != address.starts_with('/') {
        return None;
    }
    let host = if host.is_empty() { host } else { ordinary_host(host)? };
    let (before, fragment) = match rest.find('#') {
        Some(at) => (&rest[..at], if at + 1 == rest.len() { "" } else { &rest[at..] }),
        None => (rest, ""),
    };
    let (path, query) = before.split_once('?').unwrap_or((before, ""));
    let plain = |text: &str, also: &[u8]| {
        text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric()
                || b"-_.~/%!$&()*+,;=:@".contains(&byte)
                || also.contains(&byte)
        })
    };
    // A segment that begins with a dot may be one that the rules resolve.
    let dots = path.contains("/.") || path.contains("/%2e") || path.contains("/%2E");
    let tidy = plain(path, b"'") && !dots && plain(query, b"?/[]|") && plain(fragment, b"#?'");
    tidy.then_some(Parts {
        host: Piece::Input(host),
        path: Piece::Input(if path.is_empty() { "/" } else { path }),
        query: Piece::Input(query),
        fragment: Piece::Input(fragment),
        is_web: true,
        is_app: false,
    })
}

/// A lower-case name, without port; `None` when the rules might change it.
fn ordinary_host(host: &str) -> Option<&str> {
    let name = match host.split_once(':') {
        Some((name, port)) => {
            let number = port.parse::<u16>().ok();
            number.filter(|_| !port.starts_with('+'))?;
            name
        }
        None => host,
    };
    let simple = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let mut labels = name.split('.');
    let whole = labels
        .clone()
        .all(|label| !label.is_empty() && !label.starts_with("xn--") && label.bytes().all(simple));
    // A last label that begins with a digit makes the name an address.
    let last = labels.next_back().unwrap_or_default();
    (whole && !last.as_bytes()[0].is_ascii_digit()).then_some(name)
}

/// Any other address, by the rules.
fn unusual<'s>(
    address: &str,
    host: Option<&str>,
    scratch: &mut Scratch,
) -> Result<Parts<'s>, InvalidUrl> {
    let local = || Url::parse("https://localhost").map_err(|_| InvalidUrl);
    let base = match host.map(|host| Url::parse(&format!("https://{host}"))) {
        Some(Ok(base)) => base,
        _ => local()?,
    };
    let url = base.join(address).map_err(|_| InvalidUrl)?;
    let fragment = url.fragment().filter(|fragment| !fragment.is_empty());
    let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    let relative =
        !address.contains(':') && !address.starts_with("//") && !address.starts_with("\\\\");
    let name = if relative { "" } else { url.host_str().unwrap_or_default() };
    Ok(Parts {
        host: scratch.keep(name),
        path: scratch.keep(url.path()),
        query: scratch.keep(url.query().unwrap_or_default()),
        fragment: scratch.keep(&fragment),
        is_web: matches!(url.scheme(), "http" | "https" | "ftp"),
        is_app: url.scheme().ends_with("-app"),
    })
}

/// What is stored of a page's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageUrl<'s> {
    /// Host of an absolute address, without a leading `www.`; empty when it had none.
    pub host: Piece<'s>,
    pub path: Piece<'s>,
    pub query: Piece<'s>,
    /// source, medium, campaign, content, term.
    pub utm: [Option<Piece<'s>>; 5],
    /// Name of the first click id the query carries.
    pub click_id: Option<&'static str>,
}

/// UTM parameters in the order of [`PageUrl::utm`].
const UTM: [&str; 5] = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"];
/// Click ids that advertisers put into addresses.
const CLICK_IDS: [&str; 8] =
    ["gclid", "fbclid", "msclkid", "ttclid", "li_fat_id", "twclid", "dclid", "rdt_cid"];

/// How paths are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathRules {
    pub remove_trailing_slash: bool,
    /// Performance reports name the path without fragment and as it is encoded.
    pub bare: bool,
}

/// Takes a page's address apart. None, `undefined` and `/undefined` are a page whose path is empty.
///
/// # Errors
/// [`InvalidUrl`].
pub fn page<'s>(
    address: Option<&'s str>,
    host: Option<&str>,
    rules: PathRules,
    scratch: &mut Scratch,
) -> Result<PageUrl<'s>, InvalidUrl> {
    let empty = PageUrl {
        host: Piece::Input(""),
        path: Piece::Input(""),
        query: Piece::Input(""),
        utm: [const { None }; 5],
        click_id: None,
    };
    let Some(address) = address.filter(|address| *address != "undefined") else {
        return Ok(empty);
    };
    let parts = parts(address, host, scratch)?;
    let (utm, click_id) = parameters(&parts.query, scratch);
    let path =
        if rules.bare { parts.path } else { readable_path(parts.path, &parts.fragment, scratch) };
    let path = if scratch.text(&path) == "/undefined" { Piece::Input("") } else { path };
    let path = if rules.remove_trailing_slash { without_slash(path, scratch) } else { path };
    Ok(PageUrl { host: without_www(parts.host, scratch), path, query: parts.query, utm, click_id })
}

/// Path and fragment, decoded.
fn readable_path<'s>(path: Piece<'s>, fragment: &Piece<'s>, scratch: &mut Scratch) -> Piece<'s> {
    let whole = if scratch.text(fragment).is_empty() {
        path
    } else {
        let text = [scratch.text(&path), scratch.text(fragment)].concat();
        scratch.keep(&text)
    };
    if !scratch.text(&whole).contains('%') {
        return whole;
    }
    match whole {
        Piece::Input(text) => scratch.decoded(text, URI_RESERVED).unwrap_or(Piece::Input(text)),
        Piece::Scratch(range) => {
            let text = scratch.0[range.clone()].to_owned();
            scratch.decoded(&text, URI_RESERVED).unwrap_or(Piece::Scratch(range))
        }
    }
}

/// `/a/` is `/a`, and `/a/#x` is `/a#x`; `/` stays.
fn without_slash<'s>(path: Piece<'s>, scratch: &mut Scratch) -> Piece<'s> {
    let text = scratch.text(&path);
    let (before, fragment) = text.split_at(text.find('#').unwrap_or(text.len()));
    if before.len() < 2 || !before.ends_with('/') {
        return path;
    }
    let shorter = [&before[..before.len() - 1], fragment].concat();
    scratch.keep(&shorter)
}

fn without_www<'s>(host: Piece<'s>, scratch: &Scratch) -> Piece<'s> {
    if !scratch.text(&host).starts_with("www.") {
        return host;
    }
    match host {
        Piece::Input(text) => Piece::Input(&text[4..]),
        Piece::Scratch(range) => Piece::Scratch(range.start + 4..range.end),
    }
}

/// UTM values, form-decoded, the first of each name; and the first click id.
fn parameters<'s>(
    query: &Piece<'s>,
    scratch: &mut Scratch,
) -> ([Option<Piece<'s>>; 5], Option<&'static str>) {
    let mut utm = [const { None }; 5];
    let mut click_id = None;
    if scratch.text(query).is_empty() {
        return (utm, click_id);
    }
    match query {
        Piece::Input(text) => read_parameters(text, &mut utm, &mut click_id, scratch),
        Piece::Scratch(range) => {
            let text = scratch.0[range.clone()].to_owned();
            let mut kept = [const { None }; 5];
            read_parameters(&text, &mut kept, &mut click_id, scratch);
            for (to, from) in utm.iter_mut().zip(kept) {
                *to = from.map(|piece| match piece {
                    Piece::Input(text) => scratch.keep(text),
                    Piece::Scratch(range) => Piece::Scratch(range),
                });
            }
        }
    }
    (utm, click_id)
}

fn read_parameters<'q>(
    query: &'q str,
    utm: &mut [Option<Piece<'q>>; 5],
    click_id: &mut Option<&'static str>,
    scratch: &mut Scratch,
) {
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let Some(slot) = UTM.iter().position(|name| *name == key) {
            if utm[slot].is_none() {
                utm[slot] = Some(form_decoded(value, scratch));
            }
        } else if click_id.is_none() {
            *click_id = CLICK_IDS.into_iter().find(|name| *name == key);
        }
    }
}

fn form_decoded<'q>(value: &'q str, scratch: &mut Scratch) -> Piece<'q> {
    if !value.bytes().any(|byte| byte == b'%' || byte == b'+') {
        return Piece::Input(value);
    }
    let start = scratch.0.len();
    for (index, part) in value.split('+').enumerate() {
        if index > 0 {
            scratch.0.push(' ');
        }
        let text = percent_decode_str(part).decode_utf8_lossy();
        scratch.0.extend(text.chars().map(|c| if c == '\0' { '\u{fffd}' } else { c }));
    }
    Piece::Scratch(start..scratch.0.len())
}

/// What is stored of the page a visitor came from. The domain of an address without a host, or of one that names
/// nothing people visit (`about:`, `data:`, `javascript:`, an extension), is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referrer<'s> {
    pub domain: Piece<'s>,
    pub path: Piece<'s>,
    pub query: Piece<'s>,
}

/// Takes a referrer apart, relative to a page on `host`; an empty one is none.
///
/// # Errors
/// [`InvalidUrl`].
pub fn referrer<'s>(
    address: Option<&'s str>,
    host: Option<&'s str>,
    scratch: &mut Scratch,
) -> Result<Option<Referrer<'s>>, InvalidUrl> {
    let Some(address) = address.filter(|address| !address.is_empty()) else { return Ok(None) };
    let parts = parts(address, host, scratch)?;
    let domain = if !(parts.is_web || parts.is_app) {
        Piece::Input("")
    } else if scratch.text(&parts.host).is_empty() {
        Piece::Input(host.unwrap_or("localhost"))
    } else {
        parts.host
    };
    let path = readable_path(parts.path, &Piece::Input(""), scratch);
    Ok(Some(Referrer { domain: without_www(domain, scratch), path, query: parts.query }))
}

#[cfg(test)]
#[path = "page_url_tests.rs"]
mod tests;
