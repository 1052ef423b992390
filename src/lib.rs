//! Sumimi: web analytics in one binary. The modules in the order of the flow:
//!
//! write side: `intake` (gate, payload) → `identity` + `enrich` → `event` → `ring` → `writer` → `store`
//! read side:  `api` → `auth` → `store::reader` → JSON
//!
//! The two sides meet only in `store`. `ARCHITECTURE.md` walks one event and one question through them.

pub mod api;
pub mod auth;
pub mod budget;
pub mod clock;
pub mod cmd;
pub mod config;
mod disk;
pub mod enrich;
pub mod error;
pub mod event;
pub mod health;
pub mod identity;
pub mod intake;
pub mod limits;
mod mapped;
mod priority;
pub mod ring;
pub mod server;
mod set_aside;
pub mod store;
pub mod telemetry;
pub mod tracker;
pub mod websites;
pub mod writer;
