//! The house rules that a compiler does not hold: sizes, headers, who may import whom, which module alone may use an
//! outside crate, no dead SQL. Reads the sources as text; each test lists every offence it finds.
//!
//! Unit tests at the foot of a file (from `#[cfg(test)]` on) and files named `…_tests.rs` count only where it says so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;
/// rustfmt keeps code within 100; comments and texts may go a little beyond.
const LINE_CHARS_MAX: usize = 120;

/// What any module may name.
const ANYONE: &[&str] = &["clock", "limits", "priority", "telemetry"];

/// Which modules a module may name besides itself and [`ANYONE`]. Imports point one way: intake never reaches the
/// store, questions never reach a ring, and the ring knows nobody.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("limits", &[]),
    ("priority", &[]),
    ("telemetry", &[]),
    ("config", &[]),
    ("event", &[]),
    ("websites", &[]),
    ("mapped", &[]),
    ("disk", &[]),
    ("ring", &["mapped"]),
    ("enrich", &["mapped"]),
    ("identity", &[]),
    ("budget", &["config"]),
    ("store", &["disk", "event", "websites"]),
    ("error", &["store"]),
    ("set_aside", &[]),
    ("writer", &["disk", "event", "ring", "set_aside", "store"]),
    ("auth", &["error", "store", "websites"]),
    ("intake", &["config", "enrich", "error", "event", "identity", "ring", "websites"]),
    ("api", &["auth", "error", "identity", "store", "websites"]),
    ("tracker", &["error"]),
    ("health", &["budget", "error"]),
    ("server", &["api", "auth", "error", "health", "intake", "store", "tracker", "websites"]),
    (
        "cmd",
        &[
            "auth", "budget", "config", "error", "health", "intake", "ring", "server", "store",
            "tracker", "websites", "writer",
        ],
    ),
];

/// What only some files may write, and where: a path is a file, or a folder when it ends in a slash.
const FENCES: &[(&str, &[&str])] = &[
    ("duckdb::", &["src/store/"]),
    (
        "actix_web::",
        &[
            "src/api/",
            "src/auth/",
            "src/cmd/",
            "src/error.rs",
            "src/health.rs",
            "src/intake/",
            "src/server.rs",
            "src/tracker.rs",
        ],
    ),
    ("memmap2::", &["src/mapped.rs"]),
    ("libc::", &["src/mapped.rs"]),
    ("rustix::", &["src/disk.rs", "src/priority.rs"]),
    ("unsafe ", &["src/mapped.rs"]),
    ("std::env", &["src/config.rs", "src/main.rs"]),
    ("SystemTime::now", &["src/clock.rs"]),
    ("Instant::now", &["src/clock.rs"]),
    (".unwrap()", &[]),
    ("todo!", &[]),
    ("unimplemented!", &[]),
    ("dbg!", &[]),
    ("println!", &["src/cmd/", "src/main.rs"]),
];

/// One Rust file.
struct Source {
    /// From the root of the project, with slashes.
    path: String,
    text: String,
    /// What is not unit tests, comments or literals; lines stay where they are.
    code: String,
    is_test: bool,
}

impl Source {
    fn read(file: &Path) -> Self {
        let path = relative(file);
        let text = read(file);
        let production = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code = without_comments_and_literals(production);
        let is_test = path.starts_with("tests/") || path.ends_with("_tests.rs");
        Self { path, text, code, is_test }
    }

    /// The top-level module it belongs to; the crate's roots belong to none.
    fn module(&self) -> Option<&str> {
        let first = self.path.strip_prefix("src/")?.split('/').next()?.trim_end_matches(".rs");
        (first != "lib" && first != "main").then_some(first)
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn relative(file: &Path) -> String {
    let path = file.strip_prefix(root()).expect("a file of the project");
    path.to_string_lossy().replace('\\', "/")
}

/// All files below a folder with the extension, in order; none when the folder is absent.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut folders = vec![root().join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|own| own == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn sources() -> Vec<Source> {
    let all = files("src", "rs").into_iter().chain(files("tests", "rs"));
    let sources: Vec<Source> = all.map(|file| Source::read(&file)).collect();
    assert!(sources.len() > 20, "the sources are not where they should be");
    sources
}

fn none(offences: &[String]) {
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

/// The text with comments and literals blanked, so that a word in prose is no offence.
fn without_comments_and_literals(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => string_length(rest),
            'r' if is_raw_string(&code, rest) => raw_string_length(rest),
            '\'' => char_length(rest),
            _ => 0,
        };
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..length].chars().filter(|c| *c == '\n'));
            rest = &rest[length..];
        }
    }
    code
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

