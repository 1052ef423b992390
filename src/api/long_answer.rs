//! Answers that are longer than memory: made and sent piece by piece, at the pace of the client.
//!
//! What must stay true: nothing of the store is held while the client reads, since a piece is whole before any of it is
//! sent. A client that takes nothing for `limits::EXPORT_STALL_MS_MAX`, or is not done after `limits::EXPORT_MS_MAX`,
//! loses its place among the `limits::EXPORTS_MAX`; one that goes away stops the question. An answer that ends before
//! its time ends with an error of the transfer, so that nobody takes a part for the whole.

use std::future::Future;
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

use crate::error::ApiError;
use crate::limits;
use crate::store::question::{Question, Rows};
use crate::store::reader::{Readers, StoreError};

/// What makes the pieces.
pub trait Pieces: 'static {
    /// The next piece; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Vec<u8>>, ApiError>>;
}

/// Who asks for pieces: the first time a busy store is the client's to know, later it is asked again.
pub struct Asker {
    readers: Readers,
    tries: u32,
}

impl Asker {
    #[must_use]
    pub fn new(readers: &Readers) -> Self {
        Self { readers: readers.clone(), tries: 1 }
    }

    /// Says that the answer has begun.
    pub fn begun(&mut self) {
        self.tries = limits::EXPORT_TRIES_MAX;
    }

    /// As [`Readers::rows`].
    ///
    /// # Errors
    /// As [`Readers::rows`].
    pub async fn rows(&self, question: Question) -> Result<Arc<Rows>, StoreError> {
        for _ in 1..self.tries {
            match self.readers.rows(question.clone()).await {
                Err(StoreError::Busy) => sleep(Duration::from_secs(1)).await,
                outcome => return outcome,
            }
        }
        self.readers.rows(question).await
    }
}

/// An answer under way.
pub struct LongAnswer<P> {
    pieces: P,
    first: Option<Vec<u8>>,
    permit: OwnedSemaphorePermit,
}

impl<P: Pieces> LongAnswer<P> {
    /// Makes the first piece, so that what cannot be answered is said with a status.
    ///
    /// # Errors
    /// 503 when too many of them or too many questions are under way.
    pub async fn begin(readers: &Readers, mut pieces: P) -> Result<Self, ApiError> {
        let permit = readers.export()?;
        let first = pieces.next().await?;
        Ok(Self { pieces, first, permit })
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
                    let error = io::Error::other("an answer has ended before its end");
                    Some((Err(error), None))
                }
            }
        })
    }

    async fn send(mut self, sender: Sender<Part>) {
        let longest = Duration::from_millis(limits::EXPORT_MS_MAX);
        match timeout(longest, self.send_all(&sender)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("a long answer is given up: {error:#}"),
            Err(_) => tracing::warn!("a long answer is given up: it takes too long"),
        }
        drop(self.permit);
    }

    async fn send_all(&mut self, sender: &Sender<Part>) -> Result<()> {
        let stall = Duration::from_millis(limits::EXPORT_STALL_MS_MAX);
        let mut piece = self.first.take();
        while let Some(bytes) = piece {
            // Copied, so that what a stalled client leaves behind is one small part and not the piece.
            for part in bytes.chunks(limits::EXPORT_PART_BYTES) {
                hand_over(sender, Part::Bytes(Bytes::copy_from_slice(part)), stall).await?;
            }
            drop(bytes);
            piece = tokio::select! {
                next = self.pieces.next() => next.map_err(|error| anyhow::anyhow!("{error:?}"))?,
                () = sender.closed() => bail!("the client has gone"),
            };
        }
        hand_over(sender, Part::End, stall).await
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
