//! The events of a range, piece by piece, in memory that does not grow with their number: each piece is a question of
//! its own, with its own deadline, that begins behind the last event of the one before. Where pieces end is asked
//! first, so that one is as large as its bytes allow.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::Result;

use crate::api::long_answer::{Asker, Pieces};
use crate::api::scope::Scope;
use crate::error::ApiError;
use crate::store::question::{Question, Row, Rows};
use crate::store::sql;
use crate::websites::Website;
use crate::{limits, priority};

/// Turns rows into the bytes of a form.
pub trait Encoder: Send {
    /// Adds a row.
    fn row(&mut self, row: &Row<'_>) -> Result<()>;

    /// Says that there are no more.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }

    /// What can be sent.
    fn take(&mut self) -> Result<Vec<u8>>;
}

/// The events that are wanted, cut into pieces.
pub struct Source {
    asker: Asker,
    /// Its range begins where the next piece does.
    scope: Scope,
    website: Website,
    /// Of the events at the beginning of the range, those from here on.
    first_id: u64,
    /// Time and id of the last events of the next pieces.
    ends: VecDeque<(i64, u64)>,
}

impl Source {
    /// From the beginning of the range.
    #[must_use]
    pub fn new(asker: Asker, scope: Scope, website: Website) -> Self {
        Self { asker, scope, website, first_id: 0, ends: VecDeque::new() }
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Result<Option<Arc<Rows>>, ApiError> {
        if self.ends.is_empty() {
            let question = self.ask(sql::EXPORT_PIECES).bind("limit", limits::EXPORT_EVENTS);
            let question = question.bind("piece_bytes", limits::EXPORT_PIECE_BYTES).once();
            let ends = self.asker.rows(question).await?;
            self.ends = ends.read(|row| Ok((row.integer(0)?, row.id(1)?)))?.into();
        }
        let Some(&(end_at, last_id)) = self.ends.front() else { return Ok(None) };
        let all = std::mem::replace(&mut self.scope.range.end_at, end_at);
        let question = self.ask(sql::EXPORT).bind("last_id", last_id).once();
        self.scope.range.end_at = all;
        let rows = self.asker.rows(question).await?;
        self.ends.pop_front();
        (self.scope.range.start_at, self.first_id) = match last_id.checked_add(1) {
            Some(next) => (end_at, next),
            None => (end_at.saturating_add(1), 0),
        };
        Ok(Some(rows))
    }

    fn ask(&self, sql: &'static str) -> Question {
        self.scope.ask(sql, self.website).bind("first_id", self.first_id)
    }
}

/// An export under way.
pub struct Export {
    source: Source,
    /// `None` when the last bytes have been made.
    encoder: Option<Box<dyn Encoder>>,
}

impl Export {
    #[must_use]
    pub fn new(source: Source, encoder: Box<dyn Encoder>) -> Self {
        Self { source, encoder: Some(encoder) }
    }
}

impl Pieces for Export {
    /// Asks for rows and makes bytes of them, on a thread of those that may take their time.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        if self.encoder.is_none() {
            return Ok(None);
        }
        let rows = self.source.next().await?;
        self.source.asker.begun();
        let Some(mut encoder) = self.encoder.take() else { return Ok(None) };
        let is_last = rows.is_none();
        let work = tokio::task::spawn_blocking(move || {
            priority::step_back();
            match rows {
                Some(rows) => rows.each(|row| encoder.row(row))?,
                None => encoder.end()?,
            }
            let bytes = encoder.take()?;
            anyhow::Ok((encoder, bytes))
        });
        let (encoder, bytes) = work.await??;
        self.encoder = (!is_last).then_some(encoder);
        Ok(Some(bytes))
    }
}
