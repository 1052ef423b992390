//! Every question's SQL, and the one place where text goes into it. A file runs as it stands in a `DuckDB` shell;
//! into the marker `/*:filters*/` go predicates made of constant text and `$f0…` names (`api/filter.rs`), and the
//! word behind `/*:column*/` is replaced by an expression out of a closed enum. Both texts are `'static` or made
//! of `'static` parts: what a client sent is always bound, never put in here.

/// The marker behind which predicates go, each beginning with `AND`.
const FILTERS: &str = "/*:filters*/";
/// The marker whose following word is replaced by the chosen column.
const COLUMN: &str = "/*:column*/";

pub const ACTIVE: &str = include_str!("../../sql/query/active.sql");
pub const ATTRIBUTION: &str = include_str!("../../sql/query/attribution.sql");
pub const ATTRIBUTION_TOTAL: &str = include_str!("../../sql/query/attribution_total.sql");
pub const BREAKDOWN: &str = include_str!("../../sql/query/breakdown.sql");
pub const CHARTS: &str = include_str!("../../sql/query/charts.sql");
pub const DATERANGE: &str = include_str!("../../sql/query/daterange.sql");
pub const EVENT_DATA: &str = include_str!("../../sql/query/event_data.sql");
pub const EVENT_DATA_DATES: &str = include_str!("../../sql/query/event_data_dates.sql");
pub const EVENT_DATA_EVENTS: &str = include_str!("../../sql/query/event_data_events.sql");
pub const EVENT_DATA_FIELDS: &str = include_str!("../../sql/query/event_data_fields.sql");
pub const EVENT_DATA_NUMBERS: &str = include_str!("../../sql/query/event_data_numbers.sql");
pub const EVENT_DATA_ONE: &str = include_str!("../../sql/query/event_data_one.sql");
pub const EVENT_DATA_PROPERTIES: &str = include_str!("../../sql/query/event_data_properties.sql");
pub const EVENT_DATA_STATS: &str = include_str!("../../sql/query/event_data_stats.sql");
pub const EVENT_DATA_SUMMARY: &str = include_str!("../../sql/query/event_data_summary.sql");
pub const EVENT_DATA_TEXTS: &str = include_str!("../../sql/query/event_data_texts.sql");
pub const EVENT_DATA_VALUES: &str = include_str!("../../sql/query/event_data_values.sql");
pub const EVENTS: &str = include_str!("../../sql/query/events.sql");
pub const EVENTS_SERIES: &str = include_str!("../../sql/query/events_series.sql");
pub const EVENTS_STATS: &str = include_str!("../../sql/query/events_stats.sql");
pub const EXPORT: &str = include_str!("../../sql/query/export.sql");
pub const EXPORT_PIECES: &str = include_str!("../../sql/query/export_pieces.sql");
pub const FUNNEL: &str = include_str!("../../sql/query/funnel.sql");
pub const GOAL: &str = include_str!("../../sql/query/goal.sql");
pub const HORIZON: &str = include_str!("../../sql/query/horizon.sql");
pub const JOURNEY: &str = include_str!("../../sql/query/journey.sql");
pub const METRICS: &str = include_str!("../../sql/query/metrics.sql");
pub const METRICS_EDGE: &str = include_str!("../../sql/query/metrics_edge.sql");
pub const METRICS_EVENT: &str = include_str!("../../sql/query/metrics_event.sql");
pub const METRICS_EXPANDED: &str = include_str!("../../sql/query/metrics_expanded.sql");
pub const METRICS_EXPANDED_EDGE: &str = include_str!("../../sql/query/metrics_expanded_edge.sql");
pub const PAGEVIEWS: &str = include_str!("../../sql/query/pageviews.sql");
pub const PERFORMANCE_CHART: &str = include_str!("../../sql/query/performance_chart.sql");
pub const PERFORMANCE_METRICS: &str = include_str!("../../sql/query/performance_metrics.sql");
pub const PERFORMANCE_STATS: &str = include_str!("../../sql/query/performance_stats.sql");
pub const REALTIME: &str = include_str!("../../sql/query/realtime.sql");
pub const REGEX_CHECK: &str = include_str!("../../sql/query/regex_check.sql");
pub const REPLAY: &str = include_str!("../../sql/query/replay.sql");
pub const REPLAY_CHUNK: &str = include_str!("../../sql/query/replay_chunk.sql");
pub const REPLAYS: &str = include_str!("../../sql/query/replays.sql");
pub const RETENTION: &str = include_str!("../../sql/query/retention.sql");
pub const REVENUE_CHART: &str = include_str!("../../sql/query/revenue_chart.sql");
pub const REVENUE_METRICS: &str = include_str!("../../sql/query/revenue_metrics.sql");
pub const REVENUE_SOURCES: &str = include_str!("../../sql/query/revenue_sources.sql");
pub const REVENUE_STATS: &str = include_str!("../../sql/query/revenue_stats.sql");
pub const SAVED: &str = include_str!("../../sql/query/saved.sql");
pub const SESSION: &str = include_str!("../../sql/query/session.sql");
pub const SESSION_ACTIVITY: &str = include_str!("../../sql/query/session_activity.sql");
pub const SESSION_DATA_DATES: &str = include_str!("../../sql/query/session_data_dates.sql");
pub const SESSION_DATA_NUMBERS: &str = include_str!("../../sql/query/session_data_numbers.sql");
pub const SESSION_DATA_PIVOT: &str = include_str!("../../sql/query/session_data_pivot.sql");
pub const SESSION_DATA_PROPERTIES: &str =
    include_str!("../../sql/query/session_data_properties.sql");
