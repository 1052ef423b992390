-- How much there is of properties.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive).
-- One row: events that carry some, different names, properties in all.
WITH matched AS (
    SELECT event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND has_data
        /*:filters*/
)

SELECT
    count(DISTINCT event_id) AS events,
    count(DISTINCT data_key) AS properties,
    count(*) AS records
FROM facts.event_data
SEMI JOIN matched USING (event_id)
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at;
