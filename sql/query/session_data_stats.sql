-- What the sessions did in a range, by the value that one of their properties was last set to.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $property_name
-- VARCHAR, $limit BIGINT.
-- Rows: value as it is shown (as in event_data_fields.sql), events of any type but web vitals, sessions, visits, views
-- (event types 1, 3 and 4), custom events (event type 2); most events first, ties in the order of the alphabet.
WITH active AS (
    SELECT
        session_id,
        visit_id,
        count(*) AS events,
        count(*) FILTER (event_type IN (1, 3, 4)) AS views,
        count(*) FILTER (event_type = 2) AS custom
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type <> 5
        /*:filters*/
    GROUP BY session_id, visit_id
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
    sum(active.events)::BIGINT AS activity,
    count(DISTINCT active.session_id) AS sessions,
    count(*) AS visits,
    sum(active.views)::BIGINT AS views,
    sum(active.custom)::BIGINT AS custom
FROM active
INNER JOIN latest USING (session_id)
GROUP BY shown
ORDER BY activity DESC, shown
LIMIT $limit;
