//! The tracker script: `assets/script.js`, prepared once at the start and served from memory.
//!
//! What must stay true: a request costs no compression and no copy of the script; every encoding has a tag of its
//! own; any page of any site may load it. A name that people chose for it (`TRACKER_SCRIPT_NAME`) works with and
//! without `.js`, and `/script.js` always works.

use std::fmt::Write as _;
use std::io::Write as _;

use actix_web::http::header::{
    self, AcceptEncoding, ContentEncoding, Encoding, EntityTag, Header as _, IfNoneMatch,
};
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use sha2::{Digest as _, Sha256};

const SOURCE: &str = include_str!("../assets/script.js");
/// The path as the source has it, quotes included.
const ENDPOINT_IN_SOURCE: &str = "'/api/send'";
const BROTLI_QUALITY: u32 = 11;
/// A window of 64 KB holds the script many times; a wider one only costs memory at the start.
const BROTLI_WINDOW_BITS: u32 = 16;
const ZSTD_LEVEL: i32 = 19;

/// One encoding of the script.
struct Variant {
    encoding: ContentEncoding,
    /// Of `encoding`, as negotiation compares it.
    name: Encoding,
    tag: EntityTag,
    body: Bytes,
}

/// The script in every encoding it is served in.
pub struct TrackerAssets {
    /// Without compression first: it is what remains when nothing else is wanted.
    variants: Vec<Variant>,
}

impl TrackerAssets {
    /// Prepares the script so that it posts to `collect_endpoint`, a path below the server's base (`/api/send`).
    #[must_use]
    pub fn new(collect_endpoint: &str) -> Self {
        let script = script(collect_endpoint);
        let hash = hex(&Sha256::digest(&script)[..8]);
        let variant = |encoding: ContentEncoding, body: Vec<u8>| Variant {
            encoding,
            name: Encoding::Known(encoding),
            tag: EntityTag::new_strong(format!("{hash}-{}", encoding.as_str())),
            body: Bytes::from(body),
        };
        let plain = script.as_bytes();
        Self {
            variants: vec![
                variant(ContentEncoding::Identity, plain.to_vec()),
                variant(ContentEncoding::Brotli, brotli(plain)),
                variant(ContentEncoding::Zstd, zstd(plain)),
                variant(ContentEncoding::Gzip, gzip(plain)),
            ],
        }
    }

    /// The encoding the client likes best; the plain one when it accepts nothing that there is.
    fn negotiate(&self, request: &HttpRequest) -> &Variant {
        let accepted = AcceptEncoding::parse(request).unwrap_or(AcceptEncoding(Vec::new()));
        let chosen = accepted.negotiate(self.variants.iter().map(|variant| &variant.name));
        let found = self.variants.iter().find(|variant| Some(&variant.name) == chosen.as_ref());
        found.unwrap_or(&self.variants[0])
    }
}

/// Routes the script under `/script.js` and under every one of `names`. Wants `web::Data<TrackerAssets>`.
pub fn configure(cfg: &mut web::ServiceConfig, names: &[String]) {
    for path in paths(names) {
        cfg.service(
            web::resource(path)
                .route(web::get().to(serve))
                .route(web::head().to(serve))
                .default_service(web::to(refuse_method)),
        );
    }
}

