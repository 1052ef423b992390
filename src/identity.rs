//! Session and visit ids, and the token that a tracker echoes; no address outlives this file.
