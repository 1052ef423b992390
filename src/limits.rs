//! Every limit of the program, in one file: what is too long, too many, too late. `budget.rs` adds up those that
//! cost memory. Names end in their unit and say whether they are a bound. Nothing here depends on a setting.

/// Buffer of a worker for the answers to events, used again when they are sent.
pub const ANSWERS_BYTES: usize = 16 << 10;
/// Largest request body of the intake; more is answered 413.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// Largest request body of the management API; more is answered 413.
pub const API_BODY_BYTES_MAX: usize = 64 << 10;
/// Bytes of bodies larger than one network read that all requests together may hold.
pub const BODIES_IN_FLIGHT_BYTES_MAX: usize = 8 << 20;
/// While the gate is tight, only bodies up to this are read to know their website.
pub const LOOK_BYTES_MAX: usize = 16 << 10;
/// Places for the websites' shares of the rate, and how often the rate is looked at.
pub const SHARE_SLOTS: usize = 1 << 12;
pub const PACE_MS: u64 = 100;
/// Nesting of a JSON body; deeper is answered 400.
pub const JSON_DEPTH_MAX: usize = 256;

/// Any one text of an event, in bytes: 500 characters of four bytes.
pub const TEXT_BYTES_MAX: usize = 2_000;
/// Characters of path, query, title, referrer path and query.
pub const LONG_TEXT_CHARS_MAX: usize = 500;
/// Characters of utm values.
pub const UTM_CHARS_MAX: usize = 255;
pub const HOSTNAME_CHARS_MAX: usize = 100;
pub const LANGUAGE_CHARS_MAX: usize = 35;
pub const SCREEN_CHARS_MAX: usize = 11;
pub const EVENT_NAME_CHARS_MAX: usize = 50;
pub const TAG_CHARS_MAX: usize = 50;
pub const DISTINCT_ID_CHARS_MAX: usize = 50;
/// Characters of a browser, os, device or region that the sender names itself.
pub const CLIENT_TEXT_CHARS_MAX: usize = 20;
pub const CITY_CHARS_MAX: usize = 50;
pub const CURRENCY_CHARS_MAX: usize = 10;
/// Characters of a property's name and of its text value.
pub const DATA_TEXT_CHARS_MAX: usize = 500;
/// Properties of one event, encoded; what does not fit is left out.
pub const DATA_BYTES_MAX: usize = 60 << 10;
/// One encoded event: every text at its longest, and the properties.
pub const RECORD_BYTES_MAX: usize = 127 << 10;

/// A visit ends after this much inactivity.
pub const VISIT_IDLE_MS: i64 = 30 * 60_000;

/// Rows of one row group of the event table: a batch of this size goes to disk without the log.
pub const BATCH_ROWS_MAX: usize = 20_480;
/// Records of one batch, those that become no row of events included.
pub const BATCH_RECORDS_MAX: usize = 2 * BATCH_ROWS_MAX;
/// Encoded bytes of one batch.
pub const BATCH_BYTES_MAX: usize = 8 << 20;
/// The same for comparison with counters; and what is few.
pub const BATCH_ROWS_FULL: u64 = BATCH_ROWS_MAX as u64;
pub const BATCH_ROWS_FEW: u64 = 1_024;
/// Few events wait this long for company, more than few this long for a full batch: together with the commit an
/// event is seen within two seconds.
pub const FLUSH_FEW_MS: u64 = 400;
pub const FLUSH_MANY_MS: u64 = 1_200;
/// Many events wait no longer for company when none has come for so long.
pub const FLUSH_QUIET_MS: u64 = 100;
/// How often the writer looks at the rings.
pub const WRITER_POLL_MS: u64 = 25;

