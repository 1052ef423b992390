-- Sessions with an event of any type in a range, the one that was seen last first, ties by id backwards.
-- Parameters: $website_key UINTEGER, $website_id VARCHAR (answered as it is), $start_at and $end_at BIGINT (ms since
-- 1970 UTC, both inclusive), $horizon BIGINT (as in horizon.sql), $limit and $offset BIGINT. Browser, place, … are those of the session's first event of
-- the range, and are read for the sessions of the page only.
-- Rows: sessions on all pages, session, $website_id, hostname, browser, os, device, screen, language, country,
-- region, city, distinct id, first and last time (ms), visits, views (event type 1), custom events (event type 2);
-- beyond the last page one row with the count and NULLs.
WITH visit AS (
    SELECT
        session_id,
        visit_id,
        min(created_at) AS first_at,
        max(created_at) AS last_at,
        count(*) FILTER (event_type = 1) AS views,
        count(*) FILTER (event_type = 2) AS events
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND rowid <= $horizon
        /*:filters*/
    GROUP BY session_id, visit_id
),

session AS (
    SELECT
        session_id,
        min(first_at) AS first_at,
        max(last_at) AS last_at,
        count(*) AS visits,
        sum(views)::BIGINT AS views,
        sum(events)::BIGINT AS events
    FROM visit
    GROUP BY session_id
),

page AS (
    SELECT *
    FROM session
    ORDER BY last_at DESC, session_id DESC
    LIMIT $limit OFFSET $offset
),

attribute AS (
    SELECT
        event.session_id,
        arg_min(
            struct_pack(
                hostname := event.hostname,
                browser := event.browser,
                os := event.os,
                device := event.device,
                screen := event.screen,
                language := event.language,
                country := event.country,
                region := event.region,
                city := event.city,
                distinct_id := event.distinct_id
            ),
            event.event_id
        ) AS first_event
    FROM facts.event
    INNER JOIN page ON event.session_id = page.session_id AND event.created_at = page.first_at
    WHERE event.website_key = $website_key
        AND event.created_at BETWEEN $start_at AND $end_at
    GROUP BY event.session_id
),

total AS (SELECT count(*) AS sessions FROM session)

SELECT
    total.sessions,
    page.session_id,
    $website_id AS website_id,
    attribute.first_event.hostname,
    attribute.first_event.browser,
    attribute.first_event.os,
    attribute.first_event.device,
    attribute.first_event.screen,
    attribute.first_event.language,
    attribute.first_event.country,
    attribute.first_event.region,
    attribute.first_event.city,
    attribute.first_event.distinct_id,
    page.first_at,
    page.last_at,
    page.visits,
    page.views,
    page.events
FROM total
LEFT JOIN page ON true
LEFT JOIN attribute ON page.session_id = attribute.session_id
ORDER BY page.last_at DESC, page.session_id DESC;
