//! Every setting: its flag, its variable, its default. One list serves the command line, the environment,
//! `sumimi config` and the table in the README (a test compares them). Nothing else reads a variable.
//!
//! Umami's names are accepted where they have a twin here, so that its environment file can be taken over; our own
//! name wins. An empty variable counts as unset, as compose files often pass empty ones.

#![allow(clippy::disallowed_methods, reason = "the one place that reads variables")]

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

/// Web analytics in one binary.
#[derive(Debug, Parser)]
#[command(name = "sumimi", version, about)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub config: Config,
}

/// What to do; without one, serve.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the server (the default)
    Serve,
    /// Print the effective settings and the memory budget
    Config,
    /// Manage people who sign in
    User {
        #[command(subcommand)]
        action: UserAction,
    },
    /// Ask a running server whether it is well; exit code 0 when it is
    Healthcheck,
}

/// What to do with a user.
#[derive(Debug, Subcommand)]
pub enum UserAction {
    /// Set a new password (from SUMIMI_NEW_PASSWORD, else generated and printed)
    Password {
        /// The name to sign in with
        name: String,
    },
}

/// The settings.
#[derive(Args, Clone, Debug)]
pub struct Config {
    /// Directory of everything that is kept
    #[arg(long, env = "SUMIMI_DATA_DIR", default_value = "./data", global = true)]
    pub data_dir: PathBuf,
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, env = "SUMIMI_LISTEN", default_value = "127.0.0.1:3000", global = true)]
    pub listen: SocketAddr,
    /// Memory of the machine in place of what is seen, as 512MB or 1GB; the budget is half of it
    #[arg(long, env = "SUMIMI_MEMORY", value_parser = parse_bytes, global = true)]
    pub memory: Option<Bytes>,
    /// Requests admitted per second, in place of what follows from the budget
    #[arg(long, env = "SUMIMI_RATE", global = true,
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub rate: Option<u64>,
    /// HTTP workers, in place of one for each processor
    #[arg(long, env = "SUMIMI_WORKERS", global = true,
          value_parser = clap::value_parser!(u64).range(1..=8))]
    pub workers: Option<u64>,
    /// What an answered event survives: death of the `process`, or loss of `power` (slower: answers wait for the disk)
    #[arg(long, env = "SUMIMI_DURABILITY", default_value = "process", global = true,
          value_parser = ["process", "power"])]
    pub durability: String,
    /// Peers whose proxy headers are believed: addresses, networks, `loopback`, `private` or `none`
    #[arg(long, env = "SUMIMI_TRUSTED_PROXIES", default_value = "loopback", global = true)]
    pub trusted_proxies: String,
    /// MaxMind database file (City or Country) for places
    #[arg(long, env = "SUMIMI_GEO_DB", global = true)]
    pub geo_db: Option<PathBuf>,
    /// Path prefix under which a proxy shows the server, as /stats [Umami: BASE_PATH]
    #[arg(long, env = "SUMIMI_BASE_PATH", value_parser = parse_base_path, global = true)]
    pub base_path: Option<String>,
    /// What to log: error, warn, info, debug, or a filter of modules
    #[arg(long, env = "SUMIMI_LOG", default_value = "info,actix_server=warn", global = true)]
    pub log: String,
    /// Password of `admin` at the first start; without it one is generated and printed once
    #[arg(long, env = "SUMIMI_ADMIN_PASSWORD", hide_env_values = true, global = true)]
    pub admin_password: Option<String>,
    /// Secret in place of the generated one [Umami: APP_SECRET]
    #[arg(long, env = "SUMIMI_APP_SECRET", hide_env_values = true, global = true)]
    pub app_secret: Option<String>,
    /// Count robots as visitors (1 or true) [Umami: DISABLE_BOT_CHECK]
    #[arg(long, env = "SUMIMI_DISABLE_BOT_CHECK", value_parser = parse_switch,
          default_value = "false", num_args = 0..=1, default_missing_value = "true", global = true)]
    pub disable_bot_check: bool,
    /// Addresses and networks whose events are refused, separated by commas [Umami: IGNORE_IP]
    #[arg(long, env = "SUMIMI_IGNORE_IP", global = true)]
    pub ignore_ip: Option<String>,
    /// The one header that carries the visitor's address [Umami: CLIENT_IP_HEADER]
    #[arg(long, env = "SUMIMI_CLIENT_IP_HEADER", global = true)]
    pub client_ip_header: Option<String>,
    /// Another path that receives events, as /api/collect [Umami: COLLECT_API_ENDPOINT]
    #[arg(long, env = "SUMIMI_COLLECT_API_ENDPOINT", value_parser = parse_path, global = true)]
    pub collect_api_endpoint: Option<String>,
    /// More names of the tracker script, separated by commas [Umami: TRACKER_SCRIPT_NAME]
    #[arg(long, env = "SUMIMI_TRACKER_SCRIPT_NAME", global = true)]
    pub tracker_script_name: Option<String>,
    /// Drop a path's last slash (1 or true) [Umami: REMOVE_TRAILING_SLASH]
    #[arg(long, env = "SUMIMI_REMOVE_TRAILING_SLASH", value_parser = parse_switch,
          default_value = "false", num_args = 0..=1, default_missing_value = "true", global = true)]
    pub remove_trailing_slash: bool,
    /// When sessions start anew: day, week or month [Umami: SALT_ROTATION]
    #[arg(long, env = "SUMIMI_SALT_ROTATION", default_value = "month", global = true,
          value_parser = ["day", "week", "month"])]
    pub salt_rotation: String,
    /// Days for which recordings of visits are kept, those that somebody saved excepted
    #[arg(long, env = "SUMIMI_REPLAY_DAYS", default_value = "30", global = true,
          value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub replay_days: u32,
}

