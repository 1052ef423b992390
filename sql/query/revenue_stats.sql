-- Revenue in one currency: of the events that are left by the filters.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $currency VARCHAR.
-- One row: sum (NULL without revenue), sales, sessions with a sale, all sessions whatever the filters.
WITH chosen AS (
    SELECT event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        /*:filters*/
)

SELECT
    sum(amount)::DOUBLE AS total,
    count(*) AS sales,
    count(DISTINCT session_id) AS buyers,
    (
        SELECT count(DISTINCT session_id)
        FROM facts.event
        WHERE website_key = $website_key
            AND created_at BETWEEN $start_at AND $end_at
    ) AS visitors
FROM facts.revenue
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    AND currency = $currency
    AND event_id IN (SELECT event_id FROM chosen);
