//! Durable bytes between the intake and the writer; knows nothing of events, HTTP or SQL.
