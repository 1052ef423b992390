//! The README's table of settings is the command line's own list: variable, default and Umami's name of each, in order.

use std::path::Path;

use clap::CommandFactory;
use sumimi::config::{Cli, UMAMI_NAMES};

#[test]
fn the_readme_lists_the_settings_as_they_are() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).expect("README.md");
    let table = readme.split("<!-- settings -->").nth(1).expect("README.md marks its settings");
    let listed: Vec<Vec<String>> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells = line.trim_matches('|').split('|').take(3);
            cells.map(|cell| cell.trim().replace('`', "")).collect()
        })
        .collect();
    let real: Vec<Vec<String>> = Cli::command()
        .get_arguments()
        .filter_map(|argument| {
            let variable = argument.get_env()?.to_string_lossy().into_owned();
            let default = argument.get_default_values().first();
            let default = default.map(|value| value.to_string_lossy().into_owned());
            let flag = argument.get_long().unwrap_or_default();
            let umami = UMAMI_NAMES.iter().find(|(_, own)| *own == flag).map(|(name, _)| *name);
            Some(vec![variable, default.unwrap_or_default(), umami.unwrap_or_default().to_owned()])
        })
        .collect();
    assert!(real.len() > 10, "the settings are read from the command line's definition");
    assert_eq!(listed, real, "README.md, between the marks of its settings");
}
