-- Distinct sessions by value of one column, over the page rows (event types 1, 3 and 4) of a range.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive),
-- $by_country BOOLEAN (also group by country: two towns of one name are two rows), $limit and $offset BIGINT.
-- Rows: value (never NULL or empty), country (NULL unless asked for), visitors; most visitors first, ties in the
-- order of the alphabet.
WITH page AS (
    SELECT
        /*:column*/url_path AS value,
        country,
        session_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 3, 4)
        /*:filters*/
)

SELECT
    value,
    CASE WHEN $by_country THEN country END AS place,
    count(DISTINCT session_id) AS visitors
FROM page
WHERE value <> ''
GROUP BY value, place
ORDER BY visitors DESC, value, place
LIMIT $limit OFFSET $offset;
