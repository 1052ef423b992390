-- How often each property was sent, whatever the event.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $event_name
-- VARCHAR (NULL: events of any name), $by_value BOOLEAN (whether each value is counted for itself), $limit BIGINT.
-- Rows: property, type (as in event_data.sql), value as it is shown (NULL unless each counts for itself; a number
-- without a fraction of zeros, a date cut to its hour in UTC), how often; by type backwards, then in the order of the
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
    data_key,
    data_type,
    CASE WHEN $by_value THEN
        CASE data_type
            WHEN 2 THEN replace(number_value::VARCHAR, '.0000', '')
            WHEN 4 THEN strftime(epoch_ms(date_value), '%Y-%m-%dT%H:00:00Z')
            ELSE string_value
        END
    END AS shown,
    count(*) AS total
FROM facts.event_data
SEMI JOIN matched USING (event_id)
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    AND ($event_name::VARCHAR IS NULL OR event_name = $event_name)
GROUP BY ALL
ORDER BY data_type DESC, data_key, shown
LIMIT $limit;
