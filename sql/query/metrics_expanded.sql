-- The five figures by value of one column. Rows are grouped by value within each visit first, so bounces and time
-- are those of the value: a page seen once in a longer visit is a bounce of that page.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive),
-- $custom BOOLEAN (over custom events, type 2, instead of page rows, types 1, 3 and 4), $by_country BOOLEAN (also
-- group by country), $limit and $offset BIGINT.
-- Rows: value (never NULL or empty), country (NULL unless asked for), pageviews, visitors, visits, bounces,
-- totaltime (whole seconds); most visitors first, then most visits, then alphabet.
WITH chosen AS (
    SELECT
        /*:column*/url_path AS value,
        CASE WHEN $by_country THEN country END AS place,
        session_id,
        visit_id,
        created_at
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND CASE WHEN $custom THEN event_type = 2 ELSE event_type IN (1, 3, 4) END
        /*:filters*/
),

visit AS (
    SELECT
        value,
        place,
        session_id,
        visit_id,
        count(*) AS views,
        max(created_at) - min(created_at) AS lasted_ms
    FROM chosen
    WHERE value <> ''
    GROUP BY value, place, session_id, visit_id
)

SELECT
    value,
    place,
    sum(views)::BIGINT AS pageviews,
    count(DISTINCT session_id) AS visitors,
    count(DISTINCT visit_id) AS visits,
    count(*) FILTER (views = 1) AS bounces,
    sum(lasted_ms // 1000)::BIGINT AS totaltime
FROM visit
GROUP BY value, place
ORDER BY visitors DESC, visits DESC, value, place
LIMIT $limit OFFSET $offset;
