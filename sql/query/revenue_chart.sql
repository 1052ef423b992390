-- Revenue in one currency by event and by bucket of local time: of the events that are left by the filters.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $currency VARCHAR,
-- $unit VARCHAR and the zone in pieces: $zone_since, $zone_until, $zone_offset (see pageviews.sql), $limit BIGINT.
-- Rows: event name, label of the bucket's local start, sum, sales; in order of time, then of names.
WITH zone AS (
    SELECT
        unnest($zone_since::BIGINT[]) AS since,
        unnest($zone_until::BIGINT[]) AS until,
        unnest($zone_offset::BIGINT[]) AS offset_ms
),

chosen AS (
    SELECT event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        /*:filters*/
),

bucket AS (
    SELECT
        coalesce(event_name, '') AS name,
        date_trunc($unit, epoch_ms(created_at + zone.offset_ms)) AS starts,
        sum(amount)::DOUBLE AS total,
        count(*) AS sales
    FROM facts.revenue
    INNER JOIN zone ON created_at >= zone.since AND created_at < zone.until
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND currency = $currency
        AND event_id IN (SELECT event_id FROM chosen)
    GROUP BY name, starts
)

SELECT
    name,
    strftime(starts, '%Y-%m-%d %H:%M:%S') AS label,
    total,
    sales
FROM bucket
ORDER BY starts, name
LIMIT $limit;
