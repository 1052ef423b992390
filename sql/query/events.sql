-- Events of any type one by one, newest first; those of one time in the order of their ids, backwards.
-- Parameters: $website_key UINTEGER, $website_id VARCHAR (answered as it is), $start_at and $end_at BIGINT (ms since
-- 1970 UTC, both inclusive), $horizon BIGINT (as in horizon.sql), $limit and $offset BIGINT. The rows of the page are found by time and id alone, and only
-- then read whole, so that a page far back costs no more memory than the first one.
-- Rows: events on all pages, then the event's columns; beyond the last page one row with the count and NULLs.
WITH matched AS NOT MATERIALIZED (
    SELECT
        created_at,
        event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND rowid <= $horizon
        /*:filters*/
),

page AS (
    SELECT
        created_at,
        event_id
    FROM matched
    ORDER BY created_at DESC, event_id DESC
    LIMIT $limit OFFSET $offset
),

whole AS (
    SELECT *
    FROM facts.event
    SEMI JOIN page USING (created_at, event_id)
    WHERE website_key = $website_key
),

total AS (SELECT count(*) AS events FROM matched)

SELECT
    total.events,
    whole.event_id,
    $website_id AS website_id,
    whole.session_id,
    whole.visit_id,
    whole.created_at,
    whole.hostname,
    whole.url_path,
    whole.url_query,
    whole.referrer_path,
    whole.referrer_query,
    whole.referrer_domain,
    whole.country,
    whole.region,
    whole.city,
    whole.device,
    whole.os,
    whole.browser,
    whole.page_title,
    whole.event_type,
    whole.event_name,
    whole.tag,
    whole.distinct_id,
    whole.has_data
FROM total
LEFT JOIN whole ON true
ORDER BY whole.created_at DESC, whole.event_id DESC;
