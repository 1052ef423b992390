//! The readers: every SQL file is whole, a slow question is stopped, and a connection always comes back.

use std::time::Duration;

use actix_web::rt;
use sumimi::api::filter::Filters;
use sumimi::api::params::Query;
use sumimi::error::ApiError;
use sumimi::limits;
use sumimi::store::question::Question;
use sumimi::store::reader::{Readers, StoreError};
use sumimi::store::sql;

use super::TestApp;

/// Takes far longer than any deadline here.
const SLOW: &str =
    "SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE a.range % 7 = b.range % 5";

/// Needs far more memory than the engine may use, and cannot be spilled.
const LARGE: &str = "SELECT len(list(range)) FROM range(100000000)";

async fn one(readers: &Readers) -> Result<i64, StoreError> {
    readers.ask_one(Question::new("SELECT 1::BIGINT"), |row| row.integer(0)).await
}

/// Binds a value to every name that stands in the file.
fn with_values(name: &str, text: &'static str, question: Question) -> Question {
    let numbers = [
        "website_key",
        "start_at",
        "end_at",
        "since",
        "limit",
        "offset",
        "names_max",
        "session_id",
        "first_id",
        "visit_id",
        "min_ms",
        "chunk_number",
        "last_id",
        "piece_bytes",
        "steps",
        "window_ms",
        "event_id",
        "rows_max",
        "data_type",
        "horizon",
    ];
    let texts = [
        ("unit", "day"),
        ("zone_since", "[0]"),
        ("zone_until", "[1]"),
        ("zone_offset", "[0]"),
        ("pattern", "a"),
        ("website_id", "11111111-1111-4111-8111-111111111111"),
        ("id", "99999999-9999-4999-8999-999999999999"),
        ("type", "segment"),
        ("currency", "EUR"),
        ("start_step", "/"),
        ("end_step", "/"),
        ("event_name", "order"),
        ("property_name", "price"),
    ];
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("--"));
    let body: String = lines.flat_map(|line| [line, "\n"]).collect();
    let mentions = |word: &str| {
        body.match_indices(&format!("${word}")).any(|(at, found)| {
            let next = body[at + found.len()..].chars().next();
            !next.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
        })
    };
    let mut question = question;
    for word in numbers.into_iter().filter(|word| mentions(word)) {
        question = question.bind(word, 1_i64);
    }
    let flags = ["custom", "by_country", "first", "by_length", "by_value", "is_array"];
    for word in flags.into_iter().filter(|word| mentions(word)) {
        question = question.bind(word, true);
    }
    for (word, value) in texts.into_iter().filter(|(word, _)| mentions(word)) {
        question = question.bind(word, value);
    }
    assert!(body.contains('$'), "{name} has no parameters");
    question
}

#[actix_web::test]
async fn every_file_runs_as_it_stands_and_with_every_filter() {
    let app = TestApp::new(&[]);
    let columns = [
        "path",
        "query",
        "title",
        "referrer",
        "hostname",
        "tag",
        "event",
        "utmSource",
        "utmMedium",
        "utmCampaign",
        "utmContent",
        "utmTerm",
        "browser",
        "os",
        "device",
        "screen1",
        "language",
        "country",
        "region",
        "city",
        "distinctId",
    ];
    let mut queries =
        vec!["excludeBounce=1&eventType=1&match=any&path=/*,/a&city=neq.,b".to_owned()];
    for operator in ["eq.", "neq.", "c.", "dnc.", "re.", "nre."] {
        queries.push(columns.map(|column| format!("{column}={operator}x")).join("&"));
    }
    for (name, text) in sql::ALL {
        let plain = with_values(name, text, Question::new(text));
        let plain = app.readers.ask(plain, |_| Ok(())).await;
        plain.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        if !text.contains("/*:filters*/") {
            continue;
        }
        for query in &queries {
            let filters =
                Filters::from_query(&Query::parse(query).expect("decodes")).expect("filters");
            let question = with_values(name, text, filters.apply(Question::new(text)));
            let filtered = app.readers.ask(question, |_| Ok(())).await;
            filtered.unwrap_or_else(|error| panic!("{name} {query}: {error:?}"));
        }
    }
}

#[actix_web::test]
async fn a_name_that_is_missing_or_one_too_many_is_refused_and_the_connection_comes_back() {
    let app = TestApp::new(&[]);
    for _ in 0..3 * limits::READERS {
        let missing = Question::new("SELECT $a + $b").bind("a", 1_i64);
        let surplus = Question::new("SELECT $a").bind("a", 1_i64).bind("b", 2_i64);
        let broken = Question::new("SELECT FROM");
        for question in [missing, surplus, broken] {
            let outcome = app.readers.ask(question, |_| Ok(())).await;
            assert!(matches!(outcome, Err(StoreError::Engine(_))), "{outcome:?}");
        }
        let readers = app.readers.clone();
        let panics = rt::spawn(async move {
            readers.ask::<()>(Question::new("SELECT 1"), |_| panic!("while reading")).await
        });
        assert!(panics.await.is_err_and(|error| error.is_panic()));
    }
    assert_eq!(one(&app.readers).await.expect("answers"), 1);
}

#[actix_web::test]
async fn a_question_beyond_its_deadline_is_stopped_and_the_next_one_is_answered() {
    let app = TestApp::new(&[]);
    let readers = Readers::with_deadline(&app.store, Duration::from_millis(50)).expect("connects");
    for _ in 0..=limits::READERS {
        let outcome = readers.ask(Question::new(SLOW), |_| Ok(())).await;
        assert!(matches!(outcome, Err(StoreError::Timeout)), "{outcome:?}");
        assert_eq!(one(&readers).await.expect("answers"), 1);
    }
}

#[actix_web::test]
async fn a_question_nobody_waits_for_any_more_is_stopped() {
    let app = TestApp::new(&[]);
    for _ in 0..=2 * limits::READERS {
        let slow = app.readers.ask(Question::new(SLOW), |_| Ok(()));
        assert!(rt::time::timeout(Duration::from_millis(20), slow).await.is_err());
    }
    // All connections were in use by questions that would run for hours.
    assert_eq!(one(&app.readers).await.expect("answers"), 1);
}

#[actix_web::test]
async fn only_so_many_questions_wait_and_those_beyond_are_refused_at_once() {
    let app = TestApp::new(&[]);
    let all = limits::READERS + limits::QUESTIONS_WAITING_MAX;
    let mut waiting: Vec<_> = (0..all)
        .map(|_| {
            let readers = app.readers.clone();
            rt::spawn(async move { readers.ask(Question::new(SLOW), |_| Ok(())).await.map(|_| ()) })
        })
        .collect();
    // Each of them runs until it waits.
    for _ in 0..4 {
        rt::task::yield_now().await;
    }
    assert!(matches!(one(&app.readers).await, Err(StoreError::Busy)));
    for question in waiting.drain(..) {
        question.abort();
        assert!(question.await.is_err_and(|error| error.is_cancelled()));
    }
    assert_eq!(one(&app.readers).await.expect("answers"), 1);
}

#[actix_web::test]
async fn a_question_beyond_the_memory_is_refused_and_the_next_one_is_answered() {
    let app = TestApp::new(&[]);
    let large = app.readers.ask_one(Question::new(LARGE), |row| row.integer(0)).await;
    assert!(matches!(large, Err(StoreError::Memory)), "{large:?}");
    let answer = actix_web::ResponseError::error_response(&ApiError::from(StoreError::Memory));
    assert_eq!(answer.status(), 503);
    assert!(answer.headers().contains_key("retry-after"));
    assert!(matches!(one(&app.readers).await, Ok(1)));
}
