-- Distinct sessions of page rows (event types 1, 3 and 4) by half day of local time, and in all.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive),
-- $zone_since, $zone_until and $zone_offset (as in pageviews.sql).
-- Rows: half days between the local time 1970-01-01 00:00 and this one's start (NULL: the whole range), visitors.
WITH zone AS (
    SELECT
        unnest($zone_since::BIGINT[]) AS since,
        unnest($zone_until::BIGINT[]) AS until,
        unnest($zone_offset::BIGINT[]) AS offset_ms
),

page AS (
    SELECT
        floor((created_at + zone.offset_ms) / 43200000)::BIGINT AS half_day,
        session_id
    FROM facts.event
    INNER JOIN zone ON created_at >= zone.since AND created_at < zone.until
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 3, 4)
)

SELECT
    half_day,
    count(DISTINCT session_id) AS visitors
FROM page
GROUP BY GROUPING SETS ((half_day), ());