pub const SESSION_DATA_STATS: &str = include_str!("../../sql/query/session_data_stats.sql");
pub const SESSION_DATA_SUMMARY: &str = include_str!("../../sql/query/session_data_summary.sql");
pub const SESSION_DATA_TEXTS: &str = include_str!("../../sql/query/session_data_texts.sql");
pub const SESSION_DATA_VALUES: &str = include_str!("../../sql/query/session_data_values.sql");
pub const SESSION_PROPERTIES: &str = include_str!("../../sql/query/session_properties.sql");
pub const SESSIONS: &str = include_str!("../../sql/query/sessions.sql");
pub const SESSIONS_STATS: &str = include_str!("../../sql/query/sessions_stats.sql");
pub const SESSIONS_WEEKLY: &str = include_str!("../../sql/query/sessions_weekly.sql");
pub const STATS: &str = include_str!("../../sql/query/stats.sql");
pub const UTM: &str = include_str!("../../sql/query/utm.sql");
pub const VALUES: &str = include_str!("../../sql/query/values.sql");

/// Every file of `sql/query` by its name.
pub const ALL: &[(&str, &str)] = &[
    ("active", ACTIVE),
    ("attribution", ATTRIBUTION),
    ("attribution_total", ATTRIBUTION_TOTAL),
    ("breakdown", BREAKDOWN),
    ("charts", CHARTS),
    ("daterange", DATERANGE),
    ("event_data", EVENT_DATA),
    ("event_data_dates", EVENT_DATA_DATES),
    ("event_data_events", EVENT_DATA_EVENTS),
    ("event_data_fields", EVENT_DATA_FIELDS),
    ("event_data_numbers", EVENT_DATA_NUMBERS),
    ("event_data_one", EVENT_DATA_ONE),
    ("event_data_properties", EVENT_DATA_PROPERTIES),
    ("event_data_stats", EVENT_DATA_STATS),
    ("event_data_summary", EVENT_DATA_SUMMARY),
    ("event_data_texts", EVENT_DATA_TEXTS),
    ("event_data_values", EVENT_DATA_VALUES),
    ("events", EVENTS),
    ("events_series", EVENTS_SERIES),
    ("events_stats", EVENTS_STATS),
    ("export", EXPORT),
    ("export_pieces", EXPORT_PIECES),
    ("funnel", FUNNEL),
    ("goal", GOAL),
    ("horizon", HORIZON),
    ("journey", JOURNEY),
    ("metrics", METRICS),
    ("metrics_edge", METRICS_EDGE),
    ("metrics_event", METRICS_EVENT),
    ("metrics_expanded", METRICS_EXPANDED),
    ("metrics_expanded_edge", METRICS_EXPANDED_EDGE),
    ("pageviews", PAGEVIEWS),
    ("performance_chart", PERFORMANCE_CHART),
    ("performance_metrics", PERFORMANCE_METRICS),
    ("performance_stats", PERFORMANCE_STATS),
    ("realtime", REALTIME),
    ("regex_check", REGEX_CHECK),
    ("replay", REPLAY),
    ("replay_chunk", REPLAY_CHUNK),
    ("replays", REPLAYS),
    ("retention", RETENTION),
    ("revenue_chart", REVENUE_CHART),
    ("revenue_metrics", REVENUE_METRICS),
    ("revenue_sources", REVENUE_SOURCES),
    ("revenue_stats", REVENUE_STATS),
    ("saved", SAVED),
    ("session", SESSION),
    ("session_activity", SESSION_ACTIVITY),
    ("session_data_dates", SESSION_DATA_DATES),
    ("session_data_numbers", SESSION_DATA_NUMBERS),
    ("session_data_pivot", SESSION_DATA_PIVOT),
    ("session_data_properties", SESSION_DATA_PROPERTIES),
    ("session_data_stats", SESSION_DATA_STATS),
    ("session_data_summary", SESSION_DATA_SUMMARY),
    ("session_data_texts", SESSION_DATA_TEXTS),
    ("session_data_values", SESSION_DATA_VALUES),
    ("session_properties", SESSION_PROPERTIES),
    ("sessions", SESSIONS),
    ("sessions_stats", SESSIONS_STATS),
    ("sessions_weekly", SESSIONS_WEEKLY),
    ("stats", STATS),
    ("utm", UTM),
    ("values", VALUES),
];

