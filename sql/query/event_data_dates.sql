-- The dates that one property of one custom event names, whenever the events were.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $event_name and
-- $property_name VARCHAR, $limit BIGINT.
-- Rows: date to the second (ms since 1970 UTC), how often; in order of time.
WITH matched AS (
    SELECT event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND has_data
        AND event_type = 2
        AND event_name = $event_name
        /*:filters*/
)

SELECT
    date_value - (date_value % 1000 + 1000) % 1000 AS date_at,
    count(*) AS total
FROM facts.event_data
SEMI JOIN matched USING (event_id)
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    AND data_key = $property_name
    AND data_type = 4
GROUP BY date_at
ORDER BY date_at
LIMIT $limit;
