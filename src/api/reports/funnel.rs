//! Funnels: how many sessions go from step to step, each within a window after the one before.
//! `POST /api/reports/funnel`, `GET …/funnels/stats`, and of a saved funnel `GET …/funnels/{funnel}/stats`.
//!
//! The question's filters hold for the first step: where a visitor comes from is known there, not at a custom event.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::api::Asked;
use crate::api::operator::Values;
use crate::api::params::{Query, invalid};
use crate::api::scope::Scope;
use crate::error::ApiError;
use crate::limits;
use crate::store::question::Question;
use crate::store::sql;

/// One step, as it is asked for and answered.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Step {
    r#type: String,
    value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filters: Option<Vec<Property>>,
}

/// What a property of the step's event must be.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Property {
    property: String,
    operator: String,
    value: String,
}

/// A step and its figures. `dropoff` and `remaining` are shares, NULL where there is nothing to divide by.
#[derive(Debug, Serialize)]
pub struct Reached {
    #[serde(flatten)]
    step: Step,
    visitors: i64,
    previous: i64,
    dropped: i64,
    dropoff: Option<f64>,
    remaining: Option<f64>,
}

/// The steps and their window in minutes.
///
/// # Errors
/// When a step or the window makes no sense.
pub fn parse(query: &Query) -> Result<(Vec<Step>, i64), ApiError> {
    let steps: Vec<Step> = serde_json::from_str(query.required("steps")?)
        .map_err(|error| invalid("steps", &error.to_string()))?;
    if !(2..=limits::FUNNEL_STEPS_MAX).contains(&steps.len()) {
        return Err(invalid("steps", "expected 2 to 8"));
    }
    for step in &steps {
        if !["path", "event"].contains(&step.r#type.as_str()) {
            return Err(invalid("steps", "expected the type path or event"));
        }
        let properties = step.filters.iter().flatten();
        if step.filters.as_ref().is_some_and(|all| all.len() > limits::FUNNEL_PROPERTIES_MAX)
            || properties.clone().any(|one| property_operator(&one.operator).is_none())
        {
            return Err(invalid("steps", "too many filters, or one with an unknown operator"));
        }
    }
    let minutes = query.number("window")?.ok_or_else(|| invalid("window", "it is missing"))?;
    if minutes <= 0.0 {
        return Err(invalid("window", "expected a number above 0"));
    }
    let window_ms = (minutes * 60_000.0).min(limits::FUNNEL_WINDOW_MS_MAX);
    Ok((steps, window_ms as i64))
}

/// Asks for the funnel that `steps` and `window` describe.
pub async fn answer(asked: &Asked) -> Result<Vec<Reached>, ApiError> {
    let (steps, window_ms) = parse(&asked.query)?;
    let mut scope = Scope::parse(&asked.query)?;
    let mut values = Values::new('s');
    let mut marks = Vec::with_capacity(steps.len());
    for step in &steps {
        marks.push(mark(&mut values, step)?);
    }
    let website = scope.website(asked).await?;
    let _ = write!(marks[0], "{}", scope.filters.predicates());
    let bits = marks.iter().zip(0..);
    let bits = bits.map(|(mark, bit)| format!("CASE WHEN {mark} THEN {} ELSE 0 END", 1 << bit));
    let mask = format!("({})", bits.collect::<Vec<_>>().join(" + "));
    let bound = [values.bound(), &scope.filters.bound()].concat();
    let question = scope
        .range
        .bind(Question::new(sql::FUNNEL).expression(&mask, &bound))
        .bind("website_key", website.key)
        .bind("window_ms", window_ms);
    let rows = asked.readers.ask(question, |row| Ok((row.integer(0)?, row.integer(1)?))).await?;
    Ok(figures(steps, &rows))
}

/// What a row must be to match a step.
fn mark(values: &mut Values, step: &Step) -> Result<String, ApiError> {
    let mut mark = values.step(&step.r#type, &step.value)?;
    for one in step.filters.iter().flatten() {
        let (contains, negated) = property_operator(&one.operator).unwrap_or_default();
        let (key, value) = (values.name(one.property.as_str()), values.name(one.value.as_str()));
        let matches = if contains {
            format!("contains(lower(string_value), lower({value}))")
        } else {
            format!(
                "(string_value = {value} OR number_value = try_cast({value} AS DECIMAL(19, 4)))"
            )
        };
        let not = if negated { "NOT " } else { "" };
        let _ = write!(
            mark,
            " AND {not}event_id IN (SELECT event_id FROM facts.event_data WHERE website_key = $website_key \
             AND created_at BETWEEN $start_at AND $end_at AND data_key = {key} AND {matches})"
        );
    }
    Ok(mark)
}

/// Whether it looks for a piece of the value, and whether it is turned round.
fn property_operator(name: &str) -> Option<(bool, bool)> {
    match name {
        "eq" => Some((false, false)),
        "neq" => Some((false, true)),
        "c" => Some((true, false)),
        "dnc" => Some((true, true)),
        _ => None,
    }
}

fn figures(steps: Vec<Step>, rows: &[(i64, i64)]) -> Vec<Reached> {
    let visitors = |number: i64| {
        rows.iter().find(|(step, _)| *step == number).map_or(0, |(_, visitors)| *visitors)
    };
    let share = |part: i64, whole: i64| (whole > 0).then(|| part as f64 / whole as f64);
    let first = visitors(1);
    let figures = steps.into_iter().zip(1..).map(|(step, number)| {
        let now = visitors(number);
        let previous = if number == 1 { 0 } else { visitors(number - 1) };
        let dropped = if number == 1 { 0 } else { previous - now };
        let dropoff = share(now, previous).map(|share| 1.0 - share);
        Reached { step, visitors: now, previous, dropped, dropoff, remaining: share(now, first) }
    });
    figures.collect()
}
