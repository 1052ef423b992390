-- The latest events of a range, of every type.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $limit BIGINT.
-- Rows: session id, event name, time (ms since 1970 UTC), browser, os, device, country, path, referrer's host,
-- hostname; newest first.
SELECT
    session_id,
    event_name,
    created_at,
    browser,
    os,
    device,
    country,
    url_path,
    referrer_domain,
    hostname
FROM facts.event
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    /*:filters*/
ORDER BY created_at DESC, event_id DESC
LIMIT $limit;
