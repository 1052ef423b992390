-- Figures of the custom events (event type 2) of a range.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive).
-- One row: events, visitors (distinct sessions), visits, different names.
SELECT
    count(*) AS events,
    count(DISTINCT session_id) AS visitors,
    count(DISTINCT visit_id) AS visits,
    count(DISTINCT event_name) AS names
FROM facts.event
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    AND event_type = 2
    /*:filters*/;
