//! What is made of the texts of an event before it is stored. Pure: text in, small values out, no I/O.

pub mod channel;
pub mod geo;
pub mod page_url;
pub mod scratch;
pub mod user_agent;
