//! The one integration binary: routes through the real application, real processes, recorded answers.

#![allow(
    clippy::disallowed_methods,
    reason = "tests start processes, wait and read their switches"
)]

mod browser;
mod chromium;
mod http;
mod process;
mod recorder;
mod tracker;
mod umami_clients;
