//! What nearly every question about events is asked for: a range, filters, and for a series the buckets of local time.
//! Parsed before anybody is asked who they are; what a website hides (what lies before its reset) is cut off here, in
//! one place, and so are the names under which the SQL files know the range.

use super::Asked;
use super::filter::Filters;
use super::params::{DateRange, Query, Unit};
use super::timezone::Timezone;
use crate::error::ApiError;
use crate::store::question::Question;
use crate::store::reader::Readers;
use crate::websites::Website;

/// A range and the filters of its events.
pub struct Scope {
    pub range: DateRange,
    pub filters: Filters,
}

impl Scope {
    /// From `startAt` and `endAt` or their dates, and the filters.
    ///
    /// # Errors
    /// 400 with what is wrong.
    pub fn parse(query: &Query) -> Result<Self, ApiError> {
        let timezone = Timezone::from_query(query)?.unwrap_or_else(Timezone::utc);
        let range = DateRange::from_query(query, &timezone)?;
        Ok(Self { range, filters: Filters::from_query(query)? })
    }

    /// As [`Scope::parse`], for the questions that take whole milliseconds only.
    ///
    /// # Errors
    /// 400 with what is wrong.
    pub fn parse_strict(query: &Query) -> Result<Self, ApiError> {
        let range = DateRange::from_strict_query(query, &Timezone::utc())?;
        Ok(Self { range, filters: Filters::from_query(query)? })
    }

    /// Forgets what is said about bounces, for the questions that know nothing of them.
    #[must_use]
    pub fn with_bounces(self) -> Self {
        Self { filters: self.filters.with_bounces(), ..self }
    }

    /// The website, if the one who asks may read it; the range without what the website hides.
    ///
    /// # Errors
    /// 401 without permission, 400 for an expression that the engine does not accept.
    pub async fn website(&mut self, asked: &Asked) -> Result<Website, ApiError> {
        let website = asked.website().await?;
        self.filters.check(&asked.readers, website).await?;
        self.range = self.range.since(website.reset_at);
        Ok(website)
    }

    /// The question about the events of a website in this scope.
    #[must_use]
    pub fn ask(&self, sql: &'static str, website: Website) -> Question {
        self.narrow(Question::new(sql), website)
    }

    /// As [`Scope::ask`], where something was chosen in the question already.
    #[must_use]
    pub fn narrow(&self, question: Question, website: Website) -> Question {
        self.range.bind(self.filters.apply(question).bind("website_key", website.key))
    }
}

impl DateRange {
    /// Binds its ends to the names they have in every file.
    #[must_use]
    pub fn bind(self, question: Question) -> Question {
        question.bind("start_at", self.start_at).bind("end_at", self.end_at)
    }
}

/// How a range is cut into buckets of local time.
pub struct Buckets {
    pub timezone: Timezone,
    pub unit: Unit,
}

impl Buckets {
    /// From `unit` and `timezone`; without a zone they are those of UTC.
    ///
    /// # Errors
    /// 400 when there is no such unit or zone.
    pub fn parse(query: &Query, range: DateRange) -> Result<Self, ApiError> {
        let timezone = Timezone::from_query(query)?.unwrap_or_else(Timezone::utc);
        Ok(Self { timezone, unit: Unit::from_query(query, range)? })
    }

    /// As [`Buckets::parse`], by the day where no unit is asked for.
    ///
    /// # Errors
    /// 400 when there is no such unit or zone.
    pub fn of_report(query: &Query, range: DateRange) -> Result<Self, ApiError> {
        let timezone = Timezone::from_query(query)?.unwrap_or_else(Timezone::utc);
        Ok(Self { timezone, unit: Unit::of_report(query, range)? })
    }

    /// Binds unit and zone; the range must be bounded (see [`Scope::shorten`]).
    #[must_use]
    pub fn bind(&self, question: Question, range: DateRange) -> Question {
        self.timezone.bind(question.bind("unit", self.unit.name()), range)
    }
}

impl Timezone {
    /// Binds its pieces of constant offset within a range.
    #[must_use]
    pub fn bind(&self, question: Question, range: DateRange) -> Question {
        let pieces = self.pieces(range);
        question
            .bind("zone_since", pieces.since)
            .bind("zone_until", pieces.until)
            .bind("zone_offset", pieces.offset)
    }
}

impl Scope {
    /// Cuts a very long range to the part that has events, so that its zone has few clock changes to look at.
    ///
    /// # Errors
    /// When nobody can answer.
    pub async fn shorten(&mut self, readers: &Readers, website: Website) -> Result<(), ApiError> {
        self.range = self.range.with_events(readers, website.key).await?;
        Ok(())
    }
}
