//! The one integration binary: routes through the real application, real processes, recorded answers.

#![allow(
    clippy::disallowed_methods,
    reason = "tests start processes, wait and read their switches"
)]

mod allocation;
mod allocator;
mod api;
mod api_keys;
mod app;
mod auth;
mod bad_input;
mod bench;
mod boards;
mod browser;
mod chromium;
mod disk_full;
mod faults;
mod http;
mod kill;
mod kill_moments;
mod links;
mod openapi;
mod overload;
mod process;
mod recorder;
mod replays;
mod rights;
mod ring_model;
mod settings;
mod shares;
mod teams;
mod tidy;
mod tracker;
mod umami_clients;
mod umami_replay;
mod users;
mod visits;
mod websites;
