-- Percentiles of one web vital by bucket of local time, over performance rows (event type 5) that have it.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $unit VARCHAR
-- and the zone in pieces: $zone_since, $zone_until, $zone_offset (see pageviews.sql). The chosen column is the vital.
-- Rows: label of the bucket's local start, p50, p75, p95; in order of time.
WITH zone AS (
    SELECT
        unnest($zone_since::BIGINT[]) AS since,
        unnest($zone_until::BIGINT[]) AS until,
        unnest($zone_offset::BIGINT[]) AS offset_ms
),

report AS (
    SELECT
        date_trunc($unit, epoch_ms(created_at + zone.offset_ms)) AS starts,
        /*:column*/lcp AS vital
    FROM facts.event
    INNER JOIN zone ON created_at >= zone.since AND created_at < zone.until
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type = 5
        /*:filters*/
)

SELECT
    strftime(starts, '%Y-%m-%d %H:%M:%S') AS label,
    quantile_cont(vital, 0.5) AS p50,
    quantile_cont(vital, 0.75) AS p75,
    quantile_cont(vital, 0.95) AS p95
FROM report
WHERE vital IS NOT NULL
GROUP BY starts
ORDER BY starts;
