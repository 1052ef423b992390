//! Fixed connections that answer questions, with permit and deadline.
