-- How many sessions have each property, among those with an event (web vitals aside) in a range.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $property_name
-- VARCHAR (NULL: all; otherwise only the sessions that have this one), $limit BIGINT.
-- Rows: property, its most frequent type (1 string, 2 number, 3 boolean, 4 date, 5 array; the lower of two), sessions;
-- most sessions first, ties in the order of the alphabet.
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
    QUALIFY row_number() OVER (
        PARTITION BY session_id, data_key
        ORDER BY created_at DESC, event_id DESC
    ) = 1
),

typed AS (
    SELECT
        data_key,
        data_type,
        count(*) AS sessions
    FROM latest
    WHERE $property_name::VARCHAR IS NULL
        OR session_id IN (SELECT session_id FROM latest WHERE data_key = $property_name)
    GROUP BY data_key, data_type
)

SELECT
    data_key,
    arg_max(data_type, (sessions, -data_type::BIGINT)) AS data_type,
    sum(sessions)::BIGINT AS sessions
FROM typed
GROUP BY data_key
ORDER BY sessions DESC, data_key
LIMIT $limit;
