//! `GET …/pageviews` and `…/events/series`: buckets of local time in any zone, on any day.

use serde_json::{Value, json};

use super::{MARCH, SITE, TestApp, at, event, page};

fn range(start: &str, end: &str) -> String {
    format!("startAt={}&endAt={}", at(start), at(end))
}

/// The points of a series: `[("2026-03-01 00:00:00", 1), …]`.
async fn series(app: &TestApp, query: &str, name: &str) -> Vec<(String, i64)> {
    let answer = app.answer(&format!("{SITE}/pageviews?{query}")).await;
    points(&answer[name])
}

fn points(value: &Value) -> Vec<(String, i64)> {
    let rows = value.as_array().unwrap_or_else(|| panic!("no rows: {value}"));
    let point = |row: &Value| Some((row["x"].as_str()?.to_owned(), row["y"].as_i64()?));
    rows.iter().map(|row| point(row).unwrap_or_else(|| panic!("{row}"))).collect()
}

fn expected(points: &[(&str, i64)]) -> Vec<(String, i64)> {
    points.iter().map(|(label, figure)| ((*label).to_owned(), *figure)).collect()
}

#[actix_web::test]
async fn one_event_is_one_bucket_with_the_local_label_in_zones_off_the_full_hour() {
    let app = TestApp::new(&[page("2026-03-10T18:45:30Z", 1, 1, "/")]);
    let cases = [
        ("Asia/Kolkata", "2026-03-11 00:00:00", "2026-03-11 00:00:00", "2026-03-11 00:15:00"),
        ("Asia/Calcutta", "2026-03-11 00:00:00", "2026-03-11 00:00:00", "2026-03-11 00:15:00"),
        ("Asia/Kathmandu", "2026-03-11 00:00:00", "2026-03-11 00:00:00", "2026-03-11 00:30:00"),
        ("Asia/Tehran", "2026-03-10 22:00:00", "2026-03-10 00:00:00", "2026-03-10 22:15:00"),
        (
            "Australia/Lord_Howe",
            "2026-03-11 05:00:00",
            "2026-03-11 00:00:00",
            "2026-03-11 05:45:00",
        ),
        ("America/St_Johns", "2026-03-10 16:00:00", "2026-03-10 00:00:00", "2026-03-10 16:15:00"),
        ("Pacific/Chatham", "2026-03-11 08:00:00", "2026-03-11 00:00:00", "2026-03-11 08:30:00"),
        ("%2B05:30", "2026-03-11 00:00:00", "2026-03-11 00:00:00", "2026-03-11 00:15:00"),
        ("-03:30", "2026-03-10 15:00:00", "2026-03-10 00:00:00", "2026-03-10 15:15:00"),
    ];
    let hour = range("2026-03-10T18:00:00Z", "2026-03-10T18:59:59Z");
    for (zone, hour_label, day_label, minute_label) in cases {
        for (unit, label) in [("hour", hour_label), ("day", day_label), ("minute", minute_label)] {
            let query = format!("{hour}&timezone={zone}&unit={unit}");
            assert_eq!(
                series(&app, &query, "pageviews").await,
                expected(&[(label, 1)]),
                "{zone} {unit}"
            );
        }
    }
}

#[actix_web::test]
async fn a_day_of_23_hours_has_no_bucket_for_the_hour_that_is_skipped() {
    let hours: Vec<_> = (0..23)
        .map(|hour| page(&format!("2026-03-29T{hour:02}:30:00+00:00"), hour, hour, "/"))
        .collect();
    let app = TestApp::new(&hours);
    // London: 00:30 is still 00:30, 01:30 UTC is 02:30.
    let london = range("2026-03-29T00:00:00Z", "2026-03-29T22:59:59.999Z");
    let got =
        series(&app, &format!("{london}&timezone=Europe/London&unit=hour"), "pageviews").await;
    assert_eq!(got.len(), 23);
    assert_eq!(got[0].0, "2026-03-29 00:00:00");
    assert_eq!(got[1].0, "2026-03-29 02:00:00");
    assert_eq!(got[22].0, "2026-03-29 23:00:00");
    let day = series(&app, &format!("{london}&timezone=Europe/London&unit=day"), "pageviews").await;
    assert_eq!(day, expected(&[("2026-03-29 00:00:00", 23)]));
}

