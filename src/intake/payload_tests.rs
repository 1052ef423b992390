//! Bodies as tables of cases: what is understood, what is refused, what becomes of odd text and times.

use super::*;

const W: &str = "11111111-1111-4111-8111-111111111111";

fn with<R>(body: &[u8], then: impl FnOnce(Parsed<Message<'_, '_>>) -> R) -> R {
    let mut body = body.to_vec();
    Parser::default().parse(&mut body, |value| then(value.and_then(Message::read)))
}

fn field(json: &str) -> Vec<u8> {
    format!(r#"{{"type":"event","payload":{{"website":"{W}",{json}}}}}"#).into_bytes()
}

#[test]
fn fields_are_borrowed_and_the_last_of_a_name_counts() {
    let body = field(r#""url":"/a","url":"/b","title":"\u00e9","x":[1,{"url":2}],"tag":"""#);
    with(&body, |message| {
        let payload = message.expect("is valid").payload;
        assert_eq!((payload.url, payload.title, payload.tag), (Some("/b"), Some("é"), Some("")));
        assert_eq!(payload.name, None);
    });
}

#[test]
fn what_is_wrong_is_refused() {
    let bodies: Vec<Vec<u8>> = [
        "",
        "nope",
        "{",
        "[]",
        "5",
        "null",
        "{}",
        "{\"type\":\"event\"}",
        "{}x",
        r#"{"type":"Event","payload":{"website":"11111111-1111-4111-8111-111111111111"}}"#,
        r#"{"type":"event","payload":{}}"#,
        r#"{"type":"event","payload":{"website":"1"}}"#,
        r#"{"type":"event","payload":{"website":"11111111111141118111111111111111"}}"#,
        r#"{"type":"event","payload":{"website":"11111111-1111-0111-8111-111111111111"}}"#,
        r#"{"type":"event","payload":{"website":"11111111-1111-4111-1111-111111111111"}}"#,
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([field(r#""url":null"#), field(r#""url":1"#), field(r#""data":[]"#)])
    .chain([field(r#""data":null"#), field(r#""timestamp":1.5"#), field(r#""timestamp":"x""#)])
    .chain([field(r#""lcp":-1"#), field(r#""lcp":60001"#), field(r#""cls":101"#)])
    .chain([field(r#""lcp":"5""#), field(r#""link":"11111111-1111-4111-8111-111111111111""#)])
    .chain([b"{\"type\":\"\xff\"}".to_vec()])
    .collect();
    for body in bodies {
        let text = String::from_utf8_lossy(&body).into_owned();
        with(&body, |message| assert!(message.is_err(), "{text}"));
    }
}

#[test]
fn text_is_valid_whatever_was_escaped() {
    for (json, want) in [
        (r#""title":"a\u0000b""#, "a\u{fffd}b"),
        (r#""title":"\ud800""#, "\u{fffd}"),
        (r#""title":"\udc00x\ud83d\ude00""#, "\u{fffd}x😀"),
        (r#""title":"\\u0000""#, "\\u0000"),
        (r#""title":"\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
    ] {
        with(&field(json), |message| {
            assert_eq!(message.expect("is valid").payload.title, Some(want), "{json}");
        });
    }
    let mut bom = b"\xEF\xBB\xBF".to_vec();
    bom.extend(field(r#""title":"x""#));
    with(&bom, |message| assert!(message.is_ok()));
}

#[test]
fn times_are_seconds_in_many_forms_and_milliseconds() {
    for (json, want) in [
        ("1772700000", Some(1_772_700_000_000)),
        ("\"1772700000\"", Some(1_772_700_000_000)),
        ("1772700000123", Some(1_772_700_000_123)),
        ("true", Some(1_000)),
        ("0", None),
        ("null", None),
        ("\"\"", None),
        ("[]", None),
        ("-5", Some(-5_000)),
    ] {
        with(&field(&format!(r#""timestamp":{json}"#)), |message| {
            assert_eq!(message.expect("is valid").payload.timestamp_ms, want, "{json}");
        });
    }
}

#[test]
fn cutting_never_splits_a_character() {
    assert_eq!(cut("éé", 1), "é");
    assert_eq!(cut("a😀b", 2), "a");
    assert_eq!(cut("a😀b", 3), "a😀");
    assert_eq!(cut("abc", 3), "abc");
}
