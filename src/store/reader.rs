//! Fixed connections that answer questions. A question waits (not long, and only so many of them) for one of
//! `limits::READERS` connections, runs on a blocking thread, and is interrupted when its deadline is over or when
//! nobody waits for the answer any more. What is known or being asked by somebody else is not asked (`answers`).
//!
//! What must stay true: a connection comes back whatever happens to its question; an interrupt can only hit the
//! question it was meant for, because the connection is given back by the one who interrupts; the answer is whole
//! in memory before it is sent, so a slow client holds no transaction. Statements are not cached: the engine binds
//! them anew for the values anyway, and a cached one would keep its last result.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use duckdb::{Connection, InterruptHandle};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::Store;
use super::answers::{Answers, Flight, Way};
use super::horizons::Horizons;
use super::question::{Question, Read};
use super::rows::Rows;
use crate::{limits, priority};

/// Why a question has no answer.
#[derive(Clone, Debug)]
pub enum StoreError {
    /// Too many questions at once: it was never begun.
    Busy,
    /// It ran too long and was stopped.
    Timeout,
    /// It needs more memory than questions may use.
    Memory,
    /// The engine refused or failed.
    Engine(Arc<anyhow::Error>),
}

impl StoreError {
    /// What the engine says, by its own name for the kind of error.
    fn of_engine(error: anyhow::Error) -> Self {
        if error.to_string().contains("Out of Memory Error") {
            return Self::Memory;
        }
        Self::Engine(Arc::new(error))
    }
}

/// The connections and who waits for them. Cheap to clone.
#[derive(Clone)]
pub struct Readers(Arc<Shared>);

struct Shared {
    /// Connections that nobody uses; there are as many as there are free permits.
    idle: Mutex<Vec<Arc<Reader>>>,
    permits: Arc<Semaphore>,
    /// Questions waiting for a permit.
    waiting: AtomicUsize,
    answers: Arc<Answers>,
    horizons: Horizons,
    /// Places for answers of many questions.
    exports: Arc<Semaphore>,
    question_max: Duration,
}

struct Reader {
    /// Locked by the thread that runs the question, and by no one else.
    connection: Mutex<Connection>,
    interrupt: Arc<InterruptHandle>,
}

/// A connection in use; it goes back when this is dropped, before the permit does.
struct Seat {
    reader: Arc<Reader>,
    shared: Arc<Shared>,
    /// Whether the engine may still be at work.
    running: bool,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.running {
            // The runtime is going down, and it would wait for the thread.
            self.reader.interrupt.interrupt();
        }
        let mut idle = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(Arc::clone(&self.reader));
    }
}

impl Readers {
    /// Opens the connections.
    ///
    /// # Errors
    /// When the engine is dead.
    pub fn new(store: &Store) -> Result<Self> {
        Self::with_deadline(store, Duration::from_millis(limits::QUESTION_MS_MAX))
    }

    /// How far lists reach that are read page by page.
    #[must_use]
    pub fn horizons(&self) -> &Horizons {
        &self.0.horizons
    }

    /// As [`Readers::new`], with another longest duration of a question.
    ///
    /// # Errors
    /// When the engine is dead.
    pub fn with_deadline(store: &Store, question_max: Duration) -> Result<Self> {
        let mut idle = Vec::with_capacity(limits::READERS);
        for _ in 0..limits::READERS {
            let connection = store.connect()?;
            let interrupt = connection.interrupt_handle();
            idle.push(Arc::new(Reader { connection: Mutex::new(connection), interrupt }));
        }
        Ok(Self(Arc::new(Shared {
            idle: Mutex::new(idle),
            permits: Arc::new(Semaphore::new(limits::READERS)),
            waiting: AtomicUsize::new(0),
            horizons: Horizons::default(),
            answers: Answers::new(Arc::clone(&store.versions)),
            exports: Arc::new(Semaphore::new(limits::EXPORTS_MAX)),
            question_max,
        })))
    }

    /// Asks, and reads every row of the answer. The question is stopped when all who asked it have dropped this.
    ///
    /// # Errors
    /// [`StoreError`]: busy, too slow, or refused by the engine.
    pub async fn ask<T>(&self, question: Question, read: Read<T>) -> Result<Vec<T>, StoreError> {
        self.rows(question).await?.read(read).map_err(StoreError::of_engine)
    }

