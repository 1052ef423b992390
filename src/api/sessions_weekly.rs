//! `GET /api/websites/{website}/sessions/weekly`: visitors by day of the week and hour of local time.

use actix_web::web::Json;

use super::Asked;
use super::scope::Scope;
use super::timezone::Timezone;
use crate::error::ApiError;
use crate::store::sql;

/// Sunday to Saturday, midnight to 23 h.
pub type Week = [[i64; 24]; 7];

pub async fn weekly(asked: Asked) -> Result<Json<Week>, ApiError> {
    let timezone = Timezone::from_query(&asked.query)?
        .ok_or_else(|| ApiError::bad_request("Invalid timezone: it is missing"))?;
    let mut scope = Scope::parse_strict(&asked.query)?;
    let website = scope.website(&asked).await?;
    scope.shorten(&asked.readers, website).await?;
    let question = timezone.bind(scope.ask(sql::SESSIONS_WEEKLY, website), scope.range);
    let rows = asked.readers.ask(question, |row| {
        Ok((row.integer(0)? as usize, row.integer(1)? as usize, row.integer(2)?))
    });
    let mut week = Week::default();
    for (day, hour, sessions) in rows.await? {
        if let Some(figure) = week.get_mut(day).and_then(|hours| hours.get_mut(hour)) {
            *figure = sessions;
        }
    }
    Ok(Json(week))
}
