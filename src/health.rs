//! Heartbeat and metrics.
