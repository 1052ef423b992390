-- How many sessions have each value of a property, by the bucket of local time in which each session set it last. Only
-- buckets with rows, and only sessions with an event (web vitals aside) in the range.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $property_name
-- VARCHAR, $unit VARCHAR, $zone_since, $zone_until and $zone_offset (as in pageviews.sql), $is_array BOOLEAN:
-- false for texts and booleans, true for the elements of arrays, each once a session; $names_max BIGINT: only so many
-- values, the most frequent ones, ties in the order of the alphabet.
-- Rows: value, label of the bucket's local start, sessions; by time, then by value.
WITH zone AS (
    SELECT
        unnest($zone_since::BIGINT[]) AS since,
        unnest($zone_until::BIGINT[]) AS until,
        unnest($zone_offset::BIGINT[]) AS offset_ms
),

active AS (
    SELECT DISTINCT session_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type <> 5
        /*:filters*/
),

-- What was set last, whenever that was.
latest AS (
    SELECT *
    FROM facts.session_data
    SEMI JOIN active USING (session_id)
    WHERE website_key = $website_key
        AND data_key = $property_name
    QUALIFY row_number() OVER (
        PARTITION BY session_id, data_key
        ORDER BY created_at DESC, event_id DESC
    ) = 1
),

property AS (
    SELECT
        created_at,
        unnest(CASE
            WHEN NOT $is_array THEN [string_value]
            WHEN json_valid(string_value) THEN list_distinct(json_extract_string(string_value, '$[*]'))
        END) AS value
    FROM latest
    WHERE CASE WHEN $is_array THEN data_type = 5 ELSE data_type IN (1, 3) END
        AND created_at BETWEEN $start_at AND $end_at
),

bucket AS (
    SELECT
        value,
        date_trunc($unit, epoch_ms(created_at + zone.offset_ms)) AS starts,
        count(*) AS sessions
    FROM property
    INNER JOIN zone ON created_at >= zone.since AND created_at < zone.until
    GROUP BY value, starts
),

frequent AS (
    SELECT value
    FROM bucket
    GROUP BY value
    ORDER BY sum(sessions) DESC, value
    LIMIT $names_max
)

SELECT
    bucket.value,
    strftime(bucket.starts, '%Y-%m-%d %H:%M:%S') AS label,
    bucket.sessions
FROM bucket
INNER JOIN frequent USING (value)
ORDER BY bucket.starts, bucket.value;
