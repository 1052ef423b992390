-- The five figures by first (or last) page of a visit: of the page rows that match the filters, those at the time
-- at which their visit began (or ended) in the range, whatever the filters.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive),
-- $limit and $offset BIGINT. The chosen column is first_at or last_at.
-- Rows: value (never empty), NULL (in the place of a country), pageviews, visitors, visits, bounces, totaltime
-- (whole seconds); most visitors first, then most visits, then alphabet.
WITH edge AS (
    SELECT
        visit_id,
        min(created_at) AS first_at,
        max(created_at) AS last_at
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 3, 4)
    GROUP BY visit_id
),

page AS (
    SELECT
        url_path,
        session_id,
        visit_id,
        created_at
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 3, 4)
        /*:filters*/
),

visit AS (
    SELECT
        page.url_path AS value,
        page.session_id,
        page.visit_id,
        count(*) AS views,
        max(page.created_at) - min(page.created_at) AS lasted_ms
    FROM page
    INNER JOIN edge ON page.visit_id = edge.visit_id AND page.created_at = /*:column*/first_at
    WHERE page.url_path <> ''
    GROUP BY page.url_path, page.session_id, page.visit_id
)

SELECT
    value,
    NULL::VARCHAR AS place,
    sum(views)::BIGINT AS pageviews,
    count(DISTINCT session_id) AS visitors,
    count(DISTINCT visit_id) AS visits,
    count(*) FILTER (views = 1) AS bounces,
    sum(lasted_ms // 1000)::BIGINT AS totaltime
FROM visit
GROUP BY value
ORDER BY visitors DESC, visits DESC, value
LIMIT $limit OFFSET $offset;
