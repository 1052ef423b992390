//! `GET …/export`: Umami's zip of seven tables, and the events themselves, piece by piece: each once, however many are
//! of one time, without what is not asked for; and places that come back when a client stalls or goes.

use std::collections::HashSet;
use std::io::{Cursor, Read as _};

use actix_web::rt;
use actix_web::web::Bytes;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMillisecondType};
use arrow_array::{Array, RecordBatch};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use sumimi::identity::uuid_of;
use sumimi::limits;

use super::{MARCH, RESET_SITE, SITE, TestApp, at, event, page};

/// The files of a zip in a JSON text.
fn unzip(answer: &Value) -> Vec<(String, String)> {
    let bytes = STANDARD.decode(answer["zip"].as_str().expect("a text")).expect("base64");
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).expect("a zip");
    (0..zip.len())
        .map(|index| {
            let mut file = zip.by_index(index).expect("a file");
            let mut text = String::new();
            file.read_to_string(&mut text).expect("UTF-8");
            (file.name().to_owned(), text)
        })
        .collect()
}

async fn csv(app: &TestApp, path: &str) -> Vec<Vec<String>> {
    let (status, body) = app.bytes(path).await;
    assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&*body);
    let lines = reader.records().map(|line| line.expect("lines of one length"));
    lines.map(|line| line.iter().map(str::to_owned).collect()).collect()
}

async fn ndjson(app: &TestApp, path: &str) -> Vec<Value> {
    let (status, body) = app.bytes(path).await;
    let text = String::from_utf8(body).expect("UTF-8");
    assert_eq!(status, 200, "{path}: {text}");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

async fn parquet(app: &TestApp, path: &str) -> Vec<RecordBatch> {
    let (status, body) = app.bytes(path).await;
    assert_eq!(status, 200, "{path}");
    let file = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(body)).expect("a footer");
    let reader = file.with_batch_size(1 << 20).build().expect("columns");
    reader.map(|batch| batch.expect("rows")).collect()
}

