//! t
pub mod client_ip;
pub mod data;
pub mod gate;
pub mod payload;
