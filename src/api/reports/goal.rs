//! Goals: how many sessions viewed a page or sent an event. `POST /api/reports/goal`, `GET …/goals/stats`, and of a
//! saved goal `GET …/goals/{goal}/stats`.

use serde::Serialize;

use crate::api::Asked;
use crate::api::operator::Values;
use crate::api::scope::Scope;
use crate::error::ApiError;
use crate::store::sql;

/// Sessions that reached the goal, of all.
#[derive(Debug, Serialize)]
pub struct Figures {
    num: i64,
    total: i64,
}

/// Asks for the goal that `type` and `value` name.
pub async fn answer(asked: &Asked) -> Result<Figures, ApiError> {
    let mut scope = Scope::parse(&asked.query)?;
    let mut values = Values::new('s');
    let goal = values.step(asked.query.required("type")?, asked.query.required("value")?)?;
    let website = scope.website(asked).await?;
    let question = scope.ask(sql::GOAL, website).expression(&format!("({goal})"), values.bound());
    let figures = asked
        .readers
        .ask_one(question, |row| Ok(Figures { num: row.integer(0)?, total: row.integer(1)? }));
    Ok(figures.await?)
}