#[actix_web::test]
async fn the_zip_has_seven_tables_and_empty_ones_are_empty() {
    let app = TestApp::new(&[
        page("2026-03-03T10:00:00Z", 1, 1, "/a").with("browser", "firefox").with("country", "DE"),
        page("2026-03-03T10:00:01Z", 2, 2, "/a").with("referrer_domain", "=cmd|' /C calc'!A0"),
        page("2026-03-03T10:00:02Z", 2, 2, "/b,c"),
        event("2026-03-03T10:00:03Z", 2, 2, "+click"),
    ]);
    let files = unzip(&app.answer(&format!("{SITE}/export?{MARCH}")).await);
    let expected = [
        ("events.csv", "x,y\r\n'+click,1\r\n"),
        ("pages.csv", "x,y\r\n/a,2\r\n\"/b,c\",1\r\n"),
        ("referrers.csv", "x,y\r\n'=cmd|' /C calc'!A0,1\r\n"),
        ("browsers.csv", "x,y\r\nfirefox,1\r\n"),
        ("os.csv", ""),
        ("devices.csv", ""),
        ("countries.csv", "x,y\r\nDE,1\r\n"),
    ];
    assert_eq!(files, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let filtered = unzip(&app.answer(&format!("{SITE}/export?{MARCH}&path=/a")).await);
    assert_eq!(filtered[1].1, "x,y\r\n/a,2\r\n");
    let bad = ["", MARCH.split('&').next().expect("a start"), &format!("{MARCH}&format=xlsx")];
    for query in bad {
        assert_eq!(app.get(&format!("{SITE}/export?{query}")).await.0, 400, "{query}");
    }
    for format in ["", "&format=csv", "&format=ndjson", "&format=parquet"] {
        let path = format!("{SITE}/export?{MARCH}{format}");
        assert_eq!(app.get_without_token(&path).await.0, 401, "{format}");
    }
}

#[actix_web::test]
async fn events_are_exported_whole_and_in_order() {
    let app = TestApp::with_rows(
        &[
            page("2026-03-04T10:00:00Z", 1, 1, "/später").with("page_title", "=2+3\n\"x\""),
            event("2026-03-03T10:00:00Z", 2, 3, "buy").with("country", "US"),
            page("2026-02-03T10:00:00Z", 2, 3, "/too-early"),
            page("2026-03-03T10:00:00Z", 7, 7, "/other").of_website(2),
        ],
        &[
            "UPDATE facts.event SET has_data = true, lcp = -1.5 WHERE event_name = 'buy'",
            "INSERT INTO facts.event_data SELECT 1, event_id, session_id, created_at, 'buy', '/', k, t, s, n, NULL \
             FROM facts.event, (VALUES ('plan', 1, '=pro', NULL), ('total', 2, '19.9000', 19.9), \
             ('new', 3, 'true', NULL), ('tags', 5, '[\"a\",1]', NULL), ('cut', 5, '[\"a', NULL)) \
             AS data(k, t, s, n) WHERE event_name = 'buy'",
        ],
    );
    let lines = csv(&app, &format!("{SITE}/export?{MARCH}&format=csv")).await;
    let cell = |line: usize, name: &str| {
        let column = lines[0].iter().position(|known| known == name).expect("a column");
        lines[line][column].as_str()
    };
    assert_eq!(lines.len(), 3);
    assert_eq!((cell(1, "eventName"), cell(1, "country"), cell(1, "lcp")), ("buy", "US", "-1.5"));
    assert_eq!(cell(1, "createdAt"), "2026-03-03T10:00:00.000Z");
    assert_eq!(cell(2, "pageTitle"), "'=2+3\n\"x\"");
    assert_eq!((cell(2, "urlPath"), cell(2, "properties")), ("/später", ""));

    let rows = ndjson(&app, &format!("{SITE}/export?{MARCH}&format=ndjson")).await;
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["sessionId"], json!(uuid_of(2).to_string()));
    assert_eq!((&rows[0]["eventType"], &rows[0]["lcp"]), (&json!(2), &json!(-1.5)));
    assert_eq!(
        rows[0]["properties"],
        json!({ "plan": "=pro", "total": 19.9, "new": true, "tags": ["a", 1], "cut": "[\"a" })
    );
    assert_eq!((&rows[1]["pageTitle"], &rows[1]["city"]), (&json!("=2+3\n\"x\""), &Value::Null));
    assert_eq!(rows[1].as_object().map(serde_json::Map::len), Some(lines[0].len()));

    let batches = parquet(&app, &format!("{SITE}/export?{MARCH}&format=parquet")).await;
    let batch = &batches[0];
    let column = |name: &str| batch.column_by_name(name).expect("a column");
    assert_eq!((batches.len(), batch.num_rows()), (1, 2));
    let times = column("createdAt").as_primitive::<TimestampMillisecondType>();
    assert_eq!(times.value(0), at("2026-03-03T10:00:00Z"));
    assert_eq!(column("eventType").as_primitive::<Int64Type>().values(), &[2, 1]);
    let lcp: Vec<Option<f64>> = column("lcp").as_primitive::<Float64Type>().iter().collect();
    assert_eq!(lcp, [Some(-1.5), None]);
    assert_eq!(column("pageTitle").as_string::<i32>().value(1), "=2+3\n\"x\"");
    let properties = column("properties").as_string::<i32>();
    assert!(properties.is_null(1));
    let first: Value = serde_json::from_str(properties.value(0)).expect("JSON");
    assert_eq!(first, rows[0]["properties"]);

    let only = ndjson(&app, &format!("{SITE}/export?{MARCH}&format=ndjson&country=US")).await;
    assert_eq!(only.len(), 1);
    let empty = csv(&app, &format!("{SITE}/export?startAt=0&endAt=1&format=csv")).await;
    assert_eq!(empty.len(), 1, "the names of the columns");
    let empty = parquet(&app, &format!("{SITE}/export?startAt=0&endAt=1&format=parquet")).await;
    assert!(empty.is_empty());
    assert!(
        ndjson(&app, &format!("{SITE}/export?startAt=0&endAt=1&format=ndjson")).await.is_empty()
    );
}

