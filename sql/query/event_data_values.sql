-- The values of one property.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $property_name
-- VARCHAR, $event_name VARCHAR (NULL: events of any name), $data_type BIGINT (NULL: of any type), $limit BIGINT.
-- Rows: value as it is shown (as in event_data_fields.sql), how often; most frequent first, ties in the order of the
-- alphabet.
WITH matched AS (
    SELECT event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND has_data
        /*:filters*/
)

SELECT
    CASE data_type
        WHEN 2 THEN replace(number_value::VARCHAR, '.0000', '')
        WHEN 4 THEN strftime(epoch_ms(date_value), '%Y-%m-%dT%H:00:00Z')
        ELSE string_value
    END AS shown,
    count(*) AS total
FROM facts.event_data
SEMI JOIN matched USING (event_id)
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    AND data_key = $property_name
    AND ($event_name::VARCHAR IS NULL OR event_name = $event_name)
    AND ($data_type::BIGINT IS NULL OR data_type = $data_type)
GROUP BY shown
ORDER BY total DESC, shown
LIMIT $limit;
