-- How often each custom event (event type 2) happened by bucket of local time. Only buckets with rows.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive),
-- $unit VARCHAR, $zone_since, $zone_until and $zone_offset (as in pageviews.sql), $names_max BIGINT: only that
-- many names, the most frequent ones, ties in the order of the alphabet.
-- Rows: event name, label of the bucket's local start, events; by time, then by name.
WITH zone AS (
    SELECT
        unnest($zone_since::BIGINT[]) AS since,
        unnest($zone_until::BIGINT[]) AS until,
        unnest($zone_offset::BIGINT[]) AS offset_ms
),

bucket AS (
    SELECT
        event_name,
        date_trunc($unit, epoch_ms(created_at + zone.offset_ms)) AS starts,
        count(*) AS events
    FROM facts.event
    INNER JOIN zone ON created_at >= zone.since AND created_at < zone.until
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type = 2
        /*:filters*/
    GROUP BY event_name, starts
),

frequent AS (
    SELECT event_name
    FROM bucket
    GROUP BY event_name
    ORDER BY sum(events) DESC, event_name
    LIMIT $names_max
)

SELECT
    bucket.event_name,
    strftime(bucket.starts, '%Y-%m-%d %H:%M:%S') AS label,
    bucket.events
FROM bucket
INNER JOIN frequent USING (event_name)
ORDER BY bucket.starts, bucket.event_name;
