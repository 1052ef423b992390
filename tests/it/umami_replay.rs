//! A real Umami's answers, replayed: every request of `tests/fixtures/umami/` is sent in order to a real server and
//! its answer held against the recorded one. What differs on purpose is named in `differences.tsv` with its kind, and
//! each kind is explained in `docs/umami.md`; a difference that is not named fails, and so does a name without one.
//!
//! Equal means: the same status and the same JSON, up to a one-to-one renaming of generated ids, the order of rows that
//! tie, numbers sent as strings, the notation of instants, fields of ours beside theirs, and the wording of errors
//! (their code counts). Where Umami answered 500, any answer below 500 is right.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::http::{Answer, Client, Request};
use crate::process::{PASSWORD, Server};

/// Ids that requests choose themselves: they must come back as they are.
const WEBSITES: [&str; 4] = [
    "11111111-1111-4111-8111-111111111111",
    "22222222-2222-4222-8222-222222222222",
    "33333333-3333-4333-8333-333333333333",
    "44444444-4444-4444-8444-444444444444",
];
/// Fields that are new on every run.
const VOLATILE: [&str; 9] = [
    "cache",
    "token",
    "createdAt",
    "updatedAt",
    "resetAt",
    "shareId",
    "timestamp",
    "accessCode",
    "iat",
];
/// What rows are sorted by, and what tells rows with the same figure apart.
const FIGURES: [&str; 5] = ["y", "visitors", "total", "views", "count"];
const LABELS: [&str; 12] = [
    "x",
    "name",
    "t",
    "value",
    "country",
    "city",
    "tag",
    "utm",
    "items",
    "eventName",
    "propertyName",
    "propertyValue",
];

#[test]
fn answers_as_umami_does_except_where_the_differences_are_named() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let listed = read_differences(&fixtures.join("umami/differences.tsv"));
    let server = Server::builder()
        .env("APP_SECRET", "oracle-fixed-secret-0001")
        .env("SUMIMI_TRUSTED_PROXIES", "127.0.0.1")
        .env("SUMIMI_GEO_DB", fixtures.join("test-city.mmdb").to_string_lossy())
        .start();
    let mut replay = Replay::new(&server);
    let mut report = String::new();
    let (mut equal, mut total) = (0, 0);
    for file in recordings(&fixtures.join("umami")) {
        let text = fs::read_to_string(&file).expect("a recording");
        let before = replay.different.len();
        let count = text.lines().filter(|line| !line.is_empty()).count();
        for line in text.lines().filter(|line| !line.is_empty()) {
            replay.play(&serde_json::from_str(line).expect("a recorded exchange"));
        }
        let same = count - (replay.different.len() - before);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        writeln!(report, "{name}: {same} of {count} equal").expect("memory");
        equal += same;
        total += count;
    }
    println!("{report}in all: {equal} of {total} equal");

    let mut wrong = String::new();
    for (id, details) in &replay.different {
        if !listed.contains_key(id.as_str()) {
            writeln!(wrong, "{id} differs and is not listed:\n{details}").expect("memory");
        }
    }
    for id in listed.keys().filter(|id| !replay.different.contains_key(id.as_str())) {
        writeln!(wrong, "{id} is listed and does not differ (or does not exist)").expect("memory");
    }
    assert!(wrong.is_empty(), "{wrong}{report}in all: {equal} of {total} equal");
}

#[test]
fn every_kind_of_difference_is_a_section_of_the_document() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = fs::read_to_string(root.join("docs/umami.md")).expect("docs/umami.md");
    // A section's heading ends in its kind: `## Numbers are numbers (`numbers`)`.
    let kinds: HashSet<&str> = document
        .lines()
        .filter(|line| line.starts_with("## "))
        .filter_map(|line| line.strip_suffix("`)")?.rsplit_once("(`").map(|(_, kind)| kind))
        .collect();
    assert!(!kinds.is_empty(), "docs/umami.md names no kind");
    for (id, kind) in read_differences(&root.join("tests/fixtures/umami/differences.tsv")) {
        assert!(kinds.contains(kind.as_str()), "{id}: {kind} is not a section of docs/umami.md");
    }
}

