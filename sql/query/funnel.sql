-- How many sessions reach each step of a funnel. A step is reached by a row that matches it, at or after a row that
-- reached the step before, and no later than the window after that row; the first step by any row that matches.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $window_ms
-- BIGINT. The chosen expression is a number whose bit N is set when the row matches step N+1; of eight steps at most.
-- Rows: step (from 1), sessions; steps that nobody reached are left out.
WITH RECURSIVE matched AS (
    SELECT
        session_id,
        created_at,
        /*:column*/event_type AS steps
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
),

-- One row for each step that a row matches.
marked AS MATERIALIZED (
    SELECT
        number.step,
        matched.session_id,
        matched.created_at
    FROM matched, (SELECT unnest([1, 2, 3, 4, 5, 6, 7, 8]) AS step) AS number
    WHERE matched.steps <> 0
        AND (matched.steps >> (number.step - 1)) & 1 = 1
),

-- Each round takes the rows that reached a step and those that match the next one, in order of time: a running
-- maximum says when the step before was last reached, so no row is ever joined with another.
reached AS (
    SELECT
        step,
        session_id,
        created_at
    FROM marked
    WHERE step = 1

    UNION ALL

    SELECT
        step,
        session_id,
        created_at
    FROM (
        SELECT
            step,
            session_id,
            created_at,
            is_before,
            max(CASE WHEN is_before THEN created_at END)
                OVER (PARTITION BY step, session_id ORDER BY created_at) AS before_at
        FROM (
            SELECT
                step + 1 AS step,
                session_id,
                created_at,
                true AS is_before
            FROM reached

            UNION ALL

            SELECT
                step,
                session_id,
                created_at,
                false AS is_before
            FROM marked
            WHERE step > 1
        ) AS around
    ) AS next_step
    WHERE NOT is_before
        AND created_at - before_at <= $window_ms
)

SELECT
    step,
    count(DISTINCT session_id) AS visitors
FROM reached
GROUP BY step
ORDER BY step;
