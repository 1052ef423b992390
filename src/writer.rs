//! The batch loop: peek, append and commit with the cursor, release.