fn is_raw_string(before: &str, text: &str) -> bool {
    let inside_word = before.ends_with(|c: char| c.is_alphanumeric() && c != 'b' || c == '_');
    !inside_word && text[1..].trim_start_matches('#').starts_with('"')
}

fn raw_string_length(text: &str) -> usize {
    let hashes = text[1..].len() - text[1..].trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(hashes));
    let start = hashes + 2;
    text[start..].find(&end).map_or(text.len(), |at| start + at + end.len())
}

/// Of a character literal; 0 for a lifetime.
fn char_length(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some(_)) => text[3..].find('\'').map_or(0, |at| at + 4),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

/// The modules named by `crate::name` and `crate::{name, name::…}`.
fn named_modules(code: &str) -> BTreeSet<String> {
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut named = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            named.insert(word(rest));
            continue;
        };
        let (mut depth, mut start) = (0, 0);
        for (at, c) in group.char_indices() {
            match c {
                ',' | '}' if depth == 0 => {
                    named.insert(word(&group[start..at]));
                    start = at + 1;
                    if c == '}' {
                        break;
                    }
                }
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
        }
    }
    named.retain(|name| !name.is_empty());
    named
}

#[test]
fn every_file_opens_by_saying_what_it_is_for() {
    let mut offences = Vec::new();
    for source in sources() {
        if !source.text.starts_with("//! ") {
            offences.push(format!("{}: no `//!` paragraph", source.path));
        }
    }
    for file in files("sql", "sql") {
        if !read(&file).starts_with("-- ") {
            offences.push(format!("{}: no `--` comment at the top", relative(&file)));
        }
    }
    none(&offences);
}

#[test]
fn files_functions_and_lines_are_short_enough_to_read() {
    let mut offences = Vec::new();
    for source in sources() {
        let is_unit_test = source.path.ends_with("_tests.rs");
        let code: Vec<&str> = source.code.lines().collect();
        if code.len() > FILE_LINES_MAX && !source.is_test {
            offences.push(format!("{}: {} lines", source.path, code.len()));
        }
        for (start, length) in functions(&code) {
            if length > FUNCTION_LINES_MAX && !source.is_test {
                offences.push(format!("{}:{start}: a function of {length} lines", source.path));
            }
        }
        let production = source.text.lines().take(code.len()).enumerate();
        for (index, line) in production.filter(|_| !is_unit_test) {
            if line.chars().count() > LINE_CHARS_MAX {
                offences.push(format!("{}:{}: a long line", source.path, index + 1));
            }
        }
    }
    none(&offences);
}

/// First line (from 1) and number of lines of each function: it ends at a brace on its own indentation.
fn functions(code: &[&str]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (start, line) in code.iter().enumerate() {
        let trimmed = line.trim_start();
        let is_function = trimmed.starts_with("fn ")
            || trimmed.split_once("fn ").is_some_and(|(before, _)| {
                let qualifiers = ["pub", "pub(super)", "pub(crate)", "const", "async", "unsafe"];
                before.split_whitespace().all(|word| qualifiers.contains(&word))
            });
        if is_function {
            let end = format!("{}}}", &line[..line.len() - trimmed.len()]);
            let length = code[start..].iter().position(|line| *line == end).map_or(1, |at| at + 1);
            found.push((start + 1, length));
        }
    }
    found
}

