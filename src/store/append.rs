//! Puts one batch of events into the fact tables, together with how far each ring has come, in one transaction.
//! That is the whole of "exactly once": rows and cursor are committed together or not at all, so after any crash
//! the ring hands out what lies above the cursor and nothing else.

use std::sync::Arc;

use anyhow::{Context, Result};
use duckdb::{Connection, params};

use super::Store;
use super::columns::{Table, Type};
use super::versions::{Touched, Versions};
use crate::event::{DataItems, DataValue, Event, EventKind, TEXTS};

/// How far a ring has been committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The ring's random id.
    pub ring_id: u64,
    /// The small number that makes its event ids unique.
    pub ring_number: u32,
    pub committed_sequence: u64,
}

impl Cursor {
    /// The id of the event with this sequence: unique in the store, without a central counter.
    #[must_use]
    pub fn event_id(&self, sequence: u64) -> u64 {
        u64::from(self.ring_number) << 40 | (sequence & ((1 << 40) - 1))
    }

    /// Whether the event is of this ring and not committed.
    #[must_use]
    pub fn is_before(&self, event_id: u64) -> bool {
        event_id >> 40 == u64::from(self.ring_number)
            && event_id > self.event_id(self.committed_sequence)
    }
}

/// The one connection that appends.
pub struct Append {
    connection: Connection,
    events: Table,
    event_data: Table,
    session_data: Table,
    revenue: Table,
    versions: Arc<Versions>,
    /// Websites of the batch.
    touched: Touched,
}

impl Append {
    /// # Errors
    /// When the engine is dead.
    pub fn new(store: &Store) -> Result<Self> {
        use Type::{Bool, Decimal, F64, I64, Text, U8, U32, U64};
        let connection = store.connect()?;
        let mut event = vec![U32, U64, U64, U64, I64, U8];
        event.extend([Text; TEXTS]);
        event.extend([F64, F64, F64, F64, F64, Bool]);
        let event_data = [U32, U64, U64, I64, Text, Text, Text, U8, Text, Decimal, I64];
        let session_data = [U32, U64, U64, I64, Text, Text, U8, Text, Decimal, I64];
        Ok(Self {
            connection,
            events: Table::new("event", &event),
            event_data: Table::new("event_data", &event_data),
            session_data: Table::new("session_data", &session_data),
            revenue: Table::new("revenue", &[U32, U64, U64, I64, Text, Text, Decimal]),
            versions: Arc::clone(&store.versions),
            touched: Touched::default(),
        })
    }

    /// The cursor of a ring; a ring that was never seen gets the next number and starts at 0.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn cursor(&mut self, ring_id: u64) -> Result<Cursor> {
        let known = self.connection.query_row(
            "SELECT ring_number, committed_sequence FROM facts.ring_cursor WHERE ring_id = ?",
            params![ring_id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        );
        let (ring_number, committed_sequence) = match known {
            Ok(found) => found,
            Err(duckdb::Error::QueryReturnedNoRows) => {
                let number: u32 = self.connection.query_row(
                    "INSERT INTO facts.ring_cursor
                     SELECT ?, 1 + coalesce(max(ring_number), 0), 0 FROM facts.ring_cursor
                     RETURNING ring_number",
                    params![ring_id],
                    |row| row.get(0),
                )?;
                (number, 0)
            }
            Err(error) => return Err(error).context("cannot read the ring cursors"),
        };
        Ok(Cursor { ring_id, ring_number, committed_sequence })
    }

