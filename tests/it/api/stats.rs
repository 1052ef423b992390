//! `GET …/stats`: what is a visit, a bounce, a previous period, and who may ask.

use serde_json::json;

use super::{MARCH, RESET_SITE, SITE, TestApp, at, event, page};

/// pageviews, visitors, visits, bounces, totaltime.
async fn figures(app: &TestApp, query: &str) -> ([i64; 5], [i64; 5]) {
    let answer = app.answer(&format!("{SITE}/stats?{query}")).await;
    let five = |value: &serde_json::Value| {
        ["pageviews", "visitors", "visits", "bounces", "totaltime"].map(|name| {
            value[name].as_i64().unwrap_or_else(|| panic!("{name} is no number: {answer}"))
        })
    };
    (five(&answer), five(&answer["comparison"]))
}

#[actix_web::test]
async fn views_of_an_evening_and_one_of_the_next_day_are_two_visits_and_one_bounce() {
    let mut seeds: Vec<_> = (0..17)
        .map(|minute| page(&format!("2026-03-03T21:{:02}:00Z", minute * 3), 1, 1, "/a"))
        .collect();
    seeds.push(page("2026-03-04T09:00:00Z", 1, 2, "/b"));
    let app = TestApp::new(&seeds);
    assert_eq!(figures(&app, MARCH).await.0, [18, 1, 2, 1, 48 * 60]);
}

#[actix_web::test]
async fn a_visit_over_midnight_is_no_bounce_and_its_time_is_whole_seconds() {
    let app = TestApp::new(&[
        page("2026-03-03T23:59:59.100Z", 1, 1, "/a"),
        page("2026-03-04T00:00:02.000Z", 1, 1, "/b"),
    ]);
    assert_eq!(figures(&app, MARCH).await.0, [2, 1, 1, 0, 2]);
}

#[actix_web::test]
async fn only_pages_links_and_pixels_count_and_events_do_not_undo_a_bounce() {
    let app = TestApp::new(&[
        page("2026-03-03T10:00:00Z", 1, 1, "/a"),
        event("2026-03-03T10:05:00Z", 1, 1, "click"),
        page("2026-03-03T10:00:00Z", 2, 2, "/q").kind(3),
        page("2026-03-03T10:00:00Z", 3, 3, "/p").kind(4),
        page("2026-03-03T10:00:00Z", 4, 4, "/a").kind(5),
        event("2026-03-03T10:00:00Z", 5, 5, "click"),
    ]);
    assert_eq!(figures(&app, MARCH).await.0, [3, 3, 3, 3, 0]);
    assert_eq!(figures(&app, &format!("{MARCH}&eventType=3")).await.0, [1, 1, 1, 1, 0]);
    assert_eq!(figures(&app, &format!("{MARCH}&event=click")).await.0, [0; 5]);
}

#[actix_web::test]
async fn without_events_every_figure_is_the_number_zero() {
    let app = TestApp::new(&[]);
    assert_eq!(figures(&app, MARCH).await, ([0; 5], [0; 5]));
}

#[actix_web::test]
async fn the_previous_period_begins_where_it_must_and_counts_nothing_twice() {
    let app = TestApp::new(&[
        page("2026-01-28T23:59:59.999Z", 1, 1, "/too-early"),
        page("2026-01-29T00:00:00.000Z", 2, 2, "/first-before"),
        page("2026-02-28T23:59:59.999Z", 3, 3, "/last-before"),
        page("2026-03-01T00:00:00.000Z", 4, 4, "/first"),
        page("2026-03-01T00:00:10.000Z", 5, 5, "/early"),
        page("2026-03-31T23:59:59.999Z", 6, 6, "/last"),
        page("2026-04-01T00:00:00.000Z", 7, 7, "/too-late"),
    ]);
    let (now, before) = figures(&app, MARCH).await;
    assert_eq!((now[0], before[0]), (3, 2));
    let (now, before) = figures(&app, &format!("{MARCH}&compare=yoy")).await;
    assert_eq!((now[0], before[0]), (3, 0));
}

#[actix_web::test]
async fn a_year_earlier_follows_the_calendar_of_the_zone() {
    // New York changed its clock on 9 March 2025 and on 8 March 2026.
    let app = TestApp::new(&[page("2025-03-09T04:30:00Z", 1, 1, "/")]);
    let day =
        format!("startAt={}&endAt={}", at("2026-03-09T04:00:00Z"), at("2026-03-10T03:59:59Z"));
    let in_new_york = format!("{day}&compare=yoy&timezone=America/New_York");
    assert_eq!(figures(&app, &in_new_york).await.1[0], 0);
    assert_eq!(figures(&app, &format!("{day}&compare=yoy")).await.1[0], 1);
}

