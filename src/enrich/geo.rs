//! Where an address is: from the headers of a proxy that knows, or from a mapped MaxMind database. Country, region and
//! city in English, never anything finer; the address itself goes no further. What has to be made of it (a region with
//! its country, a decoded city) is made in the worker's scratch: nothing is allocated.

use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context, Result};
use maxminddb::{Mmap, PathElement, Reader};

use super::scratch::{Piece, Scratch};
use crate::mapped;

/// A place, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// ISO code, two letters.
    pub country: Option<Piece<'a>>,
    /// `CC-REG`.
    pub region: Option<Piece<'a>>,
    pub city: Option<Piece<'a>>,
}

/// The headers of each provider: country, region, city. The first provider whose country header is there is used,
/// and used alone.
pub const PROVIDERS: [[&str; 3]; 4] = [
    ["cf-ipcountry", "cf-region-code", "cf-ipcity"],
    ["x-vercel-ip-country", "x-vercel-ip-country-region", "x-vercel-ip-city"],
    ["cloudfront-viewer-country", "cloudfront-viewer-country-region", "cloudfront-viewer-city"],
    ["eo-ipcountry", "eo-region-code", "eo-ipcity"],
];

/// A place from a trusted proxy's headers; `header` gives the bytes of a provider's header, named by its place in
/// [`PROVIDERS`].
pub fn from_headers<'h>(
    header: impl Fn(usize, usize) -> Option<&'h [u8]>,
    scratch: &mut Scratch,
) -> Option<Place<'h>> {
    let found = |provider, part| header(provider, part).filter(|value| !value.is_empty());
    let provider = (0..PROVIDERS.len()).find(|provider| found(*provider, 0).is_some())?;
    let mut read = |part| found(provider, part).map(|value| readable(value, scratch));
    let (country, region, city) = (read(0)?, read(1), read(2));
    // Three letters are no code of a country; nothing is better than something wrong.
    if scratch.text(&country).len() != 2 {
        return None;
    }
    let region = region.map(|region| {
        if scratch.text(&region).contains('-') {
            region
        } else {
            scratch.join([&country, &Piece::Input("-"), &region])
        }
    });
    Some(Place { country: Some(country), region, city })
}

/// The text of a header: UTF-8 (providers write it raw), else Latin-1; percent-encoding undone.
fn readable<'h>(value: &'h [u8], scratch: &mut Scratch) -> Piece<'h> {
    match std::str::from_utf8(value) {
        Ok(text) if text.contains('%') => scratch.decoded(text, b"").unwrap_or(Piece::Input(text)),
        Ok(text) => Piece::Input(text),
        Err(_) => scratch.keep_latin1(value),
    }
}

/// Whether an address is one of a local network, which has no place.
#[must_use]
pub fn is_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_unspecified()
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.is_unspecified()
        }
    }
}

/// A MaxMind City or Country database, mapped.
pub struct GeoDb(Reader<Mmap>);

impl GeoDb {
    /// # Errors
    /// When the file is no such database; names the setting.
    pub fn open(path: &Path) -> Result<Self> {
        let map = mapped::read_only(path)
            .with_context(|| format!("SUMIMI_GEO_DB (--geo-db): cannot read {}", path.display()))?;
        let reader = Reader::from_source(map).with_context(|| {
            format!("SUMIMI_GEO_DB (--geo-db): {} is not a MaxMind database", path.display())
        })?;
        Ok(Self(reader))
    }

    /// The place of an address; empty when it is not in the database.
    pub fn lookup(&self, address: IpAddr, scratch: &mut Scratch) -> Place<'_> {
        let Ok(found) = self.0.lookup(address.to_canonical()) else { return Place::default() };
        let text = |path: &[PathElement<'_>]| found.decode_path::<&str>(path).ok().flatten();
        let code = |name| text(&[PathElement::Key(name), PathElement::Key("iso_code")]);
        let Some(country) = code("country").or_else(|| code("registered_country")) else {
            return Place::default();
        };
        let region = text(&[
            PathElement::Key("subdivisions"),
            PathElement::Index(0),
            PathElement::Key("iso_code"),
        ]);
        let city =
            text(&[PathElement::Key("city"), PathElement::Key("names"), PathElement::Key("en")]);
        let country = Piece::Input(country);
        let region = region
            .map(|region| scratch.join([&country, &Piece::Input("-"), &Piece::Input(region)]));
        Place { country: Some(country), region, city: city.map(Piece::Input) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(headers: &[(&str, &'static [u8])]) -> Option<(String, String, String)> {
        let mut scratch = Scratch::default();
        let header = |provider: usize, part: usize| {
            let name = PROVIDERS[provider][part];
            headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
        };
        let found = from_headers(header, &mut scratch)?;
        let text = |part: Option<Piece<'_>>| {
            part.map(|piece| scratch.text(&piece).to_owned()).unwrap_or_default()
        };
        Some((text(found.country), text(found.region), text(found.city)))
    }

    #[test]
    fn the_first_provider_with_a_country_is_used_alone() {
        let want = |c: &str, r: &str, t: &str| Some((c.to_owned(), r.to_owned(), t.to_owned()));
        assert_eq!(
            place(&[
                ("cf-ipcountry", b"BR"),
                ("cf-region-code", b"SP"),
                ("cf-ipcity", "São Paulo".as_bytes())
            ]),
            want("BR", "BR-SP", "São Paulo")
        );
        assert_eq!(
            place(&[
                ("x-vercel-ip-country", b"CH"),
                ("x-vercel-ip-city", b"Z%C3%BCrich"),
                ("cf-region-code", b"X")
            ]),
            want("CH", "", "Zürich")
        );
        assert_eq!(
            place(&[("cf-ipcountry", b"XX"), ("cf-region-code", b"US-CA")]),
            want("XX", "US-CA", "")
        );
        assert_eq!(place(&[("cf-ipcountry", b""), ("cf-ipcity", b"Paris")]), None);
        assert_eq!(place(&[("cf-ipcountry", b"USA")]), None);
    }

    #[test]
    fn a_database_knows_its_addresses_and_only_those() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/test-city.mmdb");
        let db = GeoDb::open(&path).expect("opens");
        let mut scratch = Scratch::default();
        let found = db.lookup("203.0.113.5".parse().expect("an address"), &mut scratch);
        assert!(found.country.is_some(), "{found:?}");
        let nowhere = db.lookup("10.0.0.1".parse().expect("an address"), &mut scratch);
        assert_eq!(nowhere, Place::default());
        let error = GeoDb::open(Path::new("/nowhere")).err().expect("is refused");
        assert!(error.to_string().contains("SUMIMI_GEO_DB"));
    }

    #[test]
    fn local_addresses_have_no_place() {
        for local in
            ["127.0.0.1", "10.1.1.1", "192.168.0.1", "::1", "fd00::1", "fe80::1", "::ffff:10.0.0.1"]
        {
            assert!(is_local(local.parse().expect("an address")), "{local}");
        }
        assert!(!is_local("203.0.113.7".parse().expect("an address")));
    }
}
