-- The five figures by the values of several columns at once, over page rows (event types 1, 3 and 4). Rows are grouped
-- by values within each visit first, as in metrics_expanded.sql; a row without a value counts under NULL.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $limit BIGINT.
-- The chosen expression is the list of columns.
-- Rows: values (JSON array of texts and nulls), pageviews, visitors, visits, bounces, totaltime (whole seconds); most
-- visitors first, then most visits, then in the order of the values.
WITH visit AS (
    SELECT
        /*:column*/url_path AS fields,
        session_id,
        visit_id,
        count(*) AS views,
        max(created_at) - min(created_at) AS lasted_ms
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 3, 4)
        /*:filters*/
    GROUP BY fields, session_id, visit_id
)

SELECT
    to_json(fields)::VARCHAR AS shown,
    sum(views)::BIGINT AS pageviews,
    count(DISTINCT session_id) AS visitors,
    count(DISTINCT visit_id) AS visits,
    count(*) FILTER (views = 1) AS bounces,
    sum(lasted_ms // 1000)::BIGINT AS totaltime
FROM visit
GROUP BY fields
ORDER BY visitors DESC, visits DESC, shown
LIMIT $limit;