/// Connections that answer questions, and questions that may wait for one.
pub const READERS: usize = 2;
pub const QUESTIONS_WAITING_MAX: usize = 64;
/// A question that waits longer for a reader is answered 503.
pub const QUESTION_WAIT_MS_MAX: u64 = 5_000;
/// A question that runs longer is interrupted and answered 503.
pub const QUESTION_MS_MAX: u64 = 30_000;
/// A question that must stop is interrupted again this often until it has stopped.
pub const INTERRUPT_INTERVAL_MS: u64 = 20;
/// Different names in one query string.
pub const QUERY_NAMES_MAX: usize = 256;
/// Filters of one question, values of one filter, and bytes of one value.
pub const FILTERS_MAX: usize = 64;
pub const FILTER_VALUES_MAX: usize = 256;
pub const FILTER_BYTES_MAX: usize = 4 << 10;
/// Notes of one website, and characters of one.
pub const ANNOTATIONS_PER_WEBSITE_MAX: i64 = 1_000;
pub const ANNOTATION_CHARS_MAX: usize = 500;
/// Segments, cohorts and reports kept beside one website, characters of their names and descriptions.
pub const SAVED_PER_WEBSITE_MAX: i64 = 1_000;
pub const SAVED_NAME_CHARS_MAX: usize = 200;
pub const SAVED_DESCRIPTION_CHARS_MAX: usize = 500;
/// Rows of a metric when no limit is asked for, and at most.
pub const METRIC_ROWS_DEFAULT: i64 = 500;
pub const METRIC_ROWS_MAX: i64 = 10_000;
/// Steps of a funnel, filters on properties of one, and its longest window (a year).
pub const FUNNEL_STEPS_MAX: usize = 8;
pub const FUNNEL_PROPERTIES_MAX: usize = 16;
pub const FUNNEL_WINDOW_MS_MAX: f64 = 366.0 * 86_400_000.0;
/// Rows of the answers of reports.
pub const JOURNEYS_MAX: i64 = 100;
pub const UTM_ROWS_MAX: i64 = 50;
pub const BREAKDOWN_ROWS_MAX: i64 = 500;
pub const BREAKDOWN_FIELDS_MAX: usize = 8;
/// Rows of a series of several names; the rarest names are left out.
pub const SERIES_ROWS_MAX: i64 = 50_000;
/// Values that are proposed for a filter, and whole values that can be searched at once.
pub const VALUES_ROWS_MAX: i64 = 10;
pub const VALUES_SEARCHED_MAX: usize = 5;
/// The window of the live view, beside the current minute, and how many of its events are listed.
pub const REALTIME_MS: i64 = 30 * 60_000;
pub const REALTIME_ROWS_MAX: i64 = 100;
/// Websites whose charts are asked for at once, the days of a chart when no range is asked for, and at most.
pub const CHARTS_MAX: usize = 20;
pub const CHART_DAYS_DEFAULT: i8 = 7;
pub const CHART_MS_MAX: i64 = 366 * 24 * 3_600_000;
/// Events of one session's activity, and properties of one session.
pub const ACTIVITY_ROWS_MAX: i64 = 500;
pub const PROPERTY_ROWS_MAX: i64 = 1_000;
/// Exports of events at a time, the events that are cut into pieces at once, the bytes of a piece (one event more or
/// less), and what an export may need: the rows of a piece and what is made of them.
pub const EXPORTS_MAX: usize = 2;
pub const EXPORT_EVENTS: i64 = 4_096;
pub const EXPORT_PIECE_BYTES: i64 = 1 << 20;
pub const EXPORT_BYTES: usize = 6 << 20;
/// A piece is handed to the client in parts of this size, of which two may wait for it.
pub const EXPORT_PART_BYTES: usize = 32 << 10;
/// A row group of a Parquet file is written out beyond this, and a page of one of its columns.
pub const EXPORT_GROUP_BYTES: usize = 2 << 20;
pub const EXPORT_PAGE_BYTES: usize = 64 << 10;
/// An export whose client takes no part for so long is given up, and one that takes longer than this altogether.
pub const EXPORT_STALL_MS_MAX: u64 = 30_000;
pub const EXPORT_MS_MAX: u64 = 2 * 3_600_000;
/// How often a piece is asked for while the store is busy, a second apart.
pub const EXPORT_TRIES_MAX: u32 = 10;
/// Properties of all events of one page; a page with more is refused.
pub const PAGE_PROPERTIES_MAX: usize = 20_000;
/// Names of properties in one answer, and values of properties.
pub const PROPERTY_NAMES_MAX: i64 = 500;
pub const PROPERTY_VALUES_MAX: i64 = 100;
/// A visitor counts as active this long after an event.
pub const ACTIVE_MS: i64 = 5 * 60_000;

/// What the engine may use, in MB; its real use is about this and `ENGINE_OVERHEAD_MB`.
pub const ENGINE_MEMORY_MB: usize = 48;
/// Largest spill to disk of the engine, in MB.
pub const ENGINE_SPILL_MB: usize = 2_048;
/// The log is folded into the file when it grows beyond this.
pub const WAL_BYTES_MAX: usize = 16 << 20;

