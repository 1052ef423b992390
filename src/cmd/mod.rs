//! One file a subcommand. Only here everything meets.

pub mod config;
pub mod healthcheck;
pub mod serve;
pub mod user;
