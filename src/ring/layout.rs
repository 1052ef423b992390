//! The bytes of a ring file.
