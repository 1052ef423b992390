-- Page rows (event types 1, 3 and 4) and distinct sessions by bucket of local time. Only buckets with rows.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive),
-- $unit VARCHAR (minute, hour, day, month or year), and the zone as pieces of constant offset, three lists of
-- one length written as text ('[1, 2]'): $zone_since and $zone_until (ms, from inclusive, to exclusive; together
-- they cover the range), $zone_offset (ms to add to UTC). The engine needs no knowledge of zones for this, and
-- the two equal hours at the end of summer time fall in one bucket.
-- Rows: label of the bucket's local start, views, sessions; in order of time.
WITH zone AS (
    SELECT
        unnest($zone_since::BIGINT[]) AS since,
        unnest($zone_until::BIGINT[]) AS until,
        unnest($zone_offset::BIGINT[]) AS offset_ms
),

bucket AS (
    SELECT
        date_trunc($unit, epoch_ms(created_at + zone.offset_ms)) AS starts,
        count(*) AS views,
        count(DISTINCT session_id) AS sessions
    FROM facts.event
    INNER JOIN zone ON created_at >= zone.since AND created_at < zone.until
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 3, 4)
        /*:filters*/
    GROUP BY starts
)

SELECT
    strftime(starts, '%Y-%m-%d %H:%M:%S') AS label,
    views,
    sessions
FROM bucket
ORDER BY starts;
