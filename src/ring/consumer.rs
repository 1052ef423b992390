//! Peek, release.
