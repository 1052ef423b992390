-- The numbers of one property of one custom event, summed up.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $event_name and
-- $property_name VARCHAR.
-- One row: sum, average, median, least, greatest; NULLs when there is no number.
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
    sum(number_value)::DOUBLE AS total,
    avg(number_value)::DOUBLE AS average,
    median(number_value::DOUBLE) AS median,
    min(number_value)::DOUBLE AS least,
    max(number_value)::DOUBLE AS greatest
FROM facts.event_data
SEMI JOIN matched USING (event_id)
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    AND data_key = $property_name
    AND data_type = 2;
