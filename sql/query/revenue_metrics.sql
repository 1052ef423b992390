-- Revenue in one currency by a column of the events that made it.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $currency VARCHAR,
-- $by_country BOOLEAN (also group by country), $limit BIGINT.
-- Rows: value (NULL for events without one), country (NULL unless asked for), sum; the largest first, then alphabet.
WITH chosen AS (
    SELECT
        event_id,
        /*:column*/country AS value,
        CASE WHEN $by_country THEN country END AS place
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        /*:filters*/
),

sale AS (
    SELECT
        event_id,
        amount
    FROM facts.revenue
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND currency = $currency
)

SELECT
    chosen.value,
    chosen.place,
    sum(sale.amount)::DOUBLE AS total
FROM sale
INNER JOIN chosen USING (event_id)
GROUP BY chosen.value, chosen.place
ORDER BY total DESC, chosen.value, chosen.place
LIMIT $limit;
