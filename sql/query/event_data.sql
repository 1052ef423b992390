-- Events that carry properties with all of these, newest first; those of one time in the order of their ids, backwards.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $event_name
-- VARCHAR (NULL: of any name), $horizon BIGINT (as in horizon.sql), $limit and $offset BIGINT (events), $rows_max BIGINT (properties of the whole page).
-- Rows, one a property: events on all pages, event, session, path, name of the event, time (ms), property, type
-- (1 string, 2 number, 3 boolean, 4 date, 5 array), value as text, as number, as date (ms); the properties of an event
-- in the order of the alphabet. Beyond the last page one row with the count and NULLs.
WITH matched AS NOT MATERIALIZED (
    SELECT
        created_at,
        event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND rowid <= $horizon
        AND has_data
        AND ($event_name::VARCHAR IS NULL OR event_name = $event_name)
        /*:filters*/
),

page AS (
    SELECT event_id
    FROM matched
    ORDER BY created_at DESC, event_id DESC
    LIMIT $limit OFFSET $offset
),

property AS (
    SELECT *
    FROM facts.event_data
    SEMI JOIN page USING (event_id)
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
    LIMIT $rows_max
),

total AS (SELECT count(*) AS events FROM matched)

SELECT
    total.events,
    property.event_id,
    property.session_id,
    property.url_path,
    property.event_name,
    property.created_at,
    property.data_key,
    property.data_type,
    coalesce(property.string_value, property.number_value::VARCHAR) AS text_value,
    property.number_value::DOUBLE AS number_value,
    property.date_value
FROM total
LEFT JOIN property ON true
ORDER BY property.created_at DESC, property.event_id DESC, property.data_key;