/// Recorded id → kind.
fn read_differences(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).expect("differences.tsv");
    let mut listed = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (id, kind) = line.split_once('\t').unwrap_or_else(|| panic!("{line:?} has no tab"));
        let twice = listed.insert(id.to_owned(), kind.to_owned());
        assert!(twice.is_none(), "{id} is listed twice");
    }
    listed
}

/// The recordings in the order in which they were made, which is that of their names.
fn recordings(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("tests/fixtures/umami");
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files
}

/// One run through the recordings.
struct Replay<'a> {
    server: &'a Server,
    client: Client,
    /// Values captured from earlier answers, put in where a later request says `${NAME}`.
    variables: HashMap<String, String>,
    same_ids: Renaming,
    /// Whether events were sent since the last wait.
    events_sent: bool,
    /// Id of the exchange → what differs.
    different: BTreeMap<String, String>,
}

impl<'a> Replay<'a> {
    fn new(server: &'a Server) -> Self {
        let variables = HashMap::from([("PASSWORD".to_owned(), PASSWORD.to_owned())]);
        let (same_ids, different) = (Renaming::default(), BTreeMap::new());
        let client = server.client();
        Self { server, client, variables, same_ids, events_sent: false, different }
    }

    fn play(&mut self, exchange: &Value) {
        let id = exchange["id"].as_str().expect("an id");
        let recorded = &exchange["request"];
        let path = self.fill(recorded["path"].as_str().expect("a path"));
        let method = recorded["method"].as_str().expect("a method");
        let is_event = method == "POST" && (path == "/api/send" || path == "/api/batch");
        if self.events_sent && !is_event {
            self.server.wait_until_committed();
        }
        self.events_sent = is_event;
        let request = self.request(method, &path, recorded);
        let answer = match self.client.send(&request) {
            Ok(answer) => answer,
            Err(error) => panic!("{id} {method} {path}: {error}\n{}", self.server.log()),
        };
        let json = answer.json();
        if let Some(captures) = exchange["capture"].as_object() {
            self.capture(captures, &json);
        }
        // What the server made up may stand in a recorded answer under the name it was captured with.
        let expected = self.fill(&exchange["response"].to_string());
        let expected = serde_json::from_str(&expected).expect("a recorded answer");
        let differences = self.compare(&expected, &answer, &json);
        if !differences.is_empty() {
            let note = exchange["note"].as_str().unwrap_or_default();
            let shown = differences.iter().take(4).fold(String::new(), |shown, line| {
                shown + "    " + &line.chars().take(300).collect::<String>() + "\n"
            });
            self.different.insert(id.to_owned(), format!("  {method} {path} [{note}]\n{shown}"));
        }
    }

    fn request(&self, method: &str, path: &str, recorded: &Value) -> Request {
        let mut request = Request::new(method, path);
        for (name, value) in recorded["headers"].as_object().into_iter().flatten() {
            // Recorded headers are Latin-1: one byte a character.
            let value = self.fill(value.as_str().unwrap_or_default());
            let bytes: Vec<u8> =
                value.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
            request = request.header(name, bytes);
        }
        // The recorded server's front adds the socket's address where no proxy named one, and so hid every header that
        // it asks later; the recorded sessions are made of that.
        if path == "/api/send" && recorded["headers"]["x-forwarded-for"].is_null() {
            request = request.header("x-forwarded-for", "127.0.0.1");
        }
        if recorded["auth"] == true {
            request = request.bearer(self.variables.get("TOKEN").map_or("", String::as_str));
        }
        match recorded["body"].as_str() {
            Some(body) => request.body(self.fill(body)),
            None if method == "GET" || method == "HEAD" || method == "OPTIONS" => request,
            None => request.body(""),
        }
    }

