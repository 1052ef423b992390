//! One file a subcommand.

pub mod user;
