-- One session: who it is by its first event, and what it did, events of any type.
-- Parameters: $website_key UINTEGER, $website_id VARCHAR (answered as it is), $session_id UBIGINT, $start_at BIGINT
-- (ms since 1970 UTC, inclusive).
-- One row: session, distinct id, $website_id, browser, os, device, screen, language, country, region, city, first
-- and last time (ms), visits, views (event type 1), custom events (event type 2), totaltime (whole seconds between
-- the first and the last event of each visit, summed). No row when there is no such session.
WITH visit AS (
    SELECT
        visit_id,
        min(created_at) AS first_at,
        max(created_at) AS last_at,
        count(*) FILTER (event_type = 1) AS views,
        count(*) FILTER (event_type = 2) AS events
    FROM facts.event
    WHERE website_key = $website_key
        AND session_id = $session_id
        AND created_at >= $start_at
    GROUP BY visit_id
),

summary AS (
    SELECT
        min(first_at) AS first_at,
        max(last_at) AS last_at,
        count(*) AS visits,
        sum(views)::BIGINT AS views,
        sum(events)::BIGINT AS events,
        sum((last_at - first_at) // 1000)::BIGINT AS totaltime
    FROM visit
)

SELECT
    event.session_id,
    event.distinct_id,
    $website_id AS website_id,
    event.browser,
    event.os,
    event.device,
    event.screen,
    event.language,
    event.country,
    event.region,
    event.city,
    summary.first_at,
    summary.last_at,
    summary.visits,
    summary.views,
    summary.events,
    summary.totaltime
FROM facts.event
INNER JOIN summary ON event.created_at = summary.first_at
WHERE event.website_key = $website_key
    AND event.session_id = $session_id
ORDER BY event.event_id
LIMIT 1;
