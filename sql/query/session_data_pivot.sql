-- The sessions with an event (web vitals aside) in a range that have one property, and all they have, the one whose
-- property was set last first; ties by id backwards.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $property_name
-- VARCHAR, $limit and $offset BIGINT (sessions), $rows_max BIGINT (properties of the whole page).
-- Rows, one a property: sessions on all pages, session, the site's own id of the visitor, time at which the asked
-- property was set (ms), property, type (as in session_data_properties.sql), value as text, as date (ms); those of a
-- session in the order of the alphabet. Beyond the last page one row with the count and NULLs.
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

matched AS (
    SELECT
        session_id,
        distinct_id,
        created_at
    FROM latest
    WHERE data_key = $property_name
),

page AS (
    SELECT *
    FROM matched
    ORDER BY created_at DESC, session_id DESC
    LIMIT $limit OFFSET $offset
),

property AS (
    SELECT
        page.session_id,
        page.distinct_id,
        page.created_at,
        latest.data_key,
        latest.data_type,
        coalesce(latest.string_value, latest.number_value::VARCHAR) AS text_value,
        latest.date_value
    FROM latest
    INNER JOIN page USING (session_id)
    LIMIT $rows_max
),

total AS (SELECT count(*) AS sessions FROM matched)

SELECT
    total.sessions,
    property.session_id,
    property.distinct_id,
    property.created_at,
    property.data_key,
    property.data_type,
    property.text_value,
    property.date_value
FROM total
LEFT JOIN property ON true
ORDER BY property.created_at DESC, property.session_id DESC, property.data_key;