    /// Appends `events` (with their ids) and moves the cursors, in one transaction. Returns the rows of events.
    /// `may_commit` has the last word when all events have been taken.
    ///
    /// # Errors
    /// When the engine or `may_commit` refuses; then nothing of the batch is stored.
    pub fn commit<'e>(
        &mut self,
        events: impl Iterator<Item = (u64, Event<'e>)>,
        cursors: &[Cursor],
        may_commit: impl FnOnce() -> Result<()>,
    ) -> Result<u64> {
        self.connection.execute_batch("BEGIN")?;
        let outcome = self.append(events).and_then(|rows| {
            may_commit()?;
            for cursor in cursors {
                self.connection.execute(
                    "UPDATE facts.ring_cursor SET committed_sequence = ? WHERE ring_id = ?",
                    params![cursor.committed_sequence, cursor.ring_id],
                )?;
            }
            self.connection.execute_batch("COMMIT")?;
            Ok(rows)
        });
        // Also when it failed: a COMMIT that says so may have been made.
        self.versions.raise_all(&mut self.touched);
        if outcome.is_err() {
            for table in
                [&mut self.events, &mut self.event_data, &mut self.session_data, &mut self.revenue]
            {
                table.clear();
            }
            // A failed COMMIT has rolled back already; then this says so, which is what is wanted.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        outcome
    }

    /// Whether the store has committed up to these cursors; false also when it cannot say.
    pub fn has_reached(&mut self, cursors: &[Cursor]) -> bool {
        cursors.iter().all(|cursor| {
            self.cursor(cursor.ring_id)
                .is_ok_and(|stored| stored.committed_sequence >= cursor.committed_sequence)
        })
    }

    /// Whether the engine still answers: one that has failed for good refuses everything.
    ///
    /// # Errors
    /// What it says.
    pub fn probe(&self) -> Result<()> {
        Ok(self.connection.execute_batch("SELECT 1")?)
    }

    fn append<'e>(&mut self, events: impl Iterator<Item = (u64, Event<'e>)>) -> Result<u64> {
        let open = |table: &Table| self.connection.appender_to_db(table.name, "facts");
        let mut to_events = open(&self.events)?;
        let mut to_event_data = open(&self.event_data)?;
        let mut to_session_data = open(&self.session_data)?;
        let mut to_revenue = open(&self.revenue)?;
        let mut rows = 0;
        for (event_id, event) in events {
            self.touched.note(event.website_key);
            let identify = event.kind == EventKind::Identify;
            for (key, value) in DataItems::new(event.data) {
                if identify {
                    push_session_data(&mut self.session_data, event_id, &event, key, &value);
                    self.session_data.end_row(&mut to_session_data)?;
                } else {
                    push_event_data(&mut self.event_data, event_id, &event, key, &value);
                    self.event_data.end_row(&mut to_event_data)?;
                }
            }
            if identify {
                continue;
            }
            rows += 1;
            push_event(&mut self.events, event_id, &event);
            self.events.end_row(&mut to_events)?;
            if let Some(revenue) = event.revenue {
                self.revenue
                    .u32(event.website_key)
                    .u64(event_id)
                    .u64(event.session_id)
                    .i64(Some(event.created_at))
                    .text(event.text(crate::event::Text::EventName))
                    .text(Some(revenue.currency))
                    .decimal(Some(revenue.amount_e4))
                    .end_row(&mut to_revenue)?;
            }
        }
        for (table, appender) in [
            (&mut self.events, &mut to_events),
            (&mut self.event_data, &mut to_event_data),
            (&mut self.session_data, &mut to_session_data),
            (&mut self.revenue, &mut to_revenue),
        ] {
            table.hand_over(appender)?;
            appender.flush()?;
        }
        Ok(rows)
    }

    /// Bytes the engine says it uses; 0 when it does not say.
    #[must_use]
    pub fn engine_bytes(&self) -> u64 {
        let sql = "SELECT sum(memory_usage_bytes)::UBIGINT FROM duckdb_memory()";
        self.connection.query_row(sql, [], |row| row.get(0)).unwrap_or(0)
    }

    /// Folds the log into the file.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn checkpoint(&self) -> Result<()> {
        Ok(self.connection.execute_batch("CHECKPOINT")?)
    }
}

fn push_event(table: &mut Table, event_id: u64, event: &Event<'_>) {
    table
        .u32(event.website_key)
        .u64(event_id)
        .u64(event.session_id)
        .u64(event.visit_id)
        .i64(Some(event.created_at))
        .u8(event.kind as u8);
    for text in event.texts {
        table.text(text);
    }
    let vitals = event.vitals;
    for vital in [vitals.lcp, vitals.inp, vitals.cls, vitals.fcp, vitals.ttfb] {
        table.f64(vital);
    }
    table.bool(!event.data.is_empty());
}

