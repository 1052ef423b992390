-- Of the sessions that were first seen on a day, how many came again on the same and on each of the 31 days after it.
-- Days are local; the first day is the first in the range.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), and the zone
-- as pieces of constant offset: $zone_since, $zone_until, $zone_offset (see pageviews.sql).
-- Rows: first day ('2026-03-01 00:00:00'), days after it, sessions first seen on it, sessions seen again; in this order.
WITH zone AS (
    SELECT
        unnest($zone_since::BIGINT[]) AS since,
        unnest($zone_until::BIGINT[]) AS until,
        unnest($zone_offset::BIGINT[]) AS offset_ms
),

seen AS (
    SELECT DISTINCT
        session_id,
        epoch_ms(created_at + zone.offset_ms)::DATE AS day
    FROM facts.event
    INNER JOIN zone ON created_at >= zone.since AND created_at < zone.until
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        /*:filters*/
),

cohort AS (
    SELECT
        session_id,
        min(day) AS first_day
    FROM seen
    GROUP BY session_id
),

came AS (
    SELECT
        first_day,
        seen.day - first_day AS days,
        count(*) AS sessions
    FROM seen
    INNER JOIN cohort USING (session_id)
    WHERE seen.day - first_day <= 31
    GROUP BY first_day, days
)

SELECT
    strftime(first_day, '%Y-%m-%d %H:%M:%S') AS label,
    days,
    max(sessions) FILTER (days = 0) OVER (PARTITION BY first_day) AS visitors,
    sessions AS returned
FROM came
ORDER BY first_day, days;
