-- The properties of one event, in the order of the alphabet.
-- Parameters: $website_key UINTEGER, $event_id UBIGINT, $start_at BIGINT (ms since 1970 UTC: nothing before it), $limit
-- BIGINT.
-- Rows: as in event_data.sql; the first column is always 1.
SELECT
    1::BIGINT AS events,
    event_id,
    session_id,
    url_path,
    event_name,
    created_at,
    data_key,
    data_type,
    coalesce(string_value, number_value::VARCHAR) AS text_value,
    number_value::DOUBLE AS number_value,
    date_value
FROM facts.event_data
WHERE website_key = $website_key
    AND event_id = $event_id
    AND created_at >= $start_at
ORDER BY data_key
LIMIT $limit;