/// The password for `sumimi user password`; a variable only, since arguments can be seen by others.
#[must_use]
pub fn new_password() -> Option<String> {
    std::env::var("SUMIMI_NEW_PASSWORD").ok()
}

impl Config {
    /// Every variable with its effective value, as people would write it; secrets only as present or not.
    #[must_use]
    pub fn effective(&self) -> Vec<(&'static str, String)> {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let secret =
            |value: &Option<String>| value.as_ref().map_or("-", |_| "(set, not shown)").to_owned();
        vec![
            ("SUMIMI_DATA_DIR", self.data_dir.display().to_string()),
            ("SUMIMI_LISTEN", self.listen.to_string()),
            (
                "SUMIMI_MEMORY",
                self.memory.map_or("-".to_owned(), |bytes| format!("{}MB", bytes.0 >> 20)),
            ),
            ("SUMIMI_RATE", self.rate.map_or("-".to_owned(), |rate| rate.to_string())),
            ("SUMIMI_WORKERS", self.workers.map_or("-".to_owned(), |count| count.to_string())),
            ("SUMIMI_DURABILITY", self.durability.clone()),
            ("SUMIMI_TRUSTED_PROXIES", self.trusted_proxies.clone()),
            (
                "SUMIMI_GEO_DB",
                self.geo_db.as_ref().map_or("-".to_owned(), |path| path.display().to_string()),
            ),
            ("SUMIMI_BASE_PATH", text(&self.base_path)),
            ("SUMIMI_LOG", self.log.clone()),
            ("SUMIMI_ADMIN_PASSWORD", secret(&self.admin_password)),
            ("SUMIMI_APP_SECRET", secret(&self.app_secret)),
            ("SUMIMI_DISABLE_BOT_CHECK", self.disable_bot_check.to_string()),
            ("SUMIMI_IGNORE_IP", text(&self.ignore_ip)),
            ("SUMIMI_CLIENT_IP_HEADER", text(&self.client_ip_header)),
            ("SUMIMI_COLLECT_API_ENDPOINT", text(&self.collect_api_endpoint)),
            ("SUMIMI_TRACKER_SCRIPT_NAME", text(&self.tracker_script_name)),
            ("SUMIMI_REMOVE_TRAILING_SLASH", self.remove_trailing_slash.to_string()),
            ("SUMIMI_SALT_ROTATION", self.salt_rotation.clone()),
            ("SUMIMI_REPLAY_DAYS", self.replay_days.to_string()),
        ]
    }
}

