//! Questions that need not be asked again. A question that returns a random number tells whether it was asked.

use std::time::Duration;

use actix_web::rt;
use sumimi::event::{Event, EventKind};
use sumimi::limits;
use sumimi::store::append::Append;
use sumimi::store::question::Question;
use sumimi::store::reader::{Readers, StoreError};

use super::{MARCH, SITE, TestApp, page};

/// The same number as long as nobody computes it anew.
const RANDOM: &str = "SELECT random() FROM facts.ring_cursor RIGHT JOIN range(1) ON true
    WHERE $website_key >= 0 AND $filter IS NULL";

/// Takes far longer than any deadline here.
const SLOW: &str = "SELECT count(*) FROM range(1000000000) a, range(1000) b
    WHERE a.range % 7 = b.range % 5 AND $website_key >= (SELECT count(*) FROM facts.event)";

/// Takes long enough to be joined.
const LONG: &str = "SELECT sum(hash(range) % 2)::BIGINT FROM range(30000000)
    WHERE $website_key >= (SELECT count(*) FROM facts.event)";

async fn number(readers: &Readers, website_key: u32) -> f64 {
    let question =
        Question::new(RANDOM).bind("website_key", website_key).bind("filter", None::<i64>);
    readers.ask_one(question, |row| row.number(0)).await.expect("a number")
}

fn about(text: &'static str, website_key: u32) -> Question {
    Question::new(text).bind("website_key", website_key)
}

#[actix_web::test]
async fn an_answer_is_given_again_until_the_website_has_new_events_or_loses_some() {
    let app = TestApp::new(&[page("2026-03-10T10:00:00Z", 1, 1, "/")]);
    let readers = &app.readers;
    let (one, two) = (number(readers, 1).await, number(readers, 2).await);
    assert!(one.to_bits() != two.to_bits());
    for _ in 0..3 {
        assert_eq!(number(readers, 1).await.to_bits(), one.to_bits());
    }

    let mut append = Append::new(&app.store).expect("connects");
    let event = Event { website_key: 1, kind: EventKind::PageView, ..Event::default() };
    append.commit([(1 << 40, event)].into_iter(), &[], || Ok(())).expect("commits");
    let after_event = number(readers, 1).await;
    assert_ne!(after_event.to_bits(), one.to_bits());
    assert_eq!(number(readers, 2).await.to_bits(), two.to_bits(), "another website");

    let refused = append.commit([].into_iter(), &[], || anyhow::bail!("not now"));
    assert!(refused.is_err() && number(readers, 1).await.to_bits() == after_event.to_bits());

    assert!(app.store.delete_session(1, 1).expect("deletes"));
    assert_ne!(number(readers, 1).await.to_bits(), after_event.to_bits());
    assert_eq!(number(readers, 2).await.to_bits(), two.to_bits());
}

#[actix_web::test]
async fn the_figures_follow_the_events_at_once() {
    let app = TestApp::new(&[page("2026-03-10T10:00:00Z", 1, 1, "/")]);
    let path = format!("{SITE}/stats?{MARCH}");
    let mut append = Append::new(&app.store).expect("connects");
    for views in 1..5_u64 {
        for _ in 0..2 {
            assert_eq!(app.answer(&path).await["pageviews"], views);
        }
        let created_at = super::at("2026-03-11T10:00:00Z");
        let event =
            Event { website_key: 1, kind: EventKind::PageView, created_at, ..Event::default() };
        append.commit([(views << 40, event)].into_iter(), &[], || Ok(())).expect("commits");
    }
}

#[actix_web::test]
async fn an_answer_that_is_large_is_not_kept() {
    let app = TestApp::new(&[]);
    let ask = |letters: usize| {
        let question = about(
            "SELECT random(), repeat('x', $letters) FROM facts.ring_cursor RIGHT JOIN range(1) ON true
             WHERE $website_key >= 0",
            1,
        );
        app.readers.ask_one(question.bind("letters", letters as i64), |row| row.number(0))
    };
    let mut same = Vec::new();
    for letters in [1, limits::ANSWER_BYTES_MAX] {
        let (first, second) = (ask(letters).await, ask(letters).await);
        same.push(first.expect("a number").to_bits() == second.expect("a number").to_bits());
    }
    assert_eq!(same, [true, false]);
}

#[actix_web::test]
async fn equal_questions_at_once_are_one_and_share_its_end() {
    let app = TestApp::new(&[]);
    let readers = Readers::with_deadline(&app.store, Duration::from_millis(100)).expect("connects");
    // More than may run and wait together.
    let all: Vec<_> = (0..2 * (limits::READERS + limits::QUESTIONS_WAITING_MAX))
        .map(|_| {
            let readers = readers.clone();
            rt::spawn(async move { readers.ask(about(SLOW, 1), |_| Ok(())).await })
        })
        .collect();
    for one in all {
        let outcome = one.await.expect("no panic");
        assert!(matches!(outcome, Err(StoreError::Timeout)), "{outcome:?}");
    }
    // Failures are not remembered, and every connection is back.
    number(&readers, 1).await;
}

#[actix_web::test]
async fn a_question_ends_with_the_last_of_those_who_asked_it() {
    let app = TestApp::new(&[]);
    let ask = |text| {
        let readers = app.readers.clone();
        rt::spawn(async move { readers.ask_one(about(text, 1), |row| row.integer(0)).await })
    };
    let (first, second) = (ask(LONG), ask(LONG));
    rt::task::yield_now().await;
    first.abort();
    assert!(first.await.is_err());
    assert!(second.await.expect("no panic").expect("an answer") > 0);

    for _ in 0..=limits::READERS {
        let (first, second) = (ask(SLOW), ask(SLOW));
        rt::time::sleep(Duration::from_millis(10)).await;
        first.abort();
        second.abort();
        assert!(first.await.is_err() && second.await.is_err());
    }
    // All connections were in use by questions that would run for hours.
    number(&app.readers, 1).await;
}