#[test]
fn imports_point_one_way() {
    let mut offences = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test) {
        let Some(module) = source.module() else { continue };
        let Some((_, may_name)) = MAY_NAME.iter().find(|(name, _)| *name == module) else {
            offences.push(format!("{}: the module is not in the table", source.path));
            continue;
        };
        for named in named_modules(&source.code) {
            let named = named.as_str();
            if named != module && !ANYONE.contains(&named) && !may_name.contains(&named) {
                offences.push(format!("{}: `{module}` may not name `{named}`", source.path));
            }
        }
        let is_top = source.path.matches('/').count() == 1 || source.path.ends_with("/mod.rs");
        let depth = source.path.matches('/').count();
        if is_top && depth <= 2 && source.code.contains("super::") {
            offences.push(format!("{}: write `crate::`, not `super::`", source.path));
        }
    }
    none(&offences);
}

#[test]
fn the_table_of_imports_has_no_cycle() {
    let mut done: BTreeSet<&str> = ANYONE.iter().copied().collect();
    let mut left: Vec<_> = MAY_NAME.iter().filter(|(name, _)| !done.contains(name)).collect();
    while !left.is_empty() {
        let before = left.len();
        left.retain(|(name, may_name)| {
            let ready = may_name.iter().all(|named| done.contains(named));
            if ready {
                done.insert(name);
            }
            !ready
        });
        assert!(left.len() < before, "these name each other: {left:?}");
    }
}

#[test]
fn fenced_names_stay_where_they_belong() {
    let mut offences = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test) {
        for (name, places) in FENCES {
            let allowed = places.iter().any(|place| {
                if place.ends_with('/') {
                    source.path.starts_with(place)
                } else {
                    source.path == *place
                }
            });
            for (index, line) in source.code.lines().enumerate().filter(|_| !allowed) {
                if line.contains(name) {
                    offences.push(format!("{}:{}: `{name}`", source.path, index + 1));
                }
            }
        }
    }
    none(&offences);
}

#[test]
fn nothing_is_left_for_later() {
    let this = relative(&root().join("tests/it/tidy.rs"));
    let folders = [("src", "rs"), ("tests", "rs"), ("sql", "sql"), ("docs", "md"), ("bench", "rs")];
    let all = folders.iter().flat_map(|(folder, extension)| files(folder, extension));
    let mut offences = Vec::new();
    for file in all.filter(|file| relative(file) != this) {
        for (index, line) in read(&file).lines().enumerate() {
            let words = ["FIXME", "TODO", "XXX", "HACK", "#[ignore"];
            for word in words.iter().filter(|word| line.contains(**word)) {
                offences.push(format!("{}:{}: {word}", relative(&file), index + 1));
            }
        }
    }
    none(&offences);
}

#[test]
fn every_sql_file_is_used() {
    let users: String = files("src", "rs").iter().map(|file| read(file)).collect();
    let mut offences = Vec::new();
    for file in files("sql", "sql") {
        let path = relative(&file);
        if !users.contains(&format!("../{path}\")")) {
            offences.push(format!("{path}: no `include_str!` names it"));
        }
        let name = path.strip_prefix("sql/query/").map(|name| name.trim_end_matches(".sql"));
        let list = read(&root().join("src/store/sql.rs"));
        if name.is_some_and(|name| !list.contains(&format!("\"{name}\""))) {
            offences.push(format!("{path}: not in the list of src/store/sql.rs"));
        }
    }
    none(&offences);
}

#[test]
fn the_reader_of_sources_knows_code_from_prose() {
    let cases = [
        ("a // crate::b\nc", "a \nc"),
        ("a /* crate::b */ c", "a  c"),
        (r#"f("crate::b \" x", y)"#, "f(, y)"),
        ("f(r#\"crate::b\"#, y)", "f(, y)"),
        ("f('\"', '\\'', '\\u{7f}', 'a')", "f(, , , )"),
        ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
        ("\"http://x\" y", " y"),
    ];
    for (text, code) in cases {
        assert_eq!(without_comments_and_literals(text), code, "{text}");
    }
    let named = named_modules("use crate::{api, store::{a, b}}; crate::ring::open()");
    assert_eq!(named.into_iter().collect::<Vec<_>>(), ["api", "ring", "store"]);
}
