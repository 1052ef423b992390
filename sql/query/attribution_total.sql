-- The rows that are the conversion, and the sessions and visits they belong to.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive). The chosen
-- expression is the conversion. One row: rows, sessions, visits.
SELECT
    count(*) AS views,
    count(DISTINCT session_id) AS visitors,
    count(DISTINCT visit_id) AS visits
FROM facts.event
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    AND /*:column*/has_data
    /*:filters*/;
