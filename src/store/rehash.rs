//! Another hash of the same password: nothing of a user changes by it, so no login ends.

use anyhow::Result;
use duckdb::params;
use uuid::Uuid;

use super::accounts::Accounts;

impl Accounts {
    /// Puts another hash of the same password in the place of `old`, unless that has been replaced meanwhile. Blocks.
    ///
    /// # Errors
    /// When the database fails.
    pub fn replace_hash(&self, id: Uuid, old: &str, new: &str) -> Result<()> {
        self.change(|connection| {
            let sql = "UPDATE main.user_account SET password_hash = ?
                       WHERE user_id = ?::UUID AND password_hash = ?";
            connection.execute(sql, params![new, id.to_string(), old])?;
            Ok(())
        })
    }
}
