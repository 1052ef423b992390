-- One property of one custom event in figures, by bucket of local time; its numbers only. Only buckets with some.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $event_name and
-- $property_name VARCHAR, $unit VARCHAR, $zone_since, $zone_until and $zone_offset (as in pageviews.sql). The
-- chosen expression is what becomes of a bucket's numbers.
-- Rows: label of the bucket's local start, figure; in order of time.
WITH zone AS (
    SELECT
        unnest($zone_since::BIGINT[]) AS since,
        unnest($zone_until::BIGINT[]) AS until,
        unnest($zone_offset::BIGINT[]) AS offset_ms
),

matched AS (
    SELECT event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND has_data
        AND event_type = 2
        AND event_name = $event_name
        /*:filters*/
),

bucket AS (
    SELECT
        date_trunc($unit, epoch_ms(created_at + zone.offset_ms)) AS starts,
        /*:column*/sum(number_value)::DOUBLE AS figure
    FROM facts.event_data
    SEMI JOIN matched USING (event_id)
    INNER JOIN zone ON created_at >= zone.since AND created_at < zone.until
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND data_key = $property_name
        AND data_type = 2
    GROUP BY starts
)

SELECT
    strftime(starts, '%Y-%m-%d %H:%M:%S') AS label,
    figure
FROM bucket
ORDER BY starts;