/// Whether a statement reads event tables and nothing else that can change.
#[must_use]
pub fn reads_only_events(text: &str) -> bool {
    text.contains("facts.") && !text.contains("main.")
}

/// The file's text with predicates at its marker.
///
/// # Panics
/// When there are predicates and the file has no marker: a question that silently ignores its filters would lie.
#[must_use]
pub fn with_filters(text: &str, predicates: &str) -> String {
    assert!(predicates.is_empty() || text.contains(FILTERS), "this question takes no filters");
    text.replacen(FILTERS, predicates, 1)
}

/// The file's text with another column in the marked place: of the word there, with what follows it in brackets.
///
/// # Panics
/// When the file has no such place.
#[must_use]
pub fn with_column(text: &str, column: &str) -> String {
    let (head, tail) = text.split_once(COLUMN).expect("this question has a column to choose");
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let rest = &tail[tail.bytes().take_while(word).count()..];
    let rest = rest
        .strip_prefix('(')
        .and_then(|inner| inner.split_once(')'))
        .map_or(rest, |(_, rest)| rest);
    format!("{head}{column}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_directory_is_listed_and_explains_itself() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/sql/query");
        let mut names: Vec<String> = std::fs::read_dir(directory)
            .expect("the directory is there")
            .map(|entry| entry.expect("it can be read").path())
            .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for (name, text) in ALL {
            assert!(text.starts_with("-- "), "{name} does not say what its rows mean");
            assert!(text.matches("/*:").count() <= 2, "{name} has more than two markers");
        }
    }

    #[test]
    fn predicates_go_to_the_marker_and_columns_take_the_place_of_the_marked_word() {
        assert_eq!(
            with_filters("WHERE a /*:filters*/ GROUP", "AND b = $f0"),
            "WHERE a AND b = $f0 GROUP"
        );
        assert_eq!(with_filters("SELECT 1", ""), "SELECT 1");
        assert_eq!(
            with_column("SELECT /*:column*/url_path AS v", "lower(os)"),
            "SELECT lower(os) AS v"
        );
        assert_eq!(with_column("SELECT /*:column*/f(a, b) AS v", "c"), "SELECT c AS v");
    }

    #[test]
    #[should_panic(expected = "takes no filters")]
    fn a_file_without_a_marker_refuses_filters() {
        let _ = with_filters("SELECT 1", "AND true");
    }
}
