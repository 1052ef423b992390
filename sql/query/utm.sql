-- Page rows (event types 1, 3 and 4) by one utm value.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $limit BIGINT.
-- Rows: value (never NULL or empty), views; most views first, then alphabet.
SELECT
    /*:column*/utm_source AS value,
    count(*) AS views
FROM facts.event
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    AND event_type IN (1, 3, 4)
    AND value <> ''
    /*:filters*/
GROUP BY value
ORDER BY views DESC, value
LIMIT $limit;
