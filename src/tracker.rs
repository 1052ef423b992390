//! The tracker script: prepared and compressed once at the start, then served from memory under `/script.js` and
//! every configured name. Browsers may keep it for a day and ask again with its tag.

use std::io::Write;
use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use sha2::{Digest, Sha256};

const SOURCE: &str = include_str!("../assets/script.js");
/// Where events go unless another path is configured.
const COLLECT_PATH: &str = "/api/send";

/// The script in every encoding.
pub struct TrackerAssets {
    names: Vec<String>,
    tag: String,
    plain: web::Bytes,
    /// Name of the content coding and body, best first.
    encoded: [(&'static str, web::Bytes); 3],
}

impl TrackerAssets {
    /// `collect_path`: the path that receives events; `names`: further names of the script, separated by commas.
    #[must_use]
    pub fn new(collect_path: Option<&str>, names: &str) -> Self {
        let script = minified(SOURCE).replace("__COLLECT__", collect_path.unwrap_or(COLLECT_PATH));
        let digest = Sha256::digest(script.as_bytes());
        let tag = digest.iter().take(8).fold(0, |tag, byte| tag << 8 | u64::from(*byte));
        let further = names.split(',').map(|name| name.trim().trim_matches('/'));
        let names = std::iter::once("script.js")
            .chain(further.filter(|name| !name.is_empty() && *name != "script.js"))
            .map(|name| if name.contains('.') { format!("/{name}") } else { format!("/{name}.js") })
            .collect();
        let encoded = [
            ("br", web::Bytes::from(brotli_of(script.as_bytes()))),
            ("zstd", web::Bytes::from(zstd_of(script.as_bytes()))),
            ("gzip", web::Bytes::from(gzip_of(script.as_bytes()))),
        ];
        Self { names, tag: format!("\"{tag:016x}\""), plain: script.into(), encoded }
    }

    /// The script's paths.
    pub fn routes(self: &Arc<Self>, cfg: &mut web::ServiceConfig) {
        for name in &self.names {
            let resource = web::resource(name.as_str());
            cfg.service(resource.route(web::get().to(script)).route(web::head().to(script)));
        }
    }

    /// The body for an `Accept-Encoding`, and its coding.
    fn choose(&self, accept: &str) -> (Option<&'static str>, web::Bytes) {
        let accepts = |coding: &str| {
            accept.split(',').any(|part| {
                let mut fields = part.split(';').map(str::trim);
                let named = fields.next().is_some_and(|name| name.eq_ignore_ascii_case(coding));
                let refused = fields.any(|field| {
                    field.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()) == Some(0.0)
                });
                named && !refused
            })
        };
        match self.encoded.iter().find(|(coding, _)| accepts(coding)) {
            Some((coding, body)) => (Some(coding), body.clone()),
            None => (None, self.plain.clone()),
        }
    }
}

async fn script(request: HttpRequest, assets: web::Data<TrackerAssets>) -> HttpResponse {
    let text =
        |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let known = text(header::IF_NONE_MATCH).is_some_and(|tags| {
        tags.split(',').any(|tag| tag.trim().trim_start_matches("W/") == assets.tag)
    });
    let status = if known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let mut response = HttpResponse::build(status);
    response
        .insert_header((header::ETAG, assets.tag.as_str()))
        .insert_header((header::CACHE_CONTROL, "public, max-age=86400, must-revalidate"))
        .insert_header((header::VARY, "accept-encoding"))
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header(("cross-origin-resource-policy", "cross-origin"));
    if known {
        return response.finish();
    }
    let (coding, body) = assets.choose(text(header::ACCEPT_ENCODING).unwrap_or_default());
    if let Some(coding) = coding {
        response.insert_header((header::CONTENT_ENCODING, coding));
    }
    response.content_type("application/javascript; charset=UTF-8").body(body)
}

/// Without comment lines and leading blanks, which is all that can be dropped without understanding the language.
fn minified(source: &str) -> String {
    let lines = source.lines().map(str::trim);
    let kept: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with("//")).collect();
    kept.join("\n")
}

// Writing to a vector does not fail.
fn gzip_of(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

fn brotli_of(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut out, 4096, 11, 22);
    let _ = encoder.write_all(text);
    let _ = encoder.flush();
    drop(encoder);
    out
}

fn zstd_of(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 19).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn is_small_in_every_encoding_and_unpacks_to_the_same() {
        let assets = TrackerAssets::new(None, "");
        let body = |coding| assets.choose(coding).1;
        assert!(body("gzip").len() <= 2_500, "gzip {}", body("gzip").len());
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&body("gzip")[..]).read_to_end(&mut text).expect("unpacks");
        assert_eq!(text, assets.plain);
        let mut text = Vec::new();
        brotli::Decompressor::new(&body("br")[..], 4096).read_to_end(&mut text).expect("unpacks");
        assert_eq!(text, assets.plain);
        assert_eq!(zstd::decode_all(&body("zstd")[..]).expect("unpacks"), assets.plain);
    }

    #[test]
    fn the_best_accepted_encoding_is_chosen() {
        let assets = TrackerAssets::new(None, "");
        for (accept, want) in [
            ("gzip, deflate, br, zstd", Some("br")),
            ("gzip, zstd", Some("zstd")),
            ("gzip;q=1.0, br;q=0", Some("gzip")),
            ("GZIP", Some("gzip")),
            ("identity", None),
            ("", None),
        ] {
            assert_eq!(assets.choose(accept).0, want, "{accept}");
        }
    }

    #[test]
    fn names_and_the_collecting_path_can_be_configured() {
        let assets = TrackerAssets::new(Some("/api/collect"), "stats, a/b.js");
        assert_eq!(assets.names, ["/script.js", "/stats.js", "/a/b.js"]);
        let text = String::from_utf8_lossy(&assets.plain).into_owned();
        assert!(text.contains("/api/collect") && !text.contains("__COLLECT__"));
    }
}
