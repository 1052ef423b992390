//! Teaches the gate what the machine can do. When the rings fill, the writer cannot keep up: the admitted rate falls
//! to what it commits and a little below, so that the rings drain; when they have drained it rises again. So the answer
//! under overload is an early 503 for some and not a full ring for all. It also says once when an overload begins, and
//! once when it is over.
//!
//! Invariants: the rate is never above the budget's and never below a thousandth of it; nothing here runs in a request.

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use crate::ring::Gauge;
use crate::telemetry::Telemetry;
use crate::{clock, limits};

/// Rings that are fuller than this make the rate fall; emptier than that let it rise.
const FULL: f64 = 0.5;
const DRAINED: f64 = 0.25;
/// Commits come in bursts of a row group: the writer's speed is averaged over about so long.
const AVERAGE_S: f64 = 2.0;
/// A rate that may rise doubles in so long.
const DOUBLED_S: f64 = 0.5;
/// The lowest rate, as a part of the budget's: the gate never closes.
const LOWEST: f64 = 0.001;
/// An overload is over when nothing was refused for so long.
const CALM_MS: u64 = 5_000;

/// The admitted rate.
pub struct Pace {
    /// In requests per second.
    budget: f64,
    rate: f64,
    committed_per_s: f64,
    committed: u64,
}

impl Pace {
    /// `budget`: the highest rate, in requests per second.
    #[must_use]
    pub fn new(budget: u64) -> Self {
        let budget = budget.max(1) as f64;
        Self { budget, rate: budget, committed_per_s: 0.0, committed: 0 }
    }

    /// The rate from now on, in requests per second. `elapsed`: since the last call; `fill`: the used part of the
    /// fullest ring, 0 to 1; `committed`: events committed so far.
    pub fn step(&mut self, elapsed: Duration, fill: f64, committed: u64) -> u64 {
        let elapsed_s = elapsed.as_secs_f64().max(0.001);
        let latest_per_s = committed.saturating_sub(self.committed) as f64 / elapsed_s;
        self.committed = committed;
        let weight = (elapsed_s / AVERAGE_S).min(1.0);
        self.committed_per_s += (latest_per_s - self.committed_per_s) * weight;
        if fill > FULL {
            // At half full as fast as the writer; the fuller, the slower.
            self.rate = self.rate.min(self.committed_per_s * (1.0 + FULL - fill));
        } else if fill < DRAINED {
            self.rate *= (elapsed_s / DOUBLED_S).min(10.0).exp2();
        }
        self.rate = self.rate.clamp((self.budget * LOWEST).max(1.0), self.budget);
        self.rate as u64
    }
}

/// Whether requests are being refused, and since when.
#[derive(Default)]
pub struct Overload {
    began: Option<(u64, u64)>,
    refused: u64,
    refused_at_ms: u64,
}

/// What is worth a line in the log.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    Began,
    Ended { seconds: u64, refused: u64 },
}

impl Overload {
    /// `refused`: requests refused so far.
    pub fn step(&mut self, now_ms: u64, refused: u64) -> Option<Change> {
        let before = self.refused;
        self.refused = refused;
        if refused > before {
            self.refused_at_ms = now_ms;
            if self.began.is_none() {
                self.began = Some((now_ms, before));
                return Some(Change::Began);
            }
        }
        let (began_ms, before) = self.began?;
        if now_ms.saturating_sub(self.refused_at_ms) < CALM_MS {
            return None;
        }
        self.began = None;
        let seconds = self.refused_at_ms.saturating_sub(began_ms).div_ceil(1_000);
        Some(Change::Ended { seconds, refused: refused - before })
    }
}