/// Below this and the bytes of all rings the intake refuses: what is in the rings can still be stored.
pub const DISK_RESERVE_BYTES: u64 = 80 << 20;
/// Below this nothing is written: a batch, the log and the checkpoint that folds it need so much.
pub const DISK_FLOOR_BYTES: u64 = 3 * WAL_BYTES_MAX as u64;

/// Bytes of all answers that are remembered; one with its place in the table; one that is too large to be remembered.
pub const ANSWERS_BYTES_MAX: usize = 2 << 20;
pub const ANSWER_OVERHEAD_BYTES: usize = 192;
pub const ANSWER_BYTES_MAX: usize = ANSWERS_BYTES_MAX / 8;
/// Numbers that tell the states of websites' events; a multiple of 64.
pub const VERSION_PLACES: usize = 1 << 14;

/// Websites of one server.
pub const WEBSITES_MAX: usize = 1 << 20;
/// Characters of a website's name, domain and share id.
pub const WEBSITE_NAME_CHARS_MAX: usize = 100;
pub const WEBSITE_DOMAIN_CHARS_MAX: usize = 500;
pub const SHARE_ID_CHARS_MAX: usize = 50;
/// Links and pixels of one server, all of them in memory.
pub const LINKS_MAX: usize = 10_000;
/// Characters of a link's name and slug, bytes of the address it leads to.
pub const LINK_NAME_CHARS_MAX: usize = 100;
pub const LINK_SLUG_CHARS_MAX: usize = 100;
pub const LINK_URL_BYTES_MAX: usize = 500;
/// Boards of one user or team, characters of their names and descriptions, bytes of what is on one.
pub const BOARDS_PER_OWNER_MAX: i64 = 1_000;
pub const BOARD_NAME_CHARS_MAX: usize = 200;
pub const BOARD_DESCRIPTION_CHARS_MAX: usize = 500;
pub const BOARD_BYTES_MAX: usize = 32 << 10;
/// Shares of one server, bytes of what one shows, characters of slugs.
pub const SHARES_MAX: usize = 50_000;
pub const SHARE_BYTES_MAX: usize = 4 << 10;
pub const SHARE_NAME_CHARS_MAX: usize = 200;
pub const SHARE_SLUG_CHARS_MAX: usize = 100;
pub const SHARE_SLUG_RANDOM_CHARS: usize = 16;
/// Recordings that are taken in at a time (each with a body and what is made of it), how long a body may take, and the
/// events of one message.
pub const RECORDINGS_MAX: usize = 3;
pub const RECORDING_BYTES: usize = 4 * BODY_BYTES_MAX;
pub const RECORDING_BODY_MS_MAX: u64 = 10_000;
pub const RECORDED_EVENTS_MAX: usize = 200;
/// One recording: its JSON, its pieces, and how far the visitor's clock may be off.
pub const REPLAY_BYTES_MAX: u64 = 32 << 20;
pub const REPLAY_CHUNKS_MAX: u64 = 2_000;
pub const REPLAY_CLOCK_MS_MAX: i64 = 24 * 3_600_000;
/// All recordings, compressed; and the room on the disk below which none is taken in, long before events are refused.
pub const REPLAYS_BYTES_MAX: u64 = 2 << 30;
pub const REPLAY_DISK_RESERVE_BYTES: u64 = 4 * DISK_RESERVE_BYTES;
/// How often is looked for recordings that have been kept long enough.
pub const REPLAY_SWEEP_MS: i64 = 3_600_000;
pub const REPLAY_COMPRESSION: i32 = 3;
/// Bytes of a website's replay settings.
pub const REPLAY_CONFIG_BYTES_MAX: usize = 4 << 10;
/// Rows of one page of a list when no size is asked for, and at most.
pub const PAGE_ROWS_DEFAULT: i64 = 20;
pub const PAGE_ROWS_MAX: i64 = 1_000;
/// Lists that are read page by page (a few dozen bytes each), and how long one waits for its next page.
pub const HORIZON_PLACES: usize = 1 << 10;
pub const HORIZON_MS_MAX: i64 = 15 * 60_000;
/// Sessions whose visit is remembered between requests.
pub const VISIT_SLOTS: usize = 1 << 18;
/// User agents remembered per worker.
pub const AGENT_SLOTS: usize = 1 << 11;
/// A user agent is looked at up to this length.
pub const AGENT_BYTES_MAX: usize = 1_024;