/// The paths of the script, each once.
fn paths(names: &[String]) -> Vec<String> {
    let mut paths = vec!["/script.js".to_owned()];
    for name in names {
        let name = name.trim().trim_matches('/');
        let stem = name.strip_suffix(".js").unwrap_or(name);
        // Braces are patterns to the router and mean nothing in a name.
        if stem.is_empty() || stem.contains(['{', '}']) {
            continue;
        }
        for path in [format!("/{stem}"), format!("/{stem}.js")] {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

async fn serve(request: HttpRequest, assets: web::Data<TrackerAssets>) -> HttpResponse {
    let variant = assets.negotiate(&request);
    let is_known = match IfNoneMatch::parse(&request) {
        Ok(IfNoneMatch::Any) => true,
        Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|tag| tag.weak_eq(&variant.tag)),
        Err(_) => false,
    };
    let mut response = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    response
        .insert_header(header::ETag(variant.tag.clone()))
        .insert_header((header::VARY, "accept-encoding"))
        .insert_header((header::CACHE_CONTROL, "public, max-age=86400, must-revalidate"))
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header((header::CROSS_ORIGIN_RESOURCE_POLICY, "cross-origin"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    if is_known {
        return response.finish();
    }
    response.content_type("application/javascript; charset=UTF-8");
    if variant.encoding != ContentEncoding::Identity {
        response.insert_header((header::CONTENT_ENCODING, variant.encoding.to_header_value()));
    }
    response.body(variant.body.clone())
}

async fn refuse_method() -> HttpResponse {
    HttpResponse::MethodNotAllowed().insert_header((header::ALLOW, "GET, HEAD")).finish()
}

/// The source without comment lines and indents, and with the endpoint in place.
fn script(collect_endpoint: &str) -> String {
    let path = format!("/{}", collect_endpoint.trim_start_matches('/'));
    let quoted = serde_json::Value::from(path).to_string();
    let mut script = String::with_capacity(SOURCE.len());
    for line in SOURCE.lines().map(str::trim) {
        if !line.is_empty() && !line.starts_with("//") {
            script.push_str(&line.replace(ENDPOINT_IN_SOURCE, &quoted));
            script.push('\n');
        }
    }
    script
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(plain).and_then(|()| encoder.finish()).expect("memory takes every write")
}

fn brotli(plain: &[u8]) -> Vec<u8> {
    let mut encoder =
        brotli::CompressorWriter::new(Vec::new(), 4096, BROTLI_QUALITY, BROTLI_WINDOW_BITS);
    encoder.write_all(plain).expect("memory takes every write");
    encoder.into_inner()
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(plain, ZSTD_LEVEL).expect("the buffer is as large as the worst case")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::body::to_bytes;
    use actix_web::http::{Method, StatusCode};
    use actix_web::{App, test as app_test};

    const SCRIPT_GZIP_BYTES_MAX: usize = 2_500;

    struct Answer {
        status: StatusCode,
        headers: header::HeaderMap,
        body: Bytes,
    }

    impl Answer {
        fn header(&self, name: &str) -> Option<&str> {
            self.headers.get(name).map(|value| value.to_str().expect("ASCII"))
        }
    }

    async fn ask(method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
        let names = ["stats".to_owned(), "/js/count.js".to_owned()];
        let app = App::new()
            .app_data(web::Data::new(TrackerAssets::new("/api/send")))
            .configure(|cfg| configure(cfg, &names));
        let app = app_test::init_service(app).await;
        let mut request = app_test::TestRequest::with_uri(path).method(method);
        for header in headers {
            request = request.insert_header(*header);
        }
        let response = app_test::call_service(&app, request.to_request()).await;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body()).await.expect("a body from memory");
        Answer { status, headers, body }
    }

    fn unpack(encoding: Option<&str>, body: &[u8]) -> Vec<u8> {
        use std::io::Read as _;
        let mut plain = Vec::new();
        match encoding {
            None => plain.extend_from_slice(body),
            Some("gzip") => {
                flate2::read::GzDecoder::new(body).read_to_end(&mut plain).expect("gzip");
            }
            Some("br") => {
                brotli::Decompressor::new(body, 4096).read_to_end(&mut plain).expect("brotli");
            }
            Some("zstd") => plain = zstd::bulk::decompress(body, 1 << 20).expect("zstd"),
            Some(other) => panic!("{other} was not asked for"),
        }
        plain
    }

    #[actix_web::test]
    async fn the_client_gets_the_encoding_it_likes_best() {
        let cases = [
            ("", None),
            ("gzip", Some("gzip")),
            ("gzip, deflate, br, zstd", Some("br")),
            ("br;q=0.1, gzip;q=0.9", Some("gzip")),
            ("zstd", Some("zstd")),
            ("gzip;q=0, br;q=0", None),
            ("identity, gzip;q=0.5", None),
            ("deflate", None),
            ("*;q=0", None),
            ("rubbish;q=x,,;", None),
        ];
        let plain = script("/api/send");
        for (accepted, expected) in cases {
            let answer = ask(Method::GET, "/script.js", &[("accept-encoding", accepted)]).await;
            assert_eq!(answer.status, StatusCode::OK, "{accepted}");
            assert_eq!(answer.header("content-encoding"), expected, "{accepted}");
            assert_eq!(answer.header("vary"), Some("accept-encoding"), "{accepted}");
            assert!(unpack(expected, &answer.body) == plain.as_bytes(), "{accepted}");
        }
    }

    #[actix_web::test]
    async fn what_the_client_has_is_not_sent_again() {
        let gzip = [("accept-encoding", "gzip")];
        let first = ask(Method::GET, "/script.js", &gzip).await;
        let tag = first.header("etag").expect("a tag").to_owned();
        assert!(tag.starts_with('"'), "{tag} is strong");
        let plain_tag = ask(Method::GET, "/script.js", &[]).await;
        assert_ne!(plain_tag.header("etag"), Some(tag.as_str()), "one tag, one sequence of bytes");
        let cases = [
            (tag.clone(), StatusCode::NOT_MODIFIED),
            (format!("W/{tag}"), StatusCode::NOT_MODIFIED),
            (format!("\"other\", {tag}"), StatusCode::NOT_MODIFIED),
            ("*".to_owned(), StatusCode::NOT_MODIFIED),
            ("\"other\"".to_owned(), StatusCode::OK),
            ("rubbish".to_owned(), StatusCode::OK),
        ];
        for (known, expected) in cases {
            let headers = [gzip[0], ("if-none-match", known.as_str())];
            let answer = ask(Method::GET, "/script.js", &headers).await;
            assert_eq!(answer.status, expected, "{known}");
            assert_eq!(answer.header("etag"), Some(tag.as_str()), "{known}");
            assert_eq!(answer.body.is_empty(), expected == StatusCode::NOT_MODIFIED, "{known}");
        }
    }

    #[actix_web::test]
    async fn every_name_of_the_script_works_with_and_without_its_ending() {
        let cases = [
            (Method::GET, "/script.js", StatusCode::OK),
            (Method::GET, "/script.js?v=2", StatusCode::OK),
            (Method::HEAD, "/script.js", StatusCode::OK),
            (Method::GET, "/stats", StatusCode::OK),
            (Method::GET, "/stats.js", StatusCode::OK),
            (Method::GET, "/js/count", StatusCode::OK),
            (Method::HEAD, "/js/count.js", StatusCode::OK),
            (Method::POST, "/script.js", StatusCode::METHOD_NOT_ALLOWED),
            (Method::GET, "/script", StatusCode::NOT_FOUND),
        ];
        for (method, path, expected) in cases {
            let answer = ask(method.clone(), path, &[]).await;
            assert_eq!(answer.status, expected, "{method} {path}");
        }
    }

    #[actix_web::test]
    async fn any_site_may_load_and_cache_the_script() {
        let answer = ask(Method::GET, "/script.js", &[("origin", "https://shop.example")]).await;
        let expected = [
            ("content-type", "application/javascript; charset=UTF-8"),
            ("access-control-allow-origin", "*"),
            ("cross-origin-resource-policy", "cross-origin"),
            ("cache-control", "public, max-age=86400, must-revalidate"),
            ("x-content-type-options", "nosniff"),
        ];
        for (name, value) in expected {
            assert_eq!(answer.header(name), Some(value), "{name}");
        }
    }

    #[test]
    fn names_that_the_router_would_misread_are_left_out() {
        let names = ["", "/", ".js", "{a", "script.js", "x", " x.js "].map(str::to_owned);
        assert_eq!(paths(&names), ["/script.js", "/script", "/x", "/x.js"]);
    }

    #[test]
    fn the_script_is_small() {
        let bytes = gzip(script("/api/send").as_bytes()).len();
        assert!(bytes <= SCRIPT_GZIP_BYTES_MAX, "{bytes} bytes");
    }

    #[test]
    fn the_endpoint_is_put_in_once_and_cannot_break_out_of_its_string() {
        assert_eq!(SOURCE.matches(ENDPOINT_IN_SOURCE).count(), 1);
        let cases = [
            ("/api/send", "const path = \"/api/send\";\n"),
            ("collect", "const path = \"/collect\";\n"),
            ("/a\"+alert(1)+\"", "const path = \"/a\\\"+alert(1)+\\\"\";\n"),
        ];
        for (endpoint, expected) in cases {
            assert!(script(endpoint).contains(expected), "{endpoint}");
        }
    }

    #[test]
    fn dropping_comments_and_indents_cannot_change_the_script() {
        // It would inside a text or comment that spans lines: templates, block comments, escaped line ends.
        let script = script("/api/send");
        assert!(!script.contains('`') && !script.contains("/*"));
        assert!(!script.lines().any(|line| line.ends_with('\\')));
    }
}