/// Looks at the rings ten times a second, for ever.
pub async fn keep(shared: Arc<Shared>, rings: Vec<Gauge>, budget_rate: u64) {
    let telemetry = Arc::clone(&shared.telemetry);
    let (mut pace, mut overload) = (Pace::new(budget_rate), Overload::default());
    let mut last = clock::instant();
    let started = last;
    loop {
        tokio::time::sleep(Duration::from_millis(limits::PACE_MS)).await;
        let now = clock::instant();
        let fill = rings.iter().map(Gauge::fill).fold(0.0, f64::max);
        let rate = pace.step(now - last, fill, telemetry.committed.get());
        last = now;
        shared.gate.set_rate(rate);
        telemetry.rate.set(rate);
        let change = overload.step((now - started).as_millis() as u64, refused(&telemetry));
        match change {
            None => {}
            Some(Change::Began) => tracing::warn!(
                "overload: requests are refused (503); {rate} requests/s are admitted, {:.0} % of the rings are used",
                fill * 100.0
            ),
            Some(Change::Ended { seconds, refused }) => {
                tracing::warn!("overload over: {refused} requests were refused within {seconds} s");
            }
        }
    }
}

/// Those of the disk have a line of their own.
fn refused(telemetry: &Telemetry) -> u64 {
    telemetry.refused_rate.get() + telemetry.refused_ring.get() + telemetry.refused_bodies.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(limits::PACE_MS);

    /// A writer of `speed` events a second, in commits of a second, behind a ring for 100,000 events; returns the rate
    /// and the fill after each step. As much is offered as is admitted.
    fn play(pace: &mut Pace, steps: usize, waiting: &mut f64, speed: f64) -> Vec<(u64, f64)> {
        let mut committed = pace.committed as f64;
        let mut rate = pace.rate;
        (1..=steps)
            .map(|step| {
                *waiting = (*waiting + rate * 0.1).min(100_000.0);
                if step % 10 == 0 {
                    let batch = waiting.min(speed);
                    *waiting -= batch;
                    committed += batch;
                }
                let fill = *waiting / 100_000.0;
                rate = pace.step(STEP, fill, committed as u64) as f64;
                (rate as u64, fill)
            })
            .collect()
    }

    #[test]
    fn a_writer_that_keeps_up_is_given_the_whole_rate() {
        let mut pace = Pace::new(20_000);
        let played = play(&mut pace, 300, &mut 0.0, 40_000.0);
        assert!(played.iter().all(|(rate, _)| *rate == 20_000), "{played:?}");
    }

    #[test]
    fn the_rate_falls_to_what_the_writer_commits_before_the_ring_is_full() {
        let mut pace = Pace::new(20_000);
        let played = play(&mut pace, 1_200, &mut 0.0, 8_000.0);
        assert!(played.iter().all(|(_, fill)| *fill < 0.95), "never full");
        let late = &played[600..];
        let mean = late.iter().map(|(rate, _)| *rate as f64).sum::<f64>() / late.len() as f64;
        assert!((6_500.0..=8_500.0).contains(&mean), "{mean}");
    }

    #[test]
    fn it_rises_again_when_the_writer_is_fast_again() {
        let mut pace = Pace::new(20_000);
        let mut waiting = 0.0;
        play(&mut pace, 600, &mut waiting, 2_000.0);
        let played = play(&mut pace, 300, &mut waiting, 40_000.0);
        assert_eq!(played.last().map(|(rate, _)| *rate), Some(20_000));
    }

    #[test]
    fn a_writer_that_stands_still_leaves_a_trickle() {
        let mut pace = Pace::new(20_000);
        for _ in 0..200 {
            pace.step(STEP, 0.9, 0);
        }
        assert_eq!(pace.step(STEP, 1.0, 0), 20);
        assert_eq!(Pace::new(1).step(STEP, 1.0, 0), 1);
    }

    #[test]
    fn an_overload_is_told_when_it_begins_and_when_it_is_over() {
        let mut overload = Overload::default();
        assert_eq!(overload.step(0, 0), None);
        assert_eq!(overload.step(100, 7), Some(Change::Began));
        assert_eq!(overload.step(200, 50), None);
        assert_eq!(overload.step(4_000, 50), None, "a pause");
        assert_eq!(overload.step(4_100, 60), None, "is no end");
        assert_eq!(overload.step(9_099, 60), None);
        assert_eq!(overload.step(9_100, 60), Some(Change::Ended { seconds: 4, refused: 60 }));
        assert_eq!(overload.step(99_000, 60), None);
        assert_eq!(overload.step(99_100, 61), Some(Change::Began), "the next one");
    }
}