/// A login is valid this long.
pub const LOGIN_MS_MAX: i64 = 30 * 24 * 3_600_000;
/// Logins that are remembered as ended before their time; beyond it, logging out ends all logins of the user.
pub const ENDED_LOGINS_MAX: usize = 10_000;
/// Hashing one password; one at a time.
pub const PASSWORD_BYTES: usize = 19 << 20;
/// Characters of a password, and of the generated one.
pub const USERNAME_CHARS_MAX: usize = 255;
/// All of them are kept in memory, a few hundred bytes each.
pub const USERS_MAX: usize = 10_000;
/// Teams, kept in memory as well, and characters of their names and access codes.
pub const TEAMS_MAX: usize = 10_000;
pub const TEAM_NAME_CHARS_MAX: usize = 50;
pub const ACCESS_CODE_CHARS_MAX: usize = 50;
pub const ACCESS_CODE_CHARS_MIN: usize = 8;
pub const ACCESS_CODE_RANDOM_CHARS: usize = 16;
/// API keys of one user and of one server, all of them in memory; characters of a key's name, of its random part, and
/// of what is shown of it. When a key was last used is written this seldom.
pub const API_KEYS_PER_USER_MAX: usize = 100;
pub const API_KEYS_MAX: usize = 10_000;
pub const API_KEY_NAME_CHARS_MAX: usize = 100;
pub const API_KEY_RANDOM_CHARS: usize = 40;
pub const API_KEY_SHOWN_CHARS: usize = 12;
pub const API_KEY_USE_MS: i64 = 3_600_000;
/// A hash by bcrypt that is dearer is not checked: each step takes twice the time (10 is usual, about 0.1 s).
pub const BCRYPT_COST_MAX: u32 = 14;
pub const PASSWORD_CHARS_MIN: usize = 8;
pub const PASSWORD_GENERATED_CHARS: usize = 20;
/// Characters of a secret given in the settings.
pub const SECRET_CHARS_MIN: usize = 16;
/// Passwords that may wait to be hashed, and how long; beyond it the answer is 503.
pub const PASSWORDS_WAITING_MAX: usize = 16;
pub const PASSWORD_WAIT_MS_MAX: u64 = 5_000;
/// Names and addresses whose wrong logins are counted.
pub const GUESS_SLOTS: usize = 1 << 10;
/// Wrong logins of one name or address that are answered without delay.
pub const GUESSES_FREE_MAX: u32 = 5;
/// The longest delay of an answer to a login, and how long wrong logins are remembered.
pub const GUESS_DELAY_MS_MAX: u64 = 1_000;
pub const GUESS_MEMORY_MS: i64 = 10 * 60_000;
/// Graceful stop: open requests get this long.
pub const SHUTDOWN_SECONDS_MAX: u64 = 5;

/// What the engine was measured to use beyond its limit, in MB.
pub const ENGINE_OVERHEAD_MB: usize = 55;
/// One HTTP worker: its connections' buffers, its parser's and its agent cache.
pub const WORKER_BYTES: usize = 12 << 20;
/// The program's own pages, the website directory, compressed assets.
pub const PROGRAM_BYTES: usize = 24 << 20;

/// The engine is asked this often whether it still answers.
pub const ENGINE_PROBE_MS: u64 = 1_000;
/// When events can no longer be stored, the process has ended after this, whatever hangs.
pub const FAILED_END_MS_MAX: u64 = 3_000;
/// A batch that takes longer means that the engine hangs: the heartbeat says so.
pub const WRITER_BUSY_MS_MAX: u64 = 30_000;
/// Failed commits in a row after which the heartbeat says so.
pub const WRITER_FAILURES_MAX: u64 = 3;
/// Open connections of one worker.
pub const CONNECTIONS_PER_WORKER_MAX: usize = 2_048;
/// A client has this long to send its request's head.
pub const REQUEST_HEAD_MS_MAX: u64 = 5_000;
/// An idle connection is kept this long.
pub const KEEP_ALIVE_SECONDS: u64 = 75;
/// Blocking threads of one worker: questions, passwords, configuration.
pub const BLOCKING_THREADS_PER_WORKER: usize = 4;
