-- Distinct sessions by the first (or last) page of their visits. The first page of a visit is looked up in the
-- range without the filters; the filters choose visits, those that have a matching page row.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive),
-- $limit and $offset BIGINT. The chosen column is first_path or last_path. Rows of one visit with the same time
-- are taken in the order of their event ids.
-- Rows: value (never empty), NULL (in the place of a country), visitors; most visitors first, then alphabet.
WITH visit AS (
    SELECT
        visit_id,
        arg_min(url_path, created_at::HUGEINT * 18446744073709551616 + event_id) AS first_path,
        arg_max(url_path, created_at::HUGEINT * 18446744073709551616 + event_id) AS last_path
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 3, 4)
    GROUP BY visit_id
),

page AS (
    SELECT DISTINCT
        session_id,
        visit_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 3, 4)
        /*:filters*/
),

edge AS (
    SELECT
        /*:column*/first_path AS value,
        page.session_id
    FROM page
    INNER JOIN visit USING (visit_id)
)

SELECT
    value,
    NULL::VARCHAR AS place,
    count(DISTINCT session_id) AS visitors
FROM edge
WHERE value <> ''
GROUP BY value
ORDER BY visitors DESC, value
LIMIT $limit OFFSET $offset;
