-- How often each custom event (event type 2) happened in a range.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive),
-- $limit and $offset BIGINT.
-- Rows: event name, NULL (in the place of a country), events; most frequent first, then alphabet.
SELECT
    event_name AS value,
    NULL::VARCHAR AS place,
    count(*) AS events
FROM facts.event
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    AND event_type = 2
    AND event_name <> ''
    /*:filters*/
GROUP BY event_name
ORDER BY events DESC, value
LIMIT $limit OFFSET $offset;