    /// Puts captured values in place of `${NAME}`.
    fn fill(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, value) in &self.variables {
            if filled.contains("${") {
                filled = filled.replace(&format!("${{{name}}}"), value);
            }
        }
        filled
    }

    fn capture(&mut self, captures: &Map<String, Value>, json: &Value) {
        for (name, path) in captures {
            let steps = path.as_str().unwrap_or_default().split('.');
            let found = steps.fold(json, |value, step| match step.parse::<usize>() {
                Ok(index) => &value[index],
                Err(_) => &value[step],
            });
            if let Some(text) = found.as_str() {
                self.variables.insert(name.clone(), text.to_owned());
            }
        }
    }

    fn compare(&mut self, recorded: &Value, answer: &Answer, json: &Value) -> Vec<String> {
        let status = recorded["status"].as_u64().expect("a status");
        let ours = u64::from(answer.status);
        if status >= 500 {
            let fine = (200..500).contains(&ours);
            return if fine {
                Vec::new()
            } else {
                vec![format!("status {ours}: {}", answer.text())]
            };
        }
        if ours != status {
            return vec![format!("status {ours} for {status}: {}", answer.text())];
        }
        if status >= 400 {
            let (theirs, ours) = (&recorded["json"]["error"]["code"], &json["error"]["code"]);
            let fine = theirs.is_null() || theirs == ours;
            return if fine { Vec::new() } else { vec![format!("error {ours} for {theirs}")] };
        }
        let mut found = Vec::new();
        if let Some(theirs) = recorded.get("json") {
            let (theirs, json) = (&unpacked(theirs), &unpacked(json));
            self.same_ids.differences(theirs, json, "$", &mut found);
        }
        found
    }
}

/// An exported zip as the rows of its files, each a value and a figure; everything else as it is.
fn unpacked(answer: &Value) -> Value {
    let Some(text) = answer["zip"].as_str() else { return answer.clone() };
    let bytes = STANDARD.decode(text).expect("base64");
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).expect("a zip");
    let mut files = Map::new();
    for index in 0..zip.len() {
        let file = zip.by_index(index).expect("a file");
        let name = file.name().to_owned();
        let mut reader = csv::Reader::from_reader(file);
        let lines = reader.records().map(|line| line.expect("a line"));
        let rows = lines.map(|line| json!({ "x": line[0], "y": line[1] })).collect();
        files.insert(name, rows);
    }
    assert!(!files.is_empty(), "the zip is empty");
    Value::Object(files)
}

/// Generated ids: which of ours stands for which of theirs, one to one over the whole run.
#[derive(Default)]
struct Renaming {
    ours: HashMap<String, String>,
    theirs: HashMap<String, String>,
}

impl Renaming {
    fn is_same(&mut self, theirs: &str, ours: &str) -> bool {
        if WEBSITES.contains(&theirs) || WEBSITES.contains(&ours) {
            return theirs == ours;
        }
        is_uuid(ours)
            && self.ours.entry(theirs.to_owned()).or_insert_with(|| ours.to_owned()) == ours
            && self.theirs.entry(ours.to_owned()).or_insert_with(|| theirs.to_owned()) == theirs
    }

    /// Adds a line to `found` for each place where `ours` is not what `theirs` asks for.
    fn differences(&mut self, theirs: &Value, ours: &Value, at: &str, found: &mut Vec<String>) {
        match (theirs, ours) {
            (Value::String(id), _) if is_uuid(id) => {
                if !ours.as_str().is_some_and(|ours| self.is_same(id, ours)) {
                    found.push(format!("{at}: id {ours} for {id}"));
                }
            }
            (Value::Object(fields), Value::Object(_)) => {
                for (name, value) in
                    fields.iter().filter(|(name, _)| !VOLATILE.contains(&name.as_str()))
                {
                    match ours.get(name) {
                        Some(ours) => self.differences(value, ours, &format!("{at}.{name}"), found),
                        None if value.is_null() => {}
                        None => found.push(format!("{at}.{name}: missing")),
                    }
                }
            }
            (Value::Array(theirs), Value::Array(ours)) => {
                if theirs.len() != ours.len() {
                    found.push(format!("{at}: {} rows for {}", ours.len(), theirs.len()));
                    return;
                }
                let pairs = sort_ties(theirs).into_iter().zip(sort_ties(ours)).enumerate();
                for (index, (theirs, ours)) in pairs {
                    self.differences(theirs, ours, &format!("{at}[{index}]"), found);
                }
            }
            _ if is_same_scalar(theirs, ours) => {}
            _ => found.push(format!("{at}: {ours} for {theirs}")),
        }
    }
}

fn is_same_scalar(theirs: &Value, ours: &Value) -> bool {
    if let (Some(theirs), Some(ours)) = (number(theirs), number(ours)) {
        return (theirs - ours).abs() <= 1e-6 * theirs.abs().max(1.0);
    }
    theirs == ours || matches!((instant(theirs), instant(ours)), (Some(a), Some(b)) if a == b)
}

