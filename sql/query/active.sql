-- Visitors of the last minutes: distinct sessions with an event of any type.
-- Parameters: $website_key UINTEGER, $since BIGINT (ms since 1970 UTC, inclusive).
-- One row: visitors.
SELECT count(DISTINCT session_id) AS visitors
FROM facts.event
WHERE website_key = $website_key
    AND created_at >= $since;
