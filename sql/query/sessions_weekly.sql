-- Distinct sessions of page rows (event types 1, 3 and 4) by day of the week and hour of local time.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive),
-- $zone_since, $zone_until and $zone_offset (as in pageviews.sql).
-- Rows: day (0 Sunday), hour, sessions. Only hours with rows.
WITH zone AS (
    SELECT
        unnest($zone_since::BIGINT[]) AS since,
        unnest($zone_until::BIGINT[]) AS until,
        unnest($zone_offset::BIGINT[]) AS offset_ms
)

SELECT
    dayofweek(epoch_ms(created_at + zone.offset_ms)) AS day,
    hour(epoch_ms(created_at + zone.offset_ms)) AS hour_of_day,
    count(DISTINCT session_id) AS sessions
FROM facts.event
INNER JOIN zone ON created_at >= zone.since AND created_at < zone.until
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    AND event_type IN (1, 3, 4)
    /*:filters*/
GROUP BY day, hour_of_day;
