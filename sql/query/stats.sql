-- The five figures of a website in a range, over its page rows (event types 1, 3 and 4).
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive).
-- One row: pageviews, visitors (distinct sessions), visits, bounces (visits of exactly one row),
-- totaltime (whole seconds between the first and the last row of each visit, summed). No rows: five zeros.
WITH visit AS (
    SELECT
        session_id,
        visit_id,
        count(*) AS views,
        max(created_at) - min(created_at) AS lasted_ms
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 3, 4)
        /*:filters*/
    GROUP BY session_id, visit_id
)

SELECT
    coalesce(sum(views), 0)::BIGINT AS pageviews,
    count(DISTINCT session_id) AS visitors,
    count(DISTINCT visit_id) AS visits,
    count(*) FILTER (views = 1) AS bounces,
    coalesce(sum(lasted_ms // 1000), 0)::BIGINT AS totaltime
FROM visit;