fn push_event_data(
    table: &mut Table,
    event_id: u64,
    event: &Event<'_>,
    key: &str,
    value: &DataValue<'_>,
) {
    use crate::event::Text;
    table
        .u32(event.website_key)
        .u64(event_id)
        .u64(event.session_id)
        .i64(Some(event.created_at))
        .text(event.text(Text::EventName))
        .text(event.text(Text::UrlPath))
        .text(Some(key));
    push_value(table, value);
}

fn push_session_data(
    table: &mut Table,
    event_id: u64,
    event: &Event<'_>,
    key: &str,
    value: &DataValue<'_>,
) {
    table
        .u32(event.website_key)
        .u64(event_id)
        .u64(event.session_id)
        .i64(Some(event.created_at))
        .text(event.text(crate::event::Text::DistinctId))
        .text(Some(key));
    push_value(table, value);
}

/// The columns data_type, string_value, number_value, date_value.
fn push_value(table: &mut Table, value: &DataValue<'_>) {
    let (text, number, date) = match value {
        DataValue::String(text) | DataValue::Json(text) => (Some(*text), None, None),
        DataValue::Number(number) => (None, Some(*number), None),
        DataValue::Boolean(value) => (Some(if *value { "true" } else { "false" }), None, None),
        DataValue::Date(at, text) => (Some(*text), None, Some(*at)),
    };
    table.u8(value.data_type()).text(text).decimal(number).i64(date);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{DataWriter, Revenue, Text};

    fn counts(append: &Append) -> Vec<i64> {
        ["event", "event_data", "session_data", "revenue"]
            .iter()
            .map(|table| {
                let sql = format!("SELECT count(*) FROM facts.{table}");
                append.connection.query_row(&sql, [], |row| row.get(0)).expect("counts")
            })
            .collect()
    }

    #[test]
    fn rows_and_cursor_are_committed_together() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::open(dir.path()).expect("opens");
        let mut append = Append::new(&store).expect("connects");
        let mut cursor = append.cursor(u64::MAX).expect("a cursor");
        assert_eq!((cursor.ring_number, cursor.committed_sequence), (1, 0));

        let mut data = Vec::new();
        DataWriter(&mut data).push("price", &DataValue::Number(199_900));
        DataWriter(&mut data).push("when", &DataValue::Date(5, "1970"));
        let mut custom = Event { kind: EventKind::Custom, data: &data, ..Event::default() };
        custom.revenue = Some(Revenue { amount_e4: 10_i128.pow(18), currency: "EUR" });
        custom.set(Text::EventName, Some("buy"));
        let identify = Event { kind: EventKind::Identify, data: &data, ..Event::default() };
        let pages = (0..5_000).map(|_| Event { kind: EventKind::PageView, ..Event::default() });
        let events = [custom, identify].into_iter().chain(pages);
        cursor.committed_sequence = 5_002;
        let numbered = events.zip(1..).map(|(event, sequence)| (cursor.event_id(sequence), event));
        assert_eq!(append.commit(numbered, &[cursor], || Ok(())).expect("commits"), 5_001);

        assert_eq!(counts(&append), [5_001, 2, 2, 1]);
        assert_eq!(append.cursor(u64::MAX).expect("a cursor"), cursor);
        assert_eq!(append.cursor(7).expect("a cursor").ring_number, 2);
        let number: String = append
            .connection
            .query_row(
                "SELECT number_value::VARCHAR FROM facts.event_data WHERE data_key = 'price'",
                [],
                |row| row.get(0),
            )
            .expect("a row");
        assert_eq!(number, "19.9900");
    }

    #[test]
    fn a_batch_that_fails_leaves_nothing_and_the_next_one_works() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::open(dir.path()).expect("opens");
        let mut append = Append::new(&store).expect("connects");
        let cursor = append.cursor(1).expect("a cursor");
        let bad = Revenue { amount_e4: 10_i128.pow(37), currency: "EUR" };
        let event = Event { revenue: Some(bad), kind: EventKind::Custom, ..Event::default() };
        let outcome = append.commit([(1, event)].into_iter(), &[cursor], || Ok(()));
        assert_eq!(counts(&append), if outcome.is_err() { [0; 4] } else { [1, 0, 0, 1] });
        let rows = append
            .commit([(2, Event::default())].into_iter(), &[cursor], || Ok(()))
            .expect("commits");
        assert_eq!(rows, 1);
    }
}
