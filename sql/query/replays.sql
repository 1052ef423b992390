-- Recorded visits that began in a range, the newest first.
-- Parameters: $website_key UINTEGER, $website_id VARCHAR (answered as it is), $start_at and $end_at BIGINT (ms since
-- 1970 UTC, both inclusive), $session_id UBIGINT (NULL: of all sessions), $min_ms BIGINT (shorter ones are left out),
-- $limit and $offset BIGINT. Filters hold for the visit's events of a day around the range; browser, place, … are
-- those of the first of them.
-- Rows: recordings on all pages, visit, $website_id, session, browser, os, device, country, city, number of pieces,
-- number of events, first and last time (ms), time of the first arrival (ms); beyond the last page one row with the
-- count and NULLs.
WITH replay AS (
    SELECT
        visit_id,
        any_value(session_id) AS session_id,
        count(*) AS chunks,
        sum(event_count)::BIGINT AS events,
        min(started_at) AS started_at,
        max(ended_at) AS ended_at,
        min(received_at) AS received_at
    FROM facts.replay_chunk
    WHERE website_key = $website_key
        AND ($session_id IS NULL OR session_id = $session_id::UBIGINT)
    GROUP BY visit_id
    HAVING min(started_at) BETWEEN $start_at AND $end_at
        AND max(ended_at) - min(started_at) >= $min_ms
),

visitor AS (
    SELECT
        visit_id,
        arg_min(
            struct_pack(browser := browser, os := os, device := device, country := country, city := city),
            event_id
        ) AS first_event
    FROM facts.event
    SEMI JOIN replay USING (visit_id)
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at - 86400000 AND $end_at + 86400000
        /*:filters*/
    GROUP BY visit_id
),

matched AS (
    SELECT *
    FROM replay
    INNER JOIN visitor USING (visit_id)
),

page AS (
    SELECT *
    FROM matched
    ORDER BY started_at DESC, visit_id DESC
    LIMIT $limit OFFSET $offset
),

total AS (SELECT count(*) AS replays FROM matched)

SELECT
    total.replays,
    page.visit_id,
    $website_id AS website_id,
    page.session_id,
    page.first_event.browser,
    page.first_event.os,
    page.first_event.device,
    page.first_event.country,
    page.first_event.city,
    page.chunks,
    page.events,
    page.started_at,
    page.ended_at,
    page.received_at
FROM total
LEFT JOIN page ON true
ORDER BY page.started_at DESC, page.visit_id DESC;
