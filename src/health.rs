//! What the process says about itself: `/api/heartbeat` (JSON, no sign-in, never refused, touches no database) and
//! `/metrics` (Prometheus). Both read the same gauges. `ok` is false, with status 503, when events are no longer
//! committed: the engine has failed, a batch hangs, or commits keep failing.
//!
//! Memory figures are the kernel's own (`VmHWM` is the peak of this process), not estimates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix_web::{HttpResponse, web};
use prometheus::{Encoder, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder};
use serde_json::{Value, json};

use crate::budget::Budget;
use crate::telemetry::Telemetry;
use crate::{clock, limits};

/// What both answers are made of.
pub struct Health {
    telemetry: Arc<Telemetry>,
    budget: Budget,
    started_at_ms: i64,
    database: PathBuf,
}

impl Health {
    #[must_use]
    pub fn new(telemetry: Arc<Telemetry>, budget: Budget, database: PathBuf) -> Self {
        Self { telemetry, budget, started_at_ms: clock::now_ms(), database }
    }

    /// Whether events are being committed.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        let busy_since = self.telemetry.writer_busy_since.get();
        let busy_ms = (clock::now_ms() as u64).saturating_sub(busy_since);
        self.telemetry.engine_dead.get() == 0
            && self.telemetry.writer_failures.get() < limits::WRITER_FAILURES_MAX
            && (busy_since == 0 || busy_ms < limits::WRITER_BUSY_MS_MAX)
    }

    /// The heartbeat's body.
    #[must_use]
    pub fn heartbeat(&self) -> Value {
        let t = &self.telemetry;
        let memory = Memory::read();
        let last_commit = t.last_commit_at.get();
        let age_s =
            (last_commit > 0).then(|| (clock::now_ms() - last_commit as i64).max(0) / 1_000);
        json!({
            "ok": self.is_ok(),
            "version": env!("CARGO_PKG_VERSION"),
            "uptime_s": (clock::now_ms() - self.started_at_ms) / 1_000,
            "memory": {
                "vm_hwm_bytes": memory.peak_bytes,
                "vm_rss_bytes": memory.resident_bytes,
                "budget_bytes": self.budget.budget_bytes,
                "limit_bytes": self.budget.memory_seen_bytes,
                "engine_bytes": t.engine_bytes.get(),
            },
            "gate": {
                "rate": self.budget.rate,
                "rate_now": t.rate.get(),
                "admitted": t.admitted.get(),
                "refused": {
                    "rate": t.refused_rate.get(),
                    "ring_full": t.refused_ring.get(),
                    "bodies": t.refused_bodies.get(),
                    "disk": t.refused_disk.get(),
                },
                "bots": t.bots.get(),
                "blocked": t.blocked.get(),
            },
            "ring": {
                "capacity_bytes": t.ring_capacity_bytes.get(),
                "used_bytes": t.ring_used_bytes.get(),
                "events_waiting": t.events_waiting.get(),
                "syncs": t.syncs.get(),
            },
            "writer": {
                "committed": t.committed.get(),
                "batches": t.batches.get(),
                "last_commit_age_s": age_s,
                "set_aside": t.set_aside.get(),
                "failures": t.writer_failures.get(),
            },
            "store": {
                "file_bytes": file_bytes(&self.database),
                "wal_bytes": file_bytes(&self.database.with_extension("duckdb.wal")),
                "disk_free_bytes": t.disk_free_bytes.get(),
                "disk_reserve_bytes": t.disk_reserve_bytes.get(),
                "disk_low": t.disk_low.get() == 1,
            },
            "last_prune": Value::Null,
            "last_backup": Value::Null,
        })
    }

    /// The same figures for Prometheus.
    ///
    /// # Errors
    /// When a name clashes, which a test rules out.
    pub fn metrics(&self) -> Result<String, prometheus::Error> {
        let t = &self.telemetry;
        let memory = Memory::read();
        let registry = Registry::new();
        let counters: [(&str, &str, &[(&str, u64)]); 5] = [
            ("sumimi_events_admitted_total", "Events put in a ring.", &[("", t.admitted.get())]),
            (
                "sumimi_requests_refused_total",
                "Requests answered 503 by the gate.",
                &[
                    ("rate", t.refused_rate.get()),
                    ("ring_full", t.refused_ring.get()),
                    ("bodies", t.refused_bodies.get()),
                    ("disk", t.refused_disk.get()),
                ],
            ),
            (
                "sumimi_events_dropped_total",
                "Events answered but not counted.",
                &[("bot", t.bots.get()), ("blocked", t.blocked.get())],
            ),
            (
                "sumimi_rows_committed_total",
                "Rows of events committed.",
                &[("", t.committed.get())],
            ),
            ("sumimi_batches_committed_total", "Transactions.", &[("", t.batches.get())]),
        ];
        for (name, help, values) in counters {
            let family = IntCounterVec::new(Opts::new(name, help), &["reason"])?;
            for (reason, value) in values {
                family.with_label_values(&[reason]).inc_by(*value);
            }
            registry.register(Box::new(family))?;
        }
        let gauges: [(&str, &str, u64); 14] = [
            ("sumimi_ok", "1 when events are being committed.", u64::from(self.is_ok())),
            ("sumimi_gate_rate", "Requests per second that are admitted.", t.rate.get()),
            ("sumimi_memory_peak_bytes", "VmHWM.", memory.peak_bytes),
            ("sumimi_memory_resident_bytes", "VmRSS.", memory.resident_bytes),
            ("sumimi_memory_budget_bytes", "The budget.", self.budget.budget_bytes),
            ("sumimi_engine_bytes", "What the engine says it uses.", t.engine_bytes.get()),
            ("sumimi_ring_capacity_bytes", "All rings.", t.ring_capacity_bytes.get()),
            ("sumimi_ring_used_bytes", "Waiting in rings.", t.ring_used_bytes.get()),
            ("sumimi_ring_events_waiting", "Events not committed yet.", t.events_waiting.get()),
            ("sumimi_events_set_aside", "Records the engine refused.", t.set_aside.get()),
            ("sumimi_writer_failures", "Commits failed in a row.", t.writer_failures.get()),
            ("sumimi_disk_free_bytes", "Free on the disk.", t.disk_free_bytes.get()),
            ("sumimi_store_file_bytes", "The database file.", file_bytes(&self.database)),
            (
                "sumimi_store_wal_bytes",
                "The database's log.",
                file_bytes(&self.database.with_extension("duckdb.wal")),
            ),
        ];
        for (name, help, value) in gauges {
            let family = IntGaugeVec::new(Opts::new(name, help), &[])?;
            family.with_label_values::<&str>(&[]).set(value as i64);
            registry.register(Box::new(family))?;
        }
        let mut text = Vec::new();
        TextEncoder::new().encode(&registry.gather(), &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// The kernel's figures for this process.
struct Memory {
    peak_bytes: u64,
    resident_bytes: u64,
}

impl Memory {
    fn read() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
            kib.unwrap_or(0) * 1024
        };
        Self { peak_bytes: field("VmHWM:"), resident_bytes: field("VmRSS:") }
    }
}