    /// As [`Readers::ask`], the rows as they are.
    ///
    /// # Errors
    /// As [`Readers::ask`].
    pub async fn rows(&self, question: Question) -> Result<Arc<Rows>, StoreError> {
        match self.0.answers.way(&question) {
            Way::Known(rows) => Ok(rows),
            Way::Wait(waiter) => waiter.outcome().await,
            Way::Ask(flight, waiter) => {
                tokio::spawn(Arc::clone(&self.0).fly(question, flight));
                waiter.outcome().await
            }
        }
    }

    /// A place for an answer of many questions.
    ///
    /// # Errors
    /// Busy when all places are taken.
    pub fn export(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        Arc::clone(&self.0.exports).try_acquire_owned().map_err(|_| StoreError::Busy)
    }

    /// Asks a question that has exactly one row.
    ///
    /// # Errors
    /// As [`Readers::ask`].
    pub async fn ask_one<T>(&self, question: Question, read: Read<T>) -> Result<T, StoreError> {
        let row = self.ask(question, read).await?.pop();
        row.ok_or_else(|| StoreError::of_engine(anyhow::anyhow!("an answer without its row")))
    }
}

impl Shared {
    /// Brings a question from its beginning to its end.
    async fn fly(self: Arc<Self>, question: Question, mut flight: Flight) {
        let seat = tokio::select! {
            seat = self.seat() => seat,
            () = flight.abandoned() => return,
        };
        match seat {
            Ok(seat) => {
                let reader = Arc::clone(&seat.reader);
                let work = tokio::task::spawn_blocking(move || run(&reader, &question));
                attend(seat, work, flight).await;
            }
            Err(error) => flight.land(Err(error)),
        }
    }

    async fn seat(self: &Arc<Self>) -> Result<Seat, StoreError> {
        let permits = Arc::clone(&self.permits);
        let permit = if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            permit
        } else {
            let _waiting = Waiting::enter(&self.waiting)?;
            let wait_max = Duration::from_millis(limits::QUESTION_WAIT_MS_MAX);
            let permit = timeout(wait_max, permits.acquire_owned()).await;
            permit.map_err(|_| StoreError::Busy)?.map_err(|_| StoreError::Busy)?
        };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = idle.pop().ok_or(StoreError::Busy)?;
        Ok(Seat { reader, shared: Arc::clone(self), running: true, _permit: permit })
    }
}

/// A place in the queue, left when dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize) -> Result<Self, StoreError> {
        let place = Self(count);
        let before = count.fetch_add(1, Ordering::Relaxed);
        if before < limits::QUESTIONS_WAITING_MAX { Ok(place) } else { Err(StoreError::Busy) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for the work to end, and ends it when it must. Holds the seat until the thread is done with it.
async fn attend(mut seat: Seat, mut work: JoinHandle<Result<Rows>>, mut flight: Flight) {
    let in_time = tokio::select! {
        done = &mut work => Some(done),
        () = sleep(seat.shared.question_max) => None,
        () = flight.abandoned() => None,
    };
    let outcome = match in_time {
        Some(Ok(Ok(rows))) => Ok(Arc::new(rows)),
        Some(Ok(Err(error))) => Err(StoreError::of_engine(error)),
        Some(Err(panic)) => Err(StoreError::of_engine(panic.into())),
        None => {
            stop(&seat, work).await;
            Err(StoreError::Timeout)
        }
    };
    seat.running = false;
    drop(seat);
    // Nobody may be there any more; that is the usual reason for stopping.
    flight.land(outcome);
}

/// Interrupts until the thread is done: an interrupt that comes before the engine has begun is forgotten by it.
async fn stop<T>(seat: &Seat, mut work: JoinHandle<T>) {
    let pause = Duration::from_millis(limits::INTERRUPT_INTERVAL_MS);
    loop {
        seat.reader.interrupt.interrupt();
        if timeout(pause, &mut work).await.is_ok() {
            return;
        }
    }
}

fn run(reader: &Reader, question: &Question) -> Result<Rows> {
    priority::step_back();
    let connection = reader.connection.lock().unwrap_or_else(PoisonError::into_inner);
    question.run(&connection)
}
