-- How often each property was sent, by the name of its event.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $by_value BOOLEAN
-- (whether each value is counted for itself), $limit BIGINT.
-- Rows: name of the event (NULL for page views), property, type (as in event_data.sql), value as text (NULL unless
-- each counts for itself), how often; in the order of the alphabet, the frequent values of a property first.
WITH matched AS (
    SELECT event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND has_data
        /*:filters*/
)

SELECT
    event_name,
    data_key,
    data_type,
    CASE WHEN $by_value THEN coalesce(string_value, number_value::VARCHAR) END AS text_value,
    count(*) AS total
FROM facts.event_data
SEMI JOIN matched USING (event_id)
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
GROUP BY ALL
ORDER BY event_name NULLS LAST, data_key, data_type, total DESC, text_value
LIMIT $limit;
