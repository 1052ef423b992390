-- The times of a website's first and last event of any type within a range.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive).
-- One row: first_at, last_at (ms since 1970 UTC; both NULL when there is no event).
SELECT
    min(created_at) AS first_at,
    max(created_at) AS last_at
FROM facts.event
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at;
