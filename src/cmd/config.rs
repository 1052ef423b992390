//! `sumimi config`: the effective settings, each with its variable, and the memory budget. Secrets are not shown.

use std::path::Path;

use crate::budget::{self, Budget};
use crate::config::Config;

/// Prints to standard output.
pub fn run(config: &Config) {
    for (variable, value) in config.effective() {
        println!("{variable:<32} {value}");
    }
    let memory_seen_bytes = budget::memory_seen_bytes(Path::new("/"));
    println!("\n{}", Budget::new(config, memory_seen_bytes, budget::cpus()));
}