/// Umami's variables and the flags they stand for.
pub const UMAMI_NAMES: [(&str, &str); 9] = [
    ("APP_SECRET", "app-secret"),
    ("BASE_PATH", "base-path"),
    ("DISABLE_BOT_CHECK", "disable-bot-check"),
    ("IGNORE_IP", "ignore-ip"),
    ("CLIENT_IP_HEADER", "client-ip-header"),
    ("COLLECT_API_ENDPOINT", "collect-api-endpoint"),
    ("TRACKER_SCRIPT_NAME", "tracker-script-name"),
    ("REMOVE_TRAILING_SLASH", "remove-trailing-slash"),
    ("SALT_ROTATION", "salt-rotation"),
];

impl Cli {
    /// Reads the process's arguments and environment.
    ///
    /// # Errors
    /// One line that names the flag and the variable; `--help` and `--version` print and exit.
    pub fn from_process() -> Result<Self, String> {
        Self::from_args(std::env::args_os(), |name| std::env::var_os(name))
    }

    /// The same from any arguments and lookup, so that tests need no environment.
    ///
    /// # Errors
    /// As [`Cli::from_process`].
    pub fn from_args(
        args: impl Iterator<Item = OsString>,
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, String> {
        let mut args: Vec<OsString> = args.collect();
        let found = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let mut command = Self::command();
        let flags: Vec<(String, Option<String>)> = command
            .get_arguments()
            .filter_map(|arg| {
                let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
                Some((arg.get_long()?.to_owned(), variable))
            })
            .collect();
        // The variables become arguments here, because the parser would take an empty one as a value.
        for (flag, variable) in flags {
            let umami = UMAMI_NAMES.iter().find(|(_, twin)| *twin == flag).map(|(name, _)| *name);
            let given = args.iter().any(|arg| {
                arg.to_str().is_some_and(|arg| {
                    arg.strip_prefix("--")
                        .is_some_and(|arg| arg == flag || arg.starts_with(&format!("{flag}=")))
                })
            });
            let mut names = variable.iter().map(String::as_str).chain(umami);
            if let (false, Some(value)) = (given, names.find_map(found)) {
                let mut arg = OsString::from(format!("--{flag}="));
                arg.push(value);
                args.insert(1.min(args.len()), arg);
            }
        }
        command = command.mut_args(|arg| arg.env(None::<&str>));
        match command.try_get_matches_from(args) {
            Ok(matches) => Self::from_arg_matches(&matches).map_err(|error| one_line(&error)),
            Err(error) if error.use_stderr() => Err(one_line(&error)),
            Err(error) => error.exit(),
        }
    }
}

/// A parser's error as one line that names flag and variable.
fn one_line(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let reason = std::error::Error::source(error).map(|reason| format!(": {reason}"));
    let Some(argument) = context(ContextKind::InvalidArg) else {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        return first.trim_start_matches("error: ").to_owned();
    };
    let flag = argument.trim_start_matches("--").split(['=', ' ', '[']).next().unwrap_or_default();
    let variable = Cli::command()
        .get_arguments()
        .find(|arg| arg.get_long() == Some(flag))
        .and_then(|arg| arg.get_env().map(|name| format!("{} ", name.to_string_lossy())))
        .unwrap_or_default();
    match context(ContextKind::InvalidValue) {
        Some(value) => format!(
            "{variable}(--{flag}): {value:?} is not a value for it{}",
            reason.unwrap_or_default()
        ),
        None => format!("{argument} is not known here; see `sumimi --help`"),
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

fn parse_bytes(text: &str) -> Result<Bytes, String> {
    let digits = text.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
    let unit = text.trim()[digits.len()..].trim().to_ascii_lowercase();
    let shift = match unit.as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return Err("write it as 512MB or 1GB".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "write it as 512MB or 1GB".to_owned())?;
    let bytes = number.checked_mul(1 << shift).ok_or("too large")?;
    if bytes < 64 << 20 {
        return Err("at least 64MB".to_owned());
    }
    Ok(Bytes(bytes))
}

fn parse_switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "" | "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("write 1 or 0".to_owned()),
    }
}

/// A path that starts with a slash and does not end with one.
fn parse_path(text: &str) -> Result<String, String> {
    let path = format!("/{}", text.trim_matches('/'));
    let safe = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
    if path.len() < 2 || !path.chars().all(safe) {
        return Err("write a path of letters, digits and / - _ . ~".to_owned());
    }
    Ok(path)
}

fn parse_base_path(text: &str) -> Result<String, String> {
    if text.trim_matches('/').is_empty() { Ok(String::new()) } else { parse_path(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str], env: &[(&str, &str)]) -> Result<Cli, String> {
        let args = ["sumimi"].iter().chain(args).map(OsString::from);
        Cli::from_args(args, |name| {
            env.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_win_over_variables_and_ours_over_umamis() {
        let env = [("SUMIMI_RATE", "5"), ("APP_SECRET", "theirs"), ("SUMIMI_GEO_DB", "")];
        let config = parse(&[], &env).expect("parses").config;
        assert_eq!(config.rate, Some(5));
        assert_eq!(config.app_secret.as_deref(), Some("theirs"));
        assert_eq!(config.geo_db, None);
        let both = [("APP_SECRET", "theirs"), ("SUMIMI_APP_SECRET", "ours")];
        let config = parse(&["serve", "--rate", "7"], &[env[0], both[0], both[1]]).expect("parses");
        assert_eq!(config.config.rate, Some(7));
        assert_eq!(config.config.app_secret.as_deref(), Some("ours"));
    }

    #[test]
    fn switches_take_a_value_or_none() {
        for (value, want) in [("1", true), ("true", true), ("0", false), ("", false)] {
            let config = parse(&[], &[("DISABLE_BOT_CHECK", value)]).expect("parses").config;
            assert_eq!(config.disable_bot_check, want, "{value}");
        }
        assert!(parse(&["--disable-bot-check"], &[]).expect("parses").config.disable_bot_check);
    }

    #[test]
    fn an_error_is_one_line_that_names_the_variable() {
        for (name, value) in [
            ("SUMIMI_LISTEN", "nowhere"),
            ("SUMIMI_MEMORY", "lots"),
            ("SUMIMI_RATE", "0"),
            ("SUMIMI_DURABILITY", "hope"),
            ("SUMIMI_SALT_ROTATION", "hour"),
        ] {
            let error = parse(&[], &[(name, value)]).expect_err("is refused");
            assert!(error.contains(name) && error.contains(value), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        assert_eq!(parse(&["--nonsense"], &[]).expect_err("is refused").lines().count(), 1);
    }

    #[test]
    fn every_setting_is_shown() {
        let shown: Vec<_> = parse(&[], &[]).expect("parses").config.effective();
        let listed: Vec<String> = Cli::command()
            .get_arguments()
            .filter_map(|arg| Some(arg.get_env()?.to_string_lossy().into_owned()))
            .collect();
        assert_eq!(shown.iter().map(|(name, _)| *name).collect::<Vec<_>>(), listed);
    }

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, want) in [("512MB", 512 << 20), ("1g", 1 << 30), ("134217728", 128 << 20)] {
            assert_eq!(parse_bytes(text), Ok(Bytes(want)), "{text}");
        }
        assert!(parse_bytes("12").is_err() && parse_bytes("x").is_err());
    }
}
