-- The numbers of one property of the sessions with an event (web vitals aside) in a range, summed up.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $property_name
-- VARCHAR.
-- One row: sum, average, median, least, greatest; NULLs when there is no number.
WITH active AS (
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
)

SELECT
    sum(number_value)::DOUBLE AS total,
    avg(number_value)::DOUBLE AS average,
    median(number_value::DOUBLE) AS median,
    min(number_value)::DOUBLE AS least,
    max(number_value)::DOUBLE AS greatest
FROM latest
WHERE data_type = 2;
