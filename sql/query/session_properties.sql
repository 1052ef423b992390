-- The latest value of each property of one session, by the property's name.
-- Parameters: $website_key UINTEGER, $website_id VARCHAR (answered as it is), $session_id UBIGINT, $limit BIGINT.
-- Rows: $website_id, session, property, type (1 string, 2 number, 3 boolean, 4 date, 5 array), value as text (of a
-- number without a fraction of zeros), as number, as date (ms), time (ms) at which it was set.
WITH latest AS (
    SELECT *
    FROM facts.session_data
    WHERE website_key = $website_key
        AND session_id = $session_id
    QUALIFY row_number() OVER (
        PARTITION BY data_key
        ORDER BY created_at DESC, event_id DESC
    ) = 1
)

SELECT
    $website_id AS website_id,
    session_id,
    data_key,
    data_type,
    coalesce(string_value, replace(number_value::VARCHAR, '.0000', '')) AS text_value,
    number_value::DOUBLE AS number_value,
    date_value,
    created_at
FROM latest
ORDER BY data_key
LIMIT $limit;
