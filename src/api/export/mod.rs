//! `GET /api/websites/{website}/export`: without `format` the seven tables that Umami's clients know, as CSV files in a
//! zip in a JSON text; with `format=csv`, `ndjson` or `parquet` the events themselves, as many as there are (see
//! `stream.rs`).

mod columns;
mod parquet;
mod stream;
mod text;

use std::io::{Cursor, Write};

use actix_web::HttpResponse;
use actix_web::http::header;
use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use zip::write::{SimpleFileOptions, ZipWriter};

use self::columns::{COLUMNS, Cell};
use self::parquet::Parquet;
use self::stream::{Encoder, Export, Source};
use self::text::{Csv, Ndjson};
use super::Asked;
use super::column::Column;
use super::long_answer::{Asker, LongAnswer};
use super::metrics::{Metric, Params, Point};
use super::scope::Scope;
use crate::error::ApiError;

/// The files of the zip and the metrics in them.
const FILES: [(&str, Metric); 7] = [
    ("events.csv", Metric::Event),
    ("pages.csv", Metric::Of(Column::Path)),
    ("referrers.csv", Metric::Of(Column::Referrer)),
    ("browsers.csv", Metric::Of(Column::Browser)),
    ("os.csv", Metric::Of(Column::Os)),
    ("devices.csv", Metric::Of(Column::Device)),
    ("countries.csv", Metric::Of(Column::Country)),
];

/// The forms in which events are exported.
#[derive(Clone, Copy)]
enum Format {
    Csv,
    Ndjson,
    Parquet,
}

impl Format {
    fn parse(name: &str) -> Result<Self, ApiError> {
        match name {
            "csv" => Ok(Self::Csv),
            "ndjson" => Ok(Self::Ndjson),
            "parquet" => Ok(Self::Parquet),
            _ => Err(ApiError::bad_request("Invalid format: expected csv, ndjson or parquet")),
        }
    }

    fn encoder(self) -> Result<Box<dyn Encoder>> {
        Ok(match self {
            Self::Csv => Box::new(Csv::new(COLUMNS.iter().map(|(name, _)| *name))?),
            Self::Ndjson => Box::new(Ndjson::default()),
            Self::Parquet => Box::new(Parquet::new()?),
        })
    }

    /// The ending of a file's name, and the type of its content.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Csv => ("csv", "text/csv; charset=utf-8"),
            Self::Ndjson => ("ndjson", "application/x-ndjson"),
            Self::Parquet => ("parquet", "application/vnd.apache.parquet"),
        }
    }
}

pub async fn export(asked: Asked) -> Result<HttpResponse, ApiError> {
    match asked.query.get("format") {
        Some(format) => events(&asked, Format::parse(format)?).await,
        None => tables(&asked).await,
    }
}

async fn events(asked: &Asked, format: Format) -> Result<HttpResponse, ApiError> {
    let mut scope = Scope::parse(&asked.query)?.with_bounces();
    let website = scope.website(asked).await?;
    let source = Source::new(Asker::new(&asked.readers), scope, website);
    let export = Export::new(source, format.encoder()?);
    let answer = LongAnswer::begin(&asked.readers, export).await?;
    let (ending, content_type) = format.names();
    let disposition = format!("attachment; filename=\"{}.{ending}\"", website.id);
    Ok(HttpResponse::Ok()
        .content_type(content_type)
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .streaming(answer.stream()))
}

async fn tables(asked: &Asked) -> Result<HttpResponse, ApiError> {
    let of = |(name, metric)| Ok((name, Params::of_first_rows(&asked.query, metric)?));
    let mut files = FILES.into_iter().map(of).collect::<Result<Vec<_>, ApiError>>()?;
    let website = asked.website().await?;
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, params) in &mut files {
        let points = params.ask(&asked.readers, website).await?;
        zip.start_file(*name, SimpleFileOptions::default())?;
        zip.write_all(&table(&points)?)?;
    }
    let bytes = zip.finish()?.into_inner();
    Ok(HttpResponse::Ok().json(json!({ "zip": STANDARD.encode(bytes) })))
}

/// Values and figures as CSV; a table without rows has no names either, as Umami's.
fn table(points: &[Point]) -> Result<Vec<u8>> {
    if points.is_empty() {
        return Ok(Vec::new());
    }
    let mut csv = Csv::new(["x", "y"])?;
    for point in points {
        csv.line(&[Cell::Text(point.x.clone()), Cell::Integer(point.y)])?;
    }
    csv.take()
}
