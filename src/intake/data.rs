//! The properties of an event: a JSON object flattened into typed pairs, Umami's way. Nested objects become dotted
//! keys, arrays and null become JSON text, text that looks like a time becomes one. And the money in it.
//!
//! Values that no column can hold are not refused: text is cut, a number beyond the column's range becomes text,
//! and what does not fit into the record is left out.

use std::fmt::Write;

use jiff::Timestamp;
use simd_json::{Node, StaticNode};

use super::payload::{Value, cut};
use crate::event::{DataValue, DataWriter, Revenue};
use crate::limits;

/// Numbers at or beyond this do not fit DECIMAL(19, 4).
const NUMBER_MAX: f64 = 1e15;

/// Buffers for flattening, reused.
#[derive(Default)]
pub struct Scratch {
    key: String,
    text: String,
    currency: String,
    pub encoded: Vec<u8>,
}

impl Scratch {
    /// Flattens an object into `encoded`, replacing what was there.
    fn flatten(&mut self, data: Value<'_, '_>) {
        self.encoded.clear();
        self.key.clear();
        self.object(data);
    }

    fn object(&mut self, object: Value<'_, '_>) {
        let prefix = self.key.len();
        for (key, value) in object.entries() {
            if prefix > 0 {
                self.key.push('.');
            }
            self.key.push_str(key);
            if matches!(value.node(), Node::Object { .. }) {
                self.object(value);
            } else {
                self.value(value);
            }
            self.key.truncate(prefix);
        }
    }

    fn value(&mut self, value: Value<'_, '_>) {
        let key = cut(&self.key, limits::DATA_TEXT_CHARS_MAX);
        self.text.clear();
        let value = match value.node() {
            Node::String(text) => string(cut(text, limits::DATA_TEXT_CHARS_MAX)),
            Node::Static(StaticNode::Bool(value)) => DataValue::Boolean(*value),
            Node::Static(StaticNode::Null) => DataValue::Json("null"),
            Node::Static(node) => match number_e4(*node) {
                Some(number) => DataValue::Number(number),
                None => {
                    write_number(*node, &mut self.text);
                    DataValue::String(cut(&self.text, limits::DATA_TEXT_CHARS_MAX))
                }
            },
            Node::Array { .. } | Node::Object { .. } => {
                write_json(value, &mut self.text);
                DataValue::Json(cut(&self.text, limits::DATA_TEXT_CHARS_MAX))
            }
        };
        DataWriter(&mut self.encoded).push(key, &value);
    }

    /// An event's properties: its money, if it can have any, and all of them encoded. Both borrow from here.
    pub fn read(
        &mut self,
        data: Option<Value<'_, '_>>,
        has_money: bool,
    ) -> (Option<Revenue<'_>>, &[u8]) {
        self.encoded.clear();
        if let Some(data) = data {
            self.flatten(data);
        }
        let amount_e4 = data.filter(|_| has_money).and_then(|data| self.money(data));
        let currency = self.currency.as_str();
        (amount_e4.map(|amount_e4| Revenue { amount_e4, currency }), &self.encoded)
    }

    /// The money of an event: `revenue` above zero, as a number or in text, with a `currency`.
    /// Leaves the currency in `self.currency`.
    fn money(&mut self, data: Value<'_, '_>) -> Option<i128> {
        let (mut amount, mut currency) = (None, None);
        for (key, value) in data.entries() {
            match (key, value.node()) {
                ("revenue", Node::Static(node)) => amount = number_e4(*node),
                ("revenue", Node::String(text)) => amount = parse_e4(text.trim()),
                ("revenue", _) => amount = None,
                ("currency", Node::String(text)) => currency = Some(*text),
                ("currency", _) => currency = None,
                _ => {}
            }
        }
        let amount_e4 = amount.filter(|amount| *amount > 0)?;
        let currency = currency.filter(|currency| !currency.is_empty())?;
        self.currency.clear();
        let letters = cut(currency, limits::CURRENCY_CHARS_MAX).chars();
        self.currency.extend(letters.flat_map(char::to_uppercase));
        Some(amount_e4)
    }
}

