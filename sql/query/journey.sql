-- The first steps of visits, and how many visits took them. A step is the name of a custom event or the path of a
-- page; equal steps in a row are one. The steps are counted before that: a page loaded five times is five of them.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $steps BIGINT,
-- $start_step and $end_step VARCHAR (NULL for any; the step of number 1 and of number $steps), $by_length BOOLEAN
-- (visits with fewer rows than $steps are listed apart), $limit BIGINT.
-- Rows: steps (JSON array of texts), whether the visits were shorter (NULL unless asked for), visits; the most
-- frequent first, then in the order of their texts.
WITH numbered AS (
    SELECT
        visit_id,
        coalesce(nullif(event_name, ''), url_path, '') AS item,
        row_number() OVER visit AS number,
        lag(coalesce(nullif(event_name, ''), url_path, '')) OVER visit AS item_before
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 2, 3, 4)
        /*:filters*/
    WINDOW visit AS (PARTITION BY visit_id ORDER BY created_at, event_id)
    QUALIFY number <= $steps
),

journey AS (
    SELECT
        list(item ORDER BY number) FILTER (item IS DISTINCT FROM item_before) AS items,
        count(*) < $steps AS is_short,
        max(item) FILTER (number = 1) AS first_item,
        max(item) FILTER (number = $steps) AS last_item
    FROM numbered
    GROUP BY visit_id
)

SELECT
    to_json(items)::VARCHAR AS path,
    CASE WHEN $by_length THEN is_short END AS shorter,
    count(*) AS visits
FROM journey
WHERE ($start_step IS NULL OR first_item = $start_step)
    AND ($end_step IS NULL OR last_item = $end_step)
GROUP BY path, shorter
ORDER BY visits DESC, path, shorter
LIMIT $limit;