/// `/api/heartbeat` and `/metrics`.
pub fn routes(cfg: &mut web::ServiceConfig) {
    cfg.service(
        web::resource("/api/heartbeat")
            .route(web::get().to(heartbeat))
            .route(web::head().to(heartbeat)),
    )
    .service(web::resource("/metrics").route(web::get().to(metrics)));
}

async fn heartbeat(health: web::Data<Health>) -> HttpResponse {
    let body = health.heartbeat();
    let mut answer =
        if health.is_ok() { HttpResponse::Ok() } else { HttpResponse::ServiceUnavailable() };
    answer.insert_header(("cache-control", "no-store")).json(body)
}

async fn metrics(health: web::Data<Health>) -> Result<HttpResponse, crate::error::ApiError> {
    let text = health.metrics()?;
    Ok(HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Cli;

    fn health() -> Health {
        let args = std::iter::once(std::ffi::OsString::from("sumimi"));
        let config = Cli::from_args(args, |_| None).expect("parses").config;
        let budget = Budget::new(&config, 512 << 20, 2);
        Health::new(Arc::new(Telemetry::default()), budget, PathBuf::from("/nowhere"))
    }

    #[test]
    fn reports_its_own_peak_and_every_group_of_figures() {
        let beat = health().heartbeat();
        assert_eq!(beat["ok"], true);
        let peak = beat["memory"]["vm_hwm_bytes"].as_u64().expect("a number");
        assert!(peak >= beat["memory"]["vm_rss_bytes"].as_u64().expect("a number"), "{beat}");
        for group in ["gate", "ring", "writer", "store"] {
            assert!(beat[group].is_object(), "{group}");
        }
    }

    #[test]
    fn metrics_are_valid_and_complete() {
        let text = health().metrics().expect("no name clashes");
        assert!(text.contains("sumimi_requests_refused_total{reason=\"rate\"} 0"), "{text}");
        assert!(text.contains("sumimi_ok 1"), "{text}");
    }

    #[test]
    fn is_not_ok_when_the_writer_hangs_or_the_engine_is_dead() {
        let health = health();
        health.telemetry.writer_busy_since.set(1);
        assert!(!health.is_ok());
        health.telemetry.writer_busy_since.set(0);
        assert!(health.is_ok());
        health.telemetry.engine_dead.set(1);
        assert!(!health.is_ok());
    }
}