/// A text, or a time when it looks like one: `2026-03-05T10:00:00`, or with milliseconds and a zone. Without a zone
/// it is UTC. What looks like a time but is none stays text.
fn string(text: &str) -> DataValue<'_> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes[at].is_ascii_digit();
    let shape = bytes.len() >= 19
        && [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18].into_iter().all(digit)
        && [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')]
            .into_iter()
            .all(|(at, mark)| bytes[at] == mark);
    if !shape {
        return DataValue::String(text);
    }
    let zoned = bytes.len() > 23 && bytes[19] == b'.' && (20..23).all(digit);
    let parsed = if bytes.len() == 19 {
        let civil = text.parse::<jiff::civil::DateTime>().ok();
        civil.and_then(|civil| jiff::tz::Offset::UTC.to_timestamp(civil).ok())
    } else if zoned {
        text.parse::<Timestamp>().ok()
    } else {
        None
    };
    match parsed {
        Some(at) => DataValue::Date(at.as_millisecond(), text),
        None => DataValue::String(text),
    }
}

/// Ten-thousandths of a JSON number, rounded; `None` when the column cannot hold it.
fn number_e4(node: StaticNode) -> Option<i128> {
    let number = match node {
        StaticNode::I64(number) => i128::from(number),
        StaticNode::U64(number) => i128::from(number),
        StaticNode::F64(number) => {
            if number.abs() >= NUMBER_MAX {
                return None;
            }
            // The exact decimal value rounded to four digits, as JavaScript's toFixed does; 21 characters at most.
            let mut digits = Digits::default();
            write!(digits, "{number:.4}").ok()?;
            return parse_e4(digits.text());
        }
        StaticNode::Bool(_) | StaticNode::Null => return None,
    };
    (number.unsigned_abs() < NUMBER_MAX as u128).then_some(number * 10_000)
}

/// Ten-thousandths of a decimal text like `-12.5`, exactly; further digits round half away from zero.
fn parse_e4(text: &str) -> Option<i128> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return None;
    }
    if whole.len() > 15 {
        return None;
    }
    let mut value: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    for at in 0..4 {
        let digit = fraction.as_bytes().get(at).map_or(0, |byte| byte - b'0');
        value = value * 10 + i128::from(digit);
    }
    value += i128::from(fraction.as_bytes().get(4).is_some_and(|byte| *byte >= b'5'));
    Some(if negative { -value } else { value })
}

/// A number's text on the stack.
#[derive(Default)]
struct Digits {
    bytes: [u8; 32],
    len: usize,
}

impl Digits {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Write for Digits {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

fn write_number(node: StaticNode, out: &mut String) {
    let _ = match node {
        StaticNode::I64(number) => write!(out, "{number}"),
        StaticNode::U64(number) => write!(out, "{number}"),
        StaticNode::F64(number) if number.abs() >= 1e21 => write!(out, "{number:e}"),
        StaticNode::F64(number) => write!(out, "{number}"),
        StaticNode::Bool(value) => write!(out, "{value}"),
        StaticNode::Null => write!(out, "null"),
    };
}

/// Writes a value as JSON without spaces; stops when the text is longer than any column takes.
fn write_json(value: Value<'_, '_>, out: &mut String) {
    if out.len() > limits::TEXT_BYTES_MAX {
        return;
    }
    match value.node() {
        Node::String(text) => write_quoted(text, out),
        Node::Static(node) => write_number(*node, out),
        Node::Array { .. } => {
            out.push('[');
            for (index, element) in value.elements().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(element, out);
            }
            out.push(']');
        }
        Node::Object { .. } => {
            out.push('{');
            for (index, (key, element)) in value.entries().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_quoted(key, out);
                out.push(':');
                write_json(element, out);
            }
            out.push('}');
        }
    }
}

fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::DataItems;
    use crate::intake::payload::Parser;

    fn flat(json: &str) -> Vec<(String, String)> {
        let mut scratch = Scratch::default();
        let mut body = json.as_bytes().to_vec();
        Parser::default().parse(&mut body, |value| scratch.flatten(value.expect("is JSON")));
        DataItems::new(&scratch.encoded)
            .map(|(key, value)| (key.to_owned(), format!("{value:?}")))
            .collect()
    }

    #[test]
    fn values_get_their_type() {
        for (json, want) in [
            (r#"{"a":"x"}"#, "String(\"x\")"),
            (r#"{"a":19.99}"#, "Number(199900)"),
            (r#"{"a":-1}"#, "Number(-10000)"),
            (r#"{"a":0.00005}"#, "Number(1)"),
            (r#"{"a":1e15}"#, "String(\"1000000000000000\")"),
            (r#"{"a":999999999999999}"#, "Number(9999999999999990000)"),
            (r#"{"a":123456789012345678901234567890}"#, "String(\"1.2345678901234568e29\")"),
            (r#"{"a":true}"#, "Boolean(true)"),
            (r#"{"a":null}"#, "Json(\"null\")"),
            (r#"{"a":[1,"x",{"b":[]}]}"#, r#"Json("[1,\"x\",{\"b\":[]}]")"#),
            (
                r#"{"a":"2026-03-05T10:00:00.000Z"}"#,
                "Date(1772704800000, \"2026-03-05T10:00:00.000Z\")",
            ),
            (r#"{"a":"2026-03-05T10:00:00"}"#, "Date(1772704800000, \"2026-03-05T10:00:00\")"),
            (r#"{"a":"2026-03-05T10:00:00Z"}"#, "String(\"2026-03-05T10:00:00Z\")"),
            (r#"{"a":"2026-13-05T10:00:00"}"#, "String(\"2026-13-05T10:00:00\")"),
        ] {
            assert_eq!(flat(json), [("a".to_owned(), want.to_owned())], "{json}");
        }
    }

    #[test]
    fn objects_become_dotted_keys_and_empty_ones_nothing() {
        let keys: Vec<String> =
            flat(r#"{"a":{"b":{"c":1},"d":{}},"e":2}"#).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["a.b.c", "e"]);
    }

    #[test]
    fn what_does_not_fit_is_cut_or_left_out() {
        let long = "é".repeat(900);
        let found = flat(&format!(r#"{{"{long}":"{long}"}}"#));
        assert_eq!(found[0].0.chars().count(), 500);
        let many: Vec<String> = (0..9_000).map(|n| format!("\"key{n}\":{n}")).collect();
        let count = flat(&format!("{{{}}}", many.join(","))).len();
        assert!((1_000..9_000).contains(&count), "{count}");
    }

    #[test]
    fn revenue_is_exact_and_needs_a_currency() {
        for (json, want) in [
            (r#"{"revenue":9.99,"currency":"usd"}"#, Some((99_900, "USD"))),
            (r#"{"revenue":"42.42","currency":"EUR"}"#, Some((424_200, "EUR"))),
            (r#"{"revenue":0.1,"currency":"JPY"}"#, Some((1_000, "JPY"))),
            (r#"{"revenue":"9,99","currency":"EUR"}"#, None),
            (r#"{"revenue":0,"currency":"EUR"}"#, None),
            (r#"{"revenue":-5,"currency":"EUR"}"#, None),
            (r#"{"revenue":5}"#, None),
            (r#"{"revenue":5,"currency":7}"#, None),
            (r#"{"revenue":true,"currency":"EUR"}"#, None),
        ] {
            let mut scratch = Scratch::default();
            let mut body = json.as_bytes().to_vec();
            Parser::default().parse(&mut body, |value| {
                let (found, _) = scratch.read(Some(value.expect("is JSON")), true);
                let want = want.map(|(amount_e4, currency)| Revenue { amount_e4, currency });
                assert_eq!(found, want, "{json}");
            });
        }
    }
}
