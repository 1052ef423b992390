-- Percentiles of the five web vitals over performance rows (event type 5).
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive).
-- One row: p50, p75 and p95 (between the values where need be) of lcp, inp, cls, fcp and ttfb, 0 without a value; rows.
SELECT
    coalesce(quantile_cont(lcp, 0.5), 0) AS lcp_p50,
    coalesce(quantile_cont(lcp, 0.75), 0) AS lcp_p75,
    coalesce(quantile_cont(lcp, 0.95), 0) AS lcp_p95,
    coalesce(quantile_cont(inp, 0.5), 0) AS inp_p50,
    coalesce(quantile_cont(inp, 0.75), 0) AS inp_p75,
    coalesce(quantile_cont(inp, 0.95), 0) AS inp_p95,
    coalesce(quantile_cont(cls, 0.5), 0) AS cls_p50,
    coalesce(quantile_cont(cls, 0.75), 0) AS cls_p75,
    coalesce(quantile_cont(cls, 0.95), 0) AS cls_p95,
    coalesce(quantile_cont(fcp, 0.5), 0) AS fcp_p50,
    coalesce(quantile_cont(fcp, 0.75), 0) AS fcp_p75,
    coalesce(quantile_cont(fcp, 0.95), 0) AS fcp_p95,
    coalesce(quantile_cont(ttfb, 0.5), 0) AS ttfb_p50,
    coalesce(quantile_cont(ttfb, 0.75), 0) AS ttfb_p75,
    coalesce(quantile_cont(ttfb, 0.95), 0) AS ttfb_p95,
    count(*) AS reports
FROM facts.event
WHERE website_key = $website_key
    AND created_at BETWEEN $start_at AND $end_at
    AND event_type = 5
    /*:filters*/;
