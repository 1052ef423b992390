//! Long answers: the events of a range, piece by piece, in memory that does not grow with their number.
//!
//! What must stay true: no connection of the readers is held while the client reads; each piece is a question of its
//! own, with its own deadline, that begins behind the last event of the one before; where pieces end is asked first, so
//! that one is as large as its bytes allow. A client that takes nothing for
//! `limits::EXPORT_STALL_MS_MAX`, or is not done after `limits::EXPORT_MS_MAX`, loses its place among the
//! `limits::EXPORTS_MAX`; one that goes away stops the question. An answer that ends before its time ends with an error
//! of the transfer, so that nobody takes a part for the whole.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
use actix_web::web::Bytes;
use anyhow::{Result, bail};
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};

use crate::api::scope::Scope;
use crate::error::ApiError;
use crate::store::question::{Question, Row, Rows};
use crate::store::reader::{Readers, StoreError};
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
    readers: Readers,
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
    pub fn new(readers: Readers, scope: Scope, website: Website) -> Self {
        Self { readers, scope, website, first_id: 0, ends: VecDeque::new() }
    }

    /// The next piece; `None` at the end. What has failed can be asked again.
    async fn next(&mut self) -> Result<Option<Arc<Rows>>, StoreError> {
        if self.ends.is_empty() {
            let question = self.ask(sql::EXPORT_PIECES).bind("limit", limits::EXPORT_EVENTS);
            let question = question.bind("piece_bytes", limits::EXPORT_PIECE_BYTES).once();
            let ends = self.readers.ask(question, |row| Ok((row.integer(0)?, row.id(1)?))).await?;
            self.ends = ends.into();
        }
        let Some(&(end_at, last_id)) = self.ends.front() else { return Ok(None) };
        let all = std::mem::replace(&mut self.scope.range.end_at, end_at);
        let question = self.ask(sql::EXPORT).bind("last_id", last_id).once();
        self.scope.range.end_at = all;
        let rows = self.readers.rows(question).await?;
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
    encoder: Box<dyn Encoder>,
    permit: OwnedSemaphorePermit,
    /// Bytes to be sent, and whether they are the last.
    ready: (Vec<u8>, bool),
}

impl Export {
    /// Asks for the first piece, so that what cannot be answered is said with a status.
    ///
    /// # Errors
    /// 503 when too many exports or questions are under way.
    pub async fn begin(source: Source, encoder: Box<dyn Encoder>) -> Result<Self, ApiError> {
        let permit = source.readers.export()?;
        let mut export = Self { source, encoder, permit, ready: (Vec::new(), false) };
        let rows = export.source.next().await?;
        export.encode(rows).await?;
        Ok(export)
    }

    /// The bytes, as they are asked for.
    pub fn stream(self) -> impl Stream<Item = io::Result<Bytes>> {
        let (sender, receiver) = channel(1);
        rt::spawn(self.send(sender));
        unfold(Some(receiver), |receiver| async {
            let mut receiver: Receiver<Part> = receiver?;
            match receiver.recv().await {
                Some(Part::Bytes(bytes)) => Some((Ok(bytes), Some(receiver))),
                Some(Part::End) => None,
                None => {
                    let error = io::Error::other("an export has ended before its end");
                    Some((Err(error), None))
                }
            }
        })
    }

    async fn send(mut self, sender: Sender<Part>) {
        let longest = Duration::from_millis(limits::EXPORT_MS_MAX);
        let website = self.source.website.id;
        match timeout(longest, self.send_all(&sender)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("export of {website} given up: {error:#}"),
            Err(_) => tracing::warn!("export of {website} given up: it takes too long"),
        }
        drop(self.permit);
    }

    async fn send_all(&mut self, sender: &Sender<Part>) -> Result<()> {
        let stall = Duration::from_millis(limits::EXPORT_STALL_MS_MAX);
        loop {
            let (bytes, is_last) = std::mem::take(&mut self.ready);
            // Copied, so that what a stalled client leaves behind is one small part and not the piece.
            for part in bytes.chunks(limits::EXPORT_PART_BYTES) {
                hand_over(sender, Part::Bytes(Bytes::copy_from_slice(part)), stall).await?;
            }
            drop(bytes);
            if is_last {
                return hand_over(sender, Part::End, stall).await;
            }
            let rows = tokio::select! {
                rows = self.patient_next() => rows,
                () = sender.closed() => bail!("the client has gone"),
            };
            let rows = rows.map_err(|error| anyhow::anyhow!("{error:?}"))?;
            self.encode(rows).await?;
        }
    }

    /// The next piece; a busy store is asked again a few times.
    async fn patient_next(&mut self) -> Result<Option<Arc<Rows>>, StoreError> {
        for _ in 1..limits::EXPORT_TRIES_MAX {
            match self.source.next().await {
                Err(StoreError::Busy) => sleep(Duration::from_secs(1)).await,
                outcome => return outcome,
            }
        }
        self.source.next().await
    }

    /// Makes bytes of a piece, or of the end, on a thread of those that may take their time.
    async fn encode(&mut self, rows: Option<Arc<Rows>>) -> Result<()> {
        let mut encoder = std::mem::replace(&mut self.encoder, Box::new(Nobody));
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
        self.encoder = encoder;
        self.ready = (bytes, is_last);
        Ok(())
    }
}

enum Part {
    Bytes(Bytes),
    /// Without it, what came was not all.
    End,
}

async fn hand_over(sender: &Sender<Part>, part: Part, stall: Duration) -> Result<()> {
    match timeout(stall, sender.send(part)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => bail!("the client has gone"),
        Err(_) => bail!("the client takes nothing"),
    }
}

/// In the place of an encoder that is at work.
struct Nobody;

impl Encoder for Nobody {
    fn row(&mut self, _: &Row<'_>) -> Result<()> {
        bail!("this encoder has been lost")
    }

    fn take(&mut self) -> Result<Vec<u8>> {
        bail!("this encoder has been lost")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_web::test]
    async fn a_client_that_takes_nothing_or_has_gone_is_given_up() {
        let (sender, receiver) = channel(1);
        let stall = Duration::from_millis(20);
        assert!(hand_over(&sender, Part::End, stall).await.is_ok());
        let stalled = hand_over(&sender, Part::End, stall).await;
        assert!(stalled.is_err_and(|error| error.to_string().contains("takes nothing")));
        drop(receiver);
        let gone = hand_over(&sender, Part::End, stall).await;
        assert!(gone.is_err_and(|error| error.to_string().contains("gone")));
    }
}