#[actix_web::test]
async fn the_hour_that_comes_twice_is_one_bucket_in_which_a_visitor_counts_once() {
    let app = TestApp::new(&[
        page("2025-11-02T05:30:00Z", 1, 1, "/"), // 01:30 summer time in New York
        page("2025-11-02T06:30:00Z", 1, 1, "/"), // 01:30 again
        page("2025-11-02T07:30:00Z", 2, 2, "/"), // 02:30
        page("2025-11-03T04:59:59Z", 3, 3, "/"), // the last second of the day of 25 hours
    ]);
    let day = range("2025-11-02T04:00:00Z", "2025-11-03T04:59:59.999Z");
    let hours = format!("{day}&timezone=America/New_York&unit=hour");
    let buckets =
        [("2025-11-02 01:00:00", 2), ("2025-11-02 02:00:00", 1), ("2025-11-02 23:00:00", 1)];
    assert_eq!(series(&app, &hours, "pageviews").await, expected(&buckets));
    let sessions =
        [("2025-11-02 01:00:00", 1), ("2025-11-02 02:00:00", 1), ("2025-11-02 23:00:00", 1)];
    assert_eq!(series(&app, &hours, "sessions").await, expected(&sessions));
    let whole = format!("{day}&timezone=America/New_York&unit=day");
    assert_eq!(series(&app, &whole, "pageviews").await, expected(&[("2025-11-02 00:00:00", 4)]));
    assert_eq!(series(&app, &whole, "sessions").await, expected(&[("2025-11-02 00:00:00", 3)]));
}

#[actix_web::test]
async fn clock_changes_of_half_an_hour_and_at_midnight_come_out_right() {
    let app = TestApp::new(&[
        // Lord Howe goes from +11 to +10:30 on 5 April 2026 at 02:00 (15:00 UTC the day before).
        page("2026-04-04T14:59:00Z", 1, 1, "/"),
        page("2026-04-04T15:00:00Z", 2, 2, "/"),
        // Beirut's clock jumps from midnight to one on 29 March 2026 (22:00 UTC the day before).
        page("2026-03-28T21:59:59Z", 3, 3, "/"),
        page("2026-03-28T22:00:00Z", 4, 4, "/"),
    ]);
    let day = range("2026-04-04T13:00:00Z", "2026-04-05T13:29:59.999Z");
    let lord_howe =
        series(&app, &format!("{day}&timezone=Australia/Lord_Howe&unit=hour"), "pageviews").await;
    assert_eq!(lord_howe, expected(&[("2026-04-05 01:00:00", 2)]));
    let night = range("2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z");
    let beirut =
        series(&app, &format!("{night}&timezone=Asia/Beirut&unit=hour"), "pageviews").await;
    assert_eq!(beirut, expected(&[("2026-03-28 23:00:00", 1), ("2026-03-29 01:00:00", 1)]));
}

#[actix_web::test]
async fn labels_are_iso_only_without_a_zone_and_units_have_their_first_day() {
    let app = TestApp::new(&[
        page("2026-02-28T23:30:00Z", 1, 1, "/"),
        page("2026-03-01T10:17:31Z", 2, 2, "/"),
    ]);
    let both = range("2026-02-28T00:00:00Z", "2026-03-02T00:00:00Z");
    let cases = [
        ("unit=hour", vec![("2026-02-28T23:00:00Z", 1), ("2026-03-01T10:00:00Z", 1)]),
        ("unit=day&timezone=utc", vec![("2026-02-28T00:00:00Z", 1), ("2026-03-01T00:00:00Z", 1)]),
        ("unit=day&timezone=UTC", vec![("2026-02-28 00:00:00", 1), ("2026-03-01 00:00:00", 1)]),
        ("unit=day&tz=Europe/Berlin", vec![("2026-03-01 00:00:00", 2)]),
        ("unit=month&timezone=UTC", vec![("2026-02-01 00:00:00", 1), ("2026-03-01 00:00:00", 1)]),
        ("unit=year&timezone=UTC", vec![("2026-01-01 00:00:00", 2)]),
        ("unit=minute", vec![("2026-02-28T23:00:00Z", 1), ("2026-03-01T10:00:00Z", 1)]),
    ];
    for (query, buckets) in cases {
        let got = series(&app, &format!("{both}&{query}"), "pageviews").await;
        assert_eq!(got, expected(&buckets), "{query}");
    }
}

