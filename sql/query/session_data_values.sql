-- The values that one property of the sessions with an event (web vitals aside) in a range was last set to.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $property_name
-- VARCHAR, $data_type BIGINT (NULL: of any type), $limit BIGINT.
-- Rows: value as it is shown (as in event_data_fields.sql), sessions; most sessions first, ties in the order of the
-- alphabet.
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
    CASE data_type
        WHEN 2 THEN replace(number_value::VARCHAR, '.0000', '')
        WHEN 4 THEN strftime(epoch_ms(date_value), '%Y-%m-%dT%H:00:00Z')
        ELSE string_value
    END AS shown,
    count(*) AS sessions
FROM latest
WHERE $data_type::BIGINT IS NULL OR data_type = $data_type
GROUP BY shown
ORDER BY sessions DESC, shown
LIMIT $limit;
