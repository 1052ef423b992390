//! How the cells of a row are shown: ids as UUIDs, times as ISO texts, and the lists whose every row begins with how
//! many rows there are on all pages.

use anyhow::Result;

use crate::clock;
use crate::identity::uuid_of;
use crate::store::question::Row;

/// The id of an event, session or visit.
pub fn id(row: &Row<'_>, column: usize) -> Result<String> {
    Ok(uuid_of(row.id(column)?).to_string())
}

/// A time in ms since 1970 UTC as `2026-03-01T00:00:00.000Z`.
pub fn time(row: &Row<'_>, column: usize) -> Result<String> {
    Ok(clock::iso(row.integer(column)?))
}

/// As [`time`], or NULL.
pub fn optional_time(row: &Row<'_>, column: usize) -> Result<Option<String>> {
    Ok(row.optional_integer(column)?.map(clock::iso))
}

/// The count in column 0, and the row if this is one: beyond the last page column 1 is NULL.
pub fn counted<T>(row: &Row<'_>, read: fn(&Row<'_>) -> Result<T>) -> Result<(i64, Option<T>)> {
    let row_there = !row.is_null(1)?;
    Ok((row.integer(0)?, row_there.then(|| read(row)).transpose()?))
}
