-- One property of sessions in figures, by the bucket of local time in which each session set it last; numbers only.
-- Only buckets with some, and only sessions with an event (web vitals aside) in the range.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $property_name
-- VARCHAR, $unit VARCHAR, $zone_since, $zone_until and $zone_offset (as in pageviews.sql). The chosen
-- expression is what becomes of a bucket's numbers.
-- Rows: label of the bucket's local start, figure; in order of time.
WITH zone AS (
    SELECT
        unnest($zone_since::BIGINT[]) AS since,
        unnest($zone_until::BIGINT[]) AS until,
        unnest($zone_offset::BIGINT[]) AS offset_ms
),

active AS (
    SELECT DISTINCT session_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type <> 5
        /*:filters*/
),

-- What was set last, whenever that was.
latest AS (
    SELECT *
    FROM facts.session_data
    SEMI JOIN active USING (session_id)
    WHERE website_key = $website_key
        AND data_key = $property_name
    QUALIFY row_number() OVER (
        PARTITION BY session_id, data_key
        ORDER BY created_at DESC, event_id DESC
    ) = 1
),

bucket AS (
    SELECT
        date_trunc($unit, epoch_ms(created_at + zone.offset_ms)) AS starts,
        /*:column*/sum(number_value)::DOUBLE AS figure
    FROM latest
    INNER JOIN zone ON created_at >= zone.since AND created_at < zone.until
    WHERE data_type = 2
        AND created_at BETWEEN $start_at AND $end_at
    GROUP BY starts
)

SELECT
    strftime(starts, '%Y-%m-%d %H:%M:%S') AS label,
    figure
FROM bucket
ORDER BY starts;
