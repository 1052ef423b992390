//! Forgetting a visitor: every row of one session goes, in all event tables, together or not at all.

use anyhow::Result;
use duckdb::params;

use super::Store;

/// Takes the rows of one session out of the event tables.
const FORGET: [&str; 5] = [
    "DELETE FROM facts.event WHERE website_key = ? AND session_id = ?",
    "DELETE FROM facts.event_data WHERE website_key = ? AND session_id = ?",
    "DELETE FROM facts.session_data WHERE website_key = ? AND session_id = ?",
    "DELETE FROM facts.revenue WHERE website_key = ? AND session_id = ?",
    "DELETE FROM facts.replay_chunk WHERE website_key = ? AND session_id = ?",
];

impl Store {
    /// Deletes all that is known of a session; false when nothing is. Events of it that are still on their way are
    /// stored when they arrive. Blocks.
    ///
    /// # Errors
    /// When the database fails.
    pub fn delete_session(&self, website_key: u32, session_id: u64) -> Result<bool> {
        self.with_admin(|connection| {
            let transaction = connection.transaction()?;
            let mut rows = 0;
            for sql in FORGET {
                rows += transaction.execute(sql, params![website_key, session_id])?;
            }
            let outcome = transaction.commit();
            // Also when it failed: it cannot be known whether it was before or after the change.
            self.versions.raise(website_key);
            outcome?;
            Ok(rows > 0)
        })
    }
}
