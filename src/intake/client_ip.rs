//! Which address a visitor has: that of the socket, unless the peer is a trusted proxy, then what its headers say.
//! Headers of anyone else are not believed. Also the list of addresses whose events are refused.
//!
//! Default: loopback peers are trusted, since a proxy on the same machine is the usual set-up and nobody else can
//! connect from there. A proxy elsewhere must be named.

use std::net::{IpAddr, SocketAddr};

use actix_web::http::header::{FORWARDED, HeaderMap, HeaderName};
use anyhow::{Context, Result};
use ipnet::IpNet;

use crate::enrich::geo::is_local;

/// Headers in which proxies and CDNs name the visitor, in the order in which they are asked. Made once: to look a
/// header up by its text allocates.
static HEADERS: [HeaderName; 12] = [
    HeaderName::from_static("true-client-ip"),
    HeaderName::from_static("cf-connecting-ip"),
    HeaderName::from_static("fastly-client-ip"),
    HeaderName::from_static("x-nf-client-connection-ip"),
    HeaderName::from_static("do-connecting-ip"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-appengine-user-ip"),
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("forwarded"),
    HeaderName::from_static("x-client-ip"),
    HeaderName::from_static("x-cluster-client-ip"),
    HeaderName::from_static("x-forwarded"),
];

/// A list of networks.
#[derive(Clone, Debug, Default)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// From addresses, networks and words, separated by commas or spaces. `setting` names the variable in an error.
    ///
    /// # Errors
    /// When a part is none of these.
    pub fn parse(text: &str, setting: &str) -> Result<Self> {
        let mut networks = Vec::new();
        let mut add = |list: &[&str]| -> Result<()> {
            for text in list {
                networks.push(network(text)?);
            }
            Ok(())
        };
        for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
            match part {
                "none" => Ok(()),
                "loopback" => add(&["127.0.0.0/8", "::1"]),
                "private" => add(&[
                    "127.0.0.0/8",
                    "::1",
                    "10.0.0.0/8",
                    "172.16.0.0/12",
                    "192.168.0.0/16",
                    "fc00::/7",
                ]),
                other => add(&[other]),
            }
            .with_context(|| format!("{setting}: {part:?} is not an address or a network"))?;
        }
        Ok(Self(networks))
    }

    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }
}

fn network(text: &str) -> Result<IpNet> {
    match text.parse::<IpNet>() {
        Ok(network) => Ok(network),
        Err(_) => Ok(IpNet::from(text.parse::<IpAddr>()?)),
    }
}

/// The visitor's address. `configured`: the one header that counts, if the owner named one.
#[must_use]
pub fn client_ip(
    peer: IpAddr,
    headers: &HeaderMap,
    trusted: &Networks,
    configured: Option<&HeaderName>,
) -> IpAddr {
    let peer = peer.to_canonical();
    if !trusted.contains(peer) {
        return peer;
    }
    let found = match configured {
        Some(name) => from_header(headers, name, trusted),
        None => HEADERS.iter().find_map(|name| from_header(headers, name, trusted)),
    };
    found.unwrap_or(peer)
}

/// The visitor in one header, which may be a chain over several lines: the last hop that is neither a trusted proxy
/// nor on a local network, else the first address there is.
fn from_header(headers: &HeaderMap, name: &HeaderName, trusted: &Networks) -> Option<IpAddr> {
    let mut first = None;
    let mut last_public = None;
    for line in headers.get_all(name) {
        let Ok(line) = line.to_str() else { continue };
        for part in line.split(',') {
            let hop = if *name == FORWARDED { forwarded_for(part) } else { Some(part) };
            let Some(address) = hop.and_then(address) else { continue };
            first = first.or(Some(address));
            if !trusted.contains(address) && !is_local(address) {
                last_public = Some(address);
            }
        }
    }
    last_public.or(first)
}

/// The `for` of one element of `Forwarded` (RFC 7239), whatever its case.
fn forwarded_for(element: &str) -> Option<&str> {
    element.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then_some(value)
    })
}

/// An address as proxies write it: bare, with a port, in brackets, in quotes. `unknown` and hidden names are none.
#[must_use]
pub fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare = || text.parse::<IpAddr>().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|socket| socket.ip());
    let bracketed = || text.strip_prefix('[')?.split(']').next()?.parse().ok().map(IpAddr::V6);
    bare().or_else(with_port).or_else(bracketed).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::{HeaderName, HeaderValue};

    fn found(peer: &str, lines: &[(&str, &str)], trusted: &str) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).expect("a name"),
                HeaderValue::from_str(value).expect("a value"),
            );
        }
        let trusted = Networks::parse(trusted, "TEST").expect("parses");
        client_ip(peer.parse().expect("an address"), &headers, &trusted, None).to_string()
    }

    #[test]
    fn a_trusted_proxy_names_the_visitor_in_many_ways() {
        for (lines, want) in [
            (vec![("x-forwarded-for", "203.0.113.7, 10.0.0.1")], "203.0.113.7"),
            (vec![("x-forwarded-for", "203.0.113.7:4711")], "203.0.113.7"),
            (vec![("x-forwarded-for", "[2001:db8::1]:4711")], "2001:db8::1"),
            (vec![("x-forwarded-for", "2001:db8::1")], "2001:db8::1"),
            (vec![("x-forwarded-for", "::ffff:203.0.113.7")], "203.0.113.7"),
            (vec![("x-forwarded-for", "unknown, 203.0.113.7")], "203.0.113.7"),
            (
                vec![("x-forwarded-for", "203.0.113.7"), ("x-forwarded-for", "10.0.0.1")],
                "203.0.113.7",
            ),
            (
                vec![("forwarded", "for=\"[2001:db8::1]:4711\";proto=https, for=10.0.0.1")],
                "2001:db8::1",
            ),
            (vec![("forwarded", "For=203.0.113.7")], "203.0.113.7"),
            (vec![("x-forwarded-for", "")], "127.0.0.1"),
            (vec![("x-forwarded-for", "10.0.0.9")], "10.0.0.9"),
            (
                vec![("x-forwarded-for", "203.0.113.7"), ("cf-connecting-ip", "198.51.100.2")],
                "198.51.100.2",
            ),
            (vec![("x-forwarded-for", "6.6.6.6, 203.0.113.7")], "203.0.113.7"),
            (vec![], "127.0.0.1"),
        ] {
            assert_eq!(found("127.0.0.1", &lines, "loopback"), want, "{lines:?}");
        }
    }

    #[test]
    fn nobody_else_is_believed() {
        let lines = [("x-forwarded-for", "203.0.113.7")];
        assert_eq!(found("127.0.0.1", &lines, "none"), "127.0.0.1");
        assert_eq!(found("198.51.100.1", &lines, "loopback"), "198.51.100.1");
        assert_eq!(found("198.51.100.1", &lines, "198.51.100.0/24"), "203.0.113.7");
        assert_eq!(found("10.1.2.3", &lines, "private"), "203.0.113.7");
        assert_eq!(found("::ffff:127.0.0.1", &lines, "loopback"), "203.0.113.7");
    }

    #[test]
    fn a_wrong_network_is_named() {
        let error =
            Networks::parse("10.0.0.0/8, nonsense", "SUMIMI_IGNORE_IP").expect_err("is refused");
        let text = format!("{error:#}");
        assert!(text.contains("SUMIMI_IGNORE_IP") && text.contains("nonsense"), "{text}");
    }
}
