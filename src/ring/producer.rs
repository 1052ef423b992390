//! Claim, fill, publish.