/// A number, also one sent as a string of digits.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let plain = digits.starts_with(|c: char| c.is_ascii_digit())
                && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            text.parse().ok().filter(|_| plain)
        }
        _ => None,
    }
}

/// An instant to the second, `T` or blank between date and time.
fn instant(value: &Value) -> Option<String> {
    let text = value.as_str()?.get(..19)?.replace(' ', "T");
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    (shape == "0000-00-00T00:00:00").then_some(text)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}

/// Rows with the figure by which they are sorted, those with the same figure in the order of their labels; properties
/// of an event by name. Other rows without a figure keep their order.
fn sort_ties(rows: &[Value]) -> Vec<&Value> {
    let mut sorted: Vec<&Value> = rows.iter().collect();
    let Some(Value::Object(first)) = rows.first() else { return sorted };
    // Umami gives the properties of an event in whatever order it finds them: two equal events differ.
    if first.contains_key("dataKey") && !first.contains_key("sessionId") {
        sorted.sort_by_key(|row| row["dataKey"].to_string());
        return sorted;
    }
    let Some(figure) = FIGURES.iter().find(|name| first.contains_key(**name)) else {
        return sorted;
    };
    let labels: Vec<&str> = LABELS.into_iter().filter(|name| first.contains_key(*name)).collect();
    if labels.is_empty() {
        return sorted;
    }
    let label = |row: &Value| -> Vec<String> {
        labels.iter().map(|name| row.get(name).unwrap_or(&Value::Null).to_string()).collect()
    };
    for tied in sorted.chunk_by_mut(|a, b| number(&a[*figure]) == number(&b[*figure])) {
        tied.sort_by_key(|row| label(row));
    }
    sorted
}

#[test]
fn the_comparison_sees_what_it_must_and_overlooks_what_it_may() {
    let a = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
    let b = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
    let cases = [
        (r#"{"y":1}"#.to_owned(), r#"{"y":1,"ours":2}"#.to_owned(), true),
        (r#"{"y":"31"}"#.to_owned(), r#"{"y":31}"#.to_owned(), true),
        (r#"{"y":31}"#.to_owned(), r#"{"y":32}"#.to_owned(), false),
        (r#"{"y":1,"z":null}"#.to_owned(), r#"{"y":1}"#.to_owned(), true),
        (r#"{"y":1,"z":0}"#.to_owned(), r#"{"y":1}"#.to_owned(), false),
        (r#"{"token":"x"}"#.to_owned(), "{}".to_owned(), true),
        (r#""2026-03-01 00:00:00""#.to_owned(), r#""2026-03-01T00:00:00Z""#.to_owned(), true),
        (r#""2026-03-01 00:00:00""#.to_owned(), r#""2026-03-01T01:00:00Z""#.to_owned(), false),
        (
            r#"[{"x":"a","y":2},{"x":"b","y":1},{"x":"c","y":1}]"#.to_owned(),
            r#"[{"x":"a","y":2},{"x":"c","y":1},{"x":"b","y":1}]"#.to_owned(),
            true,
        ),
        (r#"[{"x":"a","y":2}]"#.to_owned(), r#"[{"x":"b","y":2}]"#.to_owned(), false),
        ("[1,2]".to_owned(), "[2,1]".to_owned(), false),
        (
            r#"[{"dataKey":"a","v":1},{"dataKey":"b","v":2}]"#.to_owned(),
            r#"[{"dataKey":"b","v":2},{"dataKey":"a","v":1}]"#.to_owned(),
            true,
        ),
        (
            r#"[{"dataKey":"a","v":1},{"dataKey":"b","v":2}]"#.to_owned(),
            r#"[{"dataKey":"b","v":1},{"dataKey":"a","v":2}]"#.to_owned(),
            false,
        ),
        (format!(r#"["{a}","{a}"]"#), format!(r#"["{b}","{b}"]"#), true),
        (format!(r#"["{a}","{b}"]"#), format!(r#"["{b}","{b}"]"#), false),
        (format!(r#""{}""#, WEBSITES[0]), format!(r#""{a}""#), false),
    ];
    for (theirs, ours, same) in cases {
        let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        let mut found = Vec::new();
        Renaming::default().differences(&parse(&theirs), &parse(&ours), "$", &mut found);
        assert_eq!(found.is_empty(), same, "{theirs} against {ours}: {found:?}");
    }
}
