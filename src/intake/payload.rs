//! The body of /api/send and /api/batch, parsed in place into borrowed fields.
