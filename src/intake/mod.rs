//! The HTTP edge of the write side.

pub mod client_ip;
pub mod gate;
pub mod payload;
