-- How many sessions have a row that is the goal, and how many there are.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive). The chosen
-- expression is the goal. One row: sessions with the goal, all sessions.
SELECT
    count(DISTINCT session_id) FILTER (/*:column*/has_data) AS num,
    count(DISTINCT session_id) AS total
FROM facts.event
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    /*:filters*/;
