-- The most frequent values of one column, over the events of every type in a range.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $limit BIGINT.
-- Rows: value (NULL and the empty text are values too), events; most events first, ties in the order of the
-- alphabet, NULL first.
WITH event AS (
    SELECT /*:column*/url_path AS value
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        /*:filters*/
)

SELECT
    value,
    count(*) AS events
FROM event
GROUP BY value
ORDER BY events DESC, value NULLS FIRST
LIMIT $limit;
