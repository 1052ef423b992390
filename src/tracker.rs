//! The tracker script, compressed once, served from memory.
