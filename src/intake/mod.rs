//! The HTTP edge of the write side: `/api/send`, `/api/batch`, the configured twin of `/api/send`, and the short
//! addresses of links and pixels (`visit.rs`). Nothing here but the steps in order: gate, body, parse, accept, answer.
//! `accept` makes one event of one message.
//!
//! Each worker owns an [`Intake`]: its ring's producer and its buffers, reused for every request, so that a request
//! waits for no other worker and our own code allocates nothing between the body and the ring. The server asks
//! [`Intake::route`] before it looks for any other route: an event does not pay for the questions' table of routes.

pub mod accept;
mod answer;
mod body;
pub mod client_ip;
pub mod data;
mod fill;
pub mod gate;
pub mod pace;
pub mod payload;
pub mod receipt;
mod visit;

use std::cell::RefCell;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse};

use crate::ring::Producer;
use crate::websites::LinkKind;
use accept::{Outcome, Worker};
use answer::Answers;
use gate::{Refusal, Ticket};

pub use accept::Shared;

/// What a request to the intake carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// One message.
    Send,
    /// An array of messages; one that is wrong does not stop the others.
    Batch,
    /// Nothing: a link or pixel is asked for, and the path ends in its slug.
    Visit(LinkKind),
}

/// One worker's side of the intake.
pub struct Intake {
    shared: Arc<Shared>,
    worker: RefCell<Worker>,
    answers: RefCell<Answers>,
    base_path: String,
    /// Whole paths; of visits all but the slug.
    routes: Vec<(String, Route)>,
}

impl Intake {
    /// `producer`: this worker's ring; without one every event is refused. `base_path`: a prefix of all paths, empty or
    /// starting with a slash; `collect_path`: a further name of `/api/send`.
    #[must_use]
    pub fn new(
        shared: Arc<Shared>,
        producer: Option<Producer>,
        base_path: &str,
        collect_path: Option<&str>,
    ) -> Self {
        let paths = [("/api/send", Route::Send), ("/api/batch", Route::Batch)];
        let paths = paths.into_iter().chain(collect_path.map(|path| (path, Route::Send)));
        let paths = paths
            .chain([("/q/", Route::Visit(LinkKind::Link)), ("/p/", Route::Visit(LinkKind::Pixel))]);
        Self {
            worker: RefCell::new(Worker::new(producer)),
            answers: RefCell::default(),
            routes: paths.map(|(path, route)| (format!("{base_path}{path}"), route)).collect(),
            base_path: base_path.to_owned(),
            shared,
        }
    }

    /// The paths that are the intake's, whatever the method.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        self.routes.iter().map(|(path, route)| match route {
            Route::Visit(_) => format!("{path}{{slug}}"),
            Route::Send | Route::Batch => path.clone(),
        })
    }

    /// Whether a request is for the intake.
    #[must_use]
    pub fn route(&self, method: &Method, path: &str) -> Option<Route> {
        let is_ours = |(name, route): &&(String, Route)| match route {
            Route::Send | Route::Batch => *method == Method::POST && name == path,
            Route::Visit(_) => {
                let slug = path.strip_prefix(name.as_str()).unwrap_or_default();
                !slug.is_empty()
                    && !slug.contains('/')
                    && (*method == Method::GET || *method == Method::HEAD)
            }
        };
        self.routes.iter().find(is_ours).map(|(_, route)| *route)
    }

    /// Answers a request.
    pub async fn answer(
        &self,
        route: Route,
        request: &HttpRequest,
        payload: Payload,
    ) -> HttpResponse {
        if let Route::Visit(kind) = route {
            return self.visit(kind, request).await;
        }
        let admitted = self.admit(body::is_short(request));
        let body = match admitted {
            Ok(ticket) => {
                let body = body::read(request, payload, &self.shared.gate).await;
                body.map(|body| (body, ticket))
            }
            Err(refusal) => Err(Outcome::Refused(refusal)),
        };
        match (body, route) {
            (Err(outcome), _) => self.say(&outcome),
            (Ok((body, ticket)), Route::Send | Route::Visit(_)) => {
                let outcome = self.worker.borrow_mut().send(&self.shared, request, ticket, &body);
                let settled = self.settled(std::slice::from_ref(&outcome)).await;
                self.say(&settled.map_or_else(Outcome::Refused, |()| outcome))
            }
            (Ok((body, ticket)), Route::Batch) => {
                let sent = self.worker.borrow_mut().batch(&self.shared, request, ticket, &body);
                let outcomes = match sent {
                    Ok(outcomes) => outcomes,
                    Err(error) => return self.say(&Outcome::Error(error)),
                };
                if let Err(refusal) = self.settled(&outcomes).await {
                    return self.say(&Outcome::Refused(refusal));
                }
                for outcome in &outcomes {
                    self.count(outcome);
                }
                self.answers.borrow_mut().many(&outcomes)
            }
        }
    }

    /// What is asked before the body is read. `may_look`: whether it is cheap to know which website it is about.
    fn admit(&self, may_look: bool) -> Result<Ticket, Refusal> {
        if self.shared.telemetry.disk_low.get() == 1 {
            return Err(Refusal::Disk);
        }
        if !self.worker.borrow().has_room() {
            return Err(Refusal::RingFull);
        }
        match self.shared.gate.admit() {
            Ticket::ByWebsite if !may_look => Err(Refusal::Rate),
            ticket => Ok(ticket),
        }
    }

    /// Waits until what this request has stored may be acknowledged. The worker serves others meanwhile.
    async fn settled(&self, outcomes: &[Outcome]) -> Result<(), Refusal> {
        if !outcomes.iter().any(|outcome| matches!(outcome, Outcome::Stored(_))) {
            return Ok(());
        }
        let pending = self.worker.borrow().pending();
        match pending {
            None => Ok(()),
            Some(pending) => pending.synced().await.map_err(|_| Refusal::Disk),
        }
    }

    fn say(&self, outcome: &Outcome) -> HttpResponse {
        self.count(outcome);
        self.answers.borrow_mut().one(outcome)
    }

    /// Counts a refusal.
    fn count(&self, outcome: &Outcome) {
        let telemetry = &self.shared.telemetry;
        match outcome {
            Outcome::Refused(Refusal::Rate) => telemetry.refused_rate.add(1),
            Outcome::Refused(Refusal::RingFull) => telemetry.refused_ring.add(1),
            Outcome::Refused(Refusal::Bodies) => telemetry.refused_bodies.add(1),
            Outcome::Refused(Refusal::Disk) => telemetry.refused_disk.add(1),
            _ => {}
        }
    }
}
