-- How much happened in a range, over events of any type.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive).
-- One row: events of any type, visitors (distinct sessions), visits, countries, custom events (event type 2).
SELECT
    count(*) AS rows_of_any_type,
    count(DISTINCT session_id) AS visitors,
    count(DISTINCT visit_id) AS visits,
    count(DISTINCT country) AS countries,
    count(*) FILTER (event_type = 2) AS events
FROM facts.event
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    /*:filters*/;
