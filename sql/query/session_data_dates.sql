-- The dates that one property of the sessions with an event (web vitals aside) in a range names.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $property_name
-- VARCHAR, $limit BIGINT.
-- Rows: date to the second (ms since 1970 UTC), sessions; in order of time.
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
    date_value - (date_value % 1000 + 1000) % 1000 AS date_at,
    count(*) AS sessions
FROM latest
WHERE data_type = 4
GROUP BY date_at
ORDER BY date_at
LIMIT $limit;