#[actix_web::test]
async fn excluding_bounces_keeps_visits_of_more_than_one_page_view() {
    let app = TestApp::new(&[
        page("2026-03-03T10:00:00Z", 1, 1, "/a"),
        page("2026-03-03T10:00:05Z", 1, 1, "/b"),
        page("2026-03-03T10:00:00Z", 2, 2, "/a"),
        // The same visit id with another session is another visit.
        page("2026-03-03T10:00:00Z", 3, 1, "/a"),
    ]);
    assert_eq!(figures(&app, &format!("{MARCH}&excludeBounce=true")).await.0, [2, 1, 1, 0, 5]);
    // Of the kept visit the filter leaves one row: still no bounce.
    assert_eq!(figures(&app, &format!("{MARCH}&excludeBounce=1&path=/a")).await.0, [1, 1, 1, 0, 0]);
    assert_eq!(figures(&app, &format!("{MARCH}&excludeBounce=")).await.0, [4, 3, 2, 2, 5]);
}

#[actix_web::test]
async fn what_lies_before_a_reset_is_hidden_from_both_periods() {
    let app = TestApp::new(&[
        page("2026-03-01T10:00:00Z", 1, 1, "/old").of_website(2),
        page("2026-03-02T10:00:00Z", 2, 2, "/new").of_website(2),
        page("2026-03-02T10:00:00Z", 3, 3, "/other-website"),
    ]);
    let (from, to) = (at("2026-03-02T00:00:00Z"), at("2026-03-02T23:59:59.999Z"));
    let answer = app.answer(&format!("{RESET_SITE}/stats?startAt={from}&endAt={to}")).await;
    assert_eq!((&answer["pageviews"], &answer["comparison"]["pageviews"]), (&json!(1), &json!(0)));
    let answer = app.answer(&format!("{RESET_SITE}/stats?startAt=0&endAt={to}")).await;
    assert_eq!(answer["pageviews"], json!(1));
}

#[actix_web::test]
async fn a_range_may_be_given_as_dates_and_parameters_by_their_older_names() {
    let app = TestApp::new(&[
        page("2026-02-28T18:30:00Z", 1, 1, "/a"),
        page("2026-03-01T18:29:59.999Z", 2, 2, "/b"),
        page("2026-03-01T18:30:00Z", 3, 3, "/a"),
    ]);
    let first_of_march = "startDate=2026-03-01&endDate=2026-03-01&tz=Asia/Calcutta";
    assert_eq!(figures(&app, first_of_march).await.0[0], 2);
    assert_eq!(figures(&app, &format!("{first_of_march}&url=/b")).await.0[0], 1);
}

#[actix_web::test]
async fn a_bad_question_is_400_even_from_a_stranger_and_a_good_one_is_401() {
    let app = TestApp::new(&[]);
    for query in ["", "startAt=1", "startAt=a&endAt=b", &format!("{MARCH}&compare=x")] {
        let path = format!("{SITE}/stats?{query}");
        let (status, answer) = app.get_without_token(&path).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!("bad-request")), "{query}");
    }
    for route in [
        "stats",
        "pageviews",
        "metrics",
        "metrics/expanded",
        "active",
        "daterange",
        "events",
        "events/series",
        "events/stats",
        "sessions",
        "sessions/stats",
        "sessions/weekly",
    ] {
        let path = format!("{SITE}/{route}?{MARCH}&type=path&timezone=UTC");
        assert_eq!(app.get_without_token(&path).await.0, 401, "{route}");
        assert_eq!(app.get(&path).await.0, 200, "{route}");
    }
}

#[actix_web::test]
async fn active_counts_the_visitors_of_the_last_five_minutes() {
    let now = jiff::Timestamp::now();
    let ago = |seconds: i64| (now - jiff::SignedDuration::from_secs(seconds)).to_string();
    let app = TestApp::new(&[
        page(&ago(1), 1, 1, "/a"),
        event(&ago(100), 1, 1, "click"),
        event(&ago(280), 2, 2, "click"),
        page(&ago(310), 3, 3, "/a"),
    ]);
    assert_eq!(app.answer(&format!("{SITE}/active")).await, json!({ "visitors": 2 }));
}

#[actix_web::test]
async fn daterange_gives_the_first_and_last_event_since_2000() {
    let app = TestApp::new(&[
        page("1999-12-31T23:59:59Z", 1, 1, "/a"),
        event("2026-03-01T10:00:00.250Z", 1, 1, "click"),
        page("2026-03-05T10:00:00Z", 1, 1, "/a"),
    ]);
    let expected =
        json!({ "startDate": "2026-03-01T10:00:00.250Z", "endDate": "2026-03-05T10:00:00.000Z" });
    assert_eq!(app.answer(&format!("{SITE}/daterange")).await, expected);
    let nothing = json!({ "startDate": null, "endDate": null });
    assert_eq!(app.answer(&format!("{RESET_SITE}/daterange")).await, nothing);
}
