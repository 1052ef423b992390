-- Percentiles of one web vital by a column, over performance rows (event type 5).
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $limit BIGINT.
-- The chosen expression is a pair: the column and the vital.
-- Rows: value (NULL for rows without one), p50, p75, p95 (0 where no row has the vital), rows; the slowest (p75) first, then alphabet.
WITH measured AS (
    SELECT /*:column*/struct_pack(value := url_path, vital := lcp) AS report
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type = 5
        /*:filters*/
)

SELECT
    report.value AS value,
    coalesce(quantile_cont(report.vital, 0.5), 0) AS p50,
    coalesce(quantile_cont(report.vital, 0.75), 0) AS p75,
    coalesce(quantile_cont(report.vital, 0.95), 0) AS p95,
    count(*) AS reports
FROM measured
GROUP BY value
ORDER BY p75 DESC, value
LIMIT $limit;
