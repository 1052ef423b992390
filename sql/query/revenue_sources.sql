-- Revenue in one currency by where the buyers came from: by a column of the first row of their session in the range.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $currency VARCHAR,
-- $limit BIGINT. Rows: value (NULL where there is none), NULL (in the place of a country), sum; the largest first, then
-- alphabet.
WITH chosen AS (
    SELECT event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        /*:filters*/
),

sale AS (
    SELECT
        session_id,
        sum(amount) AS amount
    FROM facts.revenue
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND currency = $currency
        AND event_id IN (SELECT event_id FROM chosen)
    GROUP BY session_id
),

landing AS (
    SELECT
        session_id,
        arg_min(
            struct_pack(value := /*:column*/referrer_domain),
            created_at::HUGEINT * 18446744073709551616 + event_id
        ) AS first_row
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 2, 3, 4)
        AND session_id IN (SELECT session_id FROM sale)
    GROUP BY session_id
)

SELECT
    landing.first_row.value AS value,
    NULL::VARCHAR AS place,
    sum(sale.amount)::DOUBLE AS total
FROM sale
INNER JOIN landing USING (session_id)
GROUP BY value
ORDER BY total DESC, value
LIMIT $limit;