#[actix_web::test]
async fn a_comparison_brings_both_series_and_both_ranges() {
    let app = TestApp::new(&[
        page("2026-02-28T23:59:59Z", 1, 1, "/"),
        page("2026-03-01T00:00:00Z", 2, 2, "/"),
    ]);
    let answer = app.answer(&format!("{SITE}/pageviews?{MARCH}&unit=day&compare=prev")).await;
    let expected = json!({
        "pageviews": [{ "x": "2026-03-01T00:00:00Z", "y": 1 }],
        "sessions": [{ "x": "2026-03-01T00:00:00Z", "y": 1 }],
        "startDate": "2026-03-01T00:00:00.000Z",
        "endDate": "2026-03-31T23:59:59.999Z",
        "compare": {
            "pageviews": [{ "x": "2026-02-28T00:00:00Z", "y": 1 }],
            "sessions": [{ "x": "2026-02-28T00:00:00Z", "y": 1 }],
            "startDate": "2026-01-29T00:00:00.000Z",
            "endDate": "2026-02-28T23:59:59.999Z",
        },
    });
    assert_eq!(answer, expected);
    let alone = app.answer(&format!("{SITE}/pageviews?{MARCH}&unit=day")).await;
    assert_eq!(alone.as_object().map(serde_json::Map::len), Some(2));
}

#[actix_web::test]
async fn the_widest_and_the_oddest_ranges_are_answered() {
    let app = TestApp::new(&[
        page("1969-12-31T23:59:59Z", 1, 1, "/"),
        page("2026-03-01T00:00:00Z", 2, 2, "/"),
        event("2026-03-01T00:00:00Z", 2, 2, "click"),
    ]);
    let ranges = [
        ("startAt=1&endAt=9999999999999", 1),
        ("startAt=-9e15&endAt=9e15", 2),
        ("startAt=-1e300&endAt=1e300", 2),
        ("startAt=9e15&endAt=9e15", 0),
        ("startAt=5&endAt=1", 0),
        ("startAt=&endAt=", 0),
        ("startDate=-009999-01-01&endDate=9999-12-31", 2),
    ];
    for (range, views) in ranges {
        for unit in ["minute", "hour", "day", "month", "year"] {
            for zone in ["America/New_York", "Africa/Monrovia", "utc"] {
                let query = format!("{range}&unit={unit}&timezone={zone}&compare=prev");
                let sum: i64 =
                    series(&app, &query, "pageviews").await.iter().map(|point| point.1).sum();
                assert_eq!(sum, views, "{query}");
            }
        }
        for route in ["stats?compare=yoy&", "metrics?type=entry&", "metrics/expanded?type=city&"] {
            app.answer(&format!("{SITE}/{route}{range}")).await;
        }
    }
    let all = "startAt=-9e15&endAt=9e15&unit=minute&timezone=UTC";
    let years = [("1969-01-01 00:00:00", 1), ("2026-01-01 00:00:00", 1)];
    assert_eq!(series(&app, all, "pageviews").await, expected(&years));
}

#[actix_web::test]
async fn a_unit_or_zone_that_does_not_exist_is_a_bad_question() {
    let app = TestApp::new(&[]);
    for query in
        ["unit=week", "unit=", "timezone=Nowhere/Bad", "timezone=", "timezone=%27", "compare="]
    {
        let (status, _) = app.get(&format!("{SITE}/pageviews?{MARCH}&{query}")).await;
        assert_eq!(status, 400, "{query}");
    }
}

#[actix_web::test]
async fn events_are_counted_by_name_and_bucket_and_a_limit_keeps_the_frequent_names() {
    let app = TestApp::new(&[
        event("2026-03-01T10:00:00Z", 1, 1, "signup"),
        event("2026-03-02T10:00:00Z", 1, 1, "click"),
        event("2026-03-02T11:00:00Z", 1, 1, "click"),
        event("2026-03-02T11:00:00Z", 1, 1, "Zoom"),
        page("2026-03-02T11:00:00Z", 1, 1, "/"),
    ]);
    let path = format!(
        "{SITE}/events/series?{MARCH}&timezone=UTC&unit=day&eventType=1&excludeBounce=true"
    );
    let row = |name: &str, day: u8, count: u8| {
        let label = format!("2026-03-0{day} 00:00:00");
        json!({ "x": name, "t": label, "y": count })
    };
    let all = json!([row("signup", 1, 1), row("Zoom", 2, 1), row("click", 2, 2)]);
    assert_eq!(app.answer(&path).await, all);
    assert_eq!(app.answer(&format!("{path}&limit=1")).await, json!([row("click", 2, 2)]));
    for query in ["", "&timezone=bad", "&timezone=UTC&unit=x"] {
        let (status, _) = app.get(&format!("{SITE}/events/series?{MARCH}{query}")).await;
        assert_eq!(status, 400, "{query}");
    }
    let fraction = format!("{SITE}/events/series?startAt=1.5&endAt=2&timezone=UTC");
    assert_eq!(app.get(&fraction).await.0, 400);
}