/// A few pieces, and more events than are cut at once; a third have properties, a hundred at a time are of one time.
fn many(website_key: u32) -> (TestApp, usize) {
    let count = limits::EXPORT_EVENTS as usize + 777;
    let start = at("2026-03-03T10:00:00Z");
    let app = TestApp::with_rows(
        &[],
        &[
            &format!(
                "INSERT INTO facts.event BY NAME SELECT {website_key} AS website_key, hash(i + 1) AS event_id, \
                 i // 3 AS session_id, i // 3 AS visit_id, {start} + i // 100 AS created_at, 1 AS event_type, \
                 '/' || i AS url_path, i % 3 = 0 AS has_data FROM range({count}) AS t(i)"
            ),
            "INSERT INTO facts.event_data SELECT website_key, event_id, session_id, created_at, '', '/', 'text', 1, \
             repeat('x', 500), NULL, NULL FROM facts.event WHERE has_data",
            // Ids at both ends of what there is, in the middle of the ones of one time.
            &format!(
                "INSERT INTO facts.event BY NAME SELECT {website_key} AS website_key, \
                 unnest([0, 18446744073709551615]::UBIGINT[]) AS event_id, 1 AS session_id, 1 AS visit_id, \
                 {start} + 3 AS created_at, 1 AS event_type, '/end' AS url_path, false AS has_data"
            ),
        ],
    );
    (app, count + 2)
}

#[actix_web::test]
async fn every_event_of_many_pieces_comes_once() {
    let (app, count) = many(1);
    let path = format!("{SITE}/export?{MARCH}&format=ndjson");
    let rows = ndjson(&app, &path).await;
    assert_eq!(rows.len(), count);
    let ids: HashSet<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(ids.len(), count);
    assert!(rows.is_sorted_by_key(|row| row["createdAt"].as_str().map(str::to_owned)));
    let lines = csv(&app, &format!("{SITE}/export?{MARCH}&format=csv")).await;
    assert_eq!(lines.len(), count + 1);
    let batches = parquet(&app, &format!("{SITE}/export?{MARCH}&format=parquet")).await;
    let ids_there: Vec<&str> = batches
        .iter()
        .flat_map(|batch| batch.column_by_name("id").expect("ids").as_string::<i32>().iter())
        .map(|id| id.expect("an id"))
        .collect();
    let ids_in_order: Vec<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(ids_there, ids_in_order);
}

#[actix_web::test]
async fn what_lies_before_a_reset_is_not_exported() {
    let app = TestApp::new(&[
        page("2026-03-01T10:00:00Z", 1, 1, "/before").of_website(2),
        page("2026-03-03T10:00:00Z", 1, 2, "/after").of_website(2),
    ]);
    let rows = ndjson(&app, &format!("{RESET_SITE}/export?{MARCH}&format=ndjson")).await;
    let paths: Vec<&Value> = rows.iter().map(|row| &row["urlPath"]).collect();
    assert_eq!(paths, [&json!("/after")]);
}

#[actix_web::test]
async fn places_are_few_and_come_back() {
    let (app, count) = many(1);
    let path = format!("{SITE}/export?{MARCH}&format=ndjson");
    let places: Vec<_> = (0..limits::EXPORTS_MAX).map(|_| app.readers.export()).collect();
    assert!(places.iter().all(Result::is_ok));
    assert_eq!(app.get(&path).await.0, 503);
    drop(places);
    for _ in 0..2 * limits::EXPORTS_MAX {
        // A client that goes after the first bytes.
        drop(app.response(&path).await);
    }
    for _ in 0..100 {
        if app.readers.export().is_ok() {
            break;
        }
        rt::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(ndjson(&app, &path).await.len(), count);
}
