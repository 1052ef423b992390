//! Every SQL file, and the one place where filters go in.
