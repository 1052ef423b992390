-- The events of one session in a range, newest first; those of one time in the order of their ids, backwards.
-- Parameters: $website_key UINTEGER, $session_id UBIGINT, $start_at and $end_at BIGINT (ms since 1970 UTC, both
-- inclusive), $limit BIGINT.
-- Rows: time (ms), path, query, referrer's host, event, event type, event name, visit, hostname, whether it has data.
SELECT
    created_at,
    url_path,
    url_query,
    referrer_domain,
    event_id,
    event_type,
    event_name,
    visit_id,
    hostname,
    has_data
FROM facts.event
WHERE website_key = $website_key
    AND session_id = $session_id
    AND created_at BETWEEN $start_at AND $end_at
ORDER BY created_at DESC, event_id DESC
LIMIT $limit;
