-- How often each property of each event was sent.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $limit BIGINT.
-- Rows: name of the event (NULL for page views), property, its most frequent type (as in event_data.sql; the lower of
-- two), how often; most frequent first, ties in the order of the alphabet.
WITH matched AS (
    SELECT event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND has_data
        /*:filters*/
),

typed AS (
    SELECT
        event_name,
        data_key,
        data_type,
        count(*) AS total
    FROM facts.event_data
    SEMI JOIN matched USING (event_id)
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
    GROUP BY ALL
)

SELECT
    event_name,
    data_key,
    arg_max(data_type, (total, -data_type::BIGINT)) AS data_type,
    sum(total)::BIGINT AS total
FROM typed
GROUP BY event_name, data_key
ORDER BY total DESC, event_name NULLS LAST, data_key
LIMIT $limit;
