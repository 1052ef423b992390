-- How the next events of a range, oldest first, those of one time in the order of their ids, are cut into pieces of
-- about equal bytes, whatever is in them.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $first_id UBIGINT
-- (of the events at $start_at, those from here on), $limit BIGINT events at most, $piece_bytes BIGINT.
-- An event counts its texts and properties, and for all its short columns and the names of its form 512 bytes.
-- Rows: time (ms) and id of the last event of each piece, in order; none when there are no more events.
WITH page AS (
    SELECT
        created_at,
        event_id
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND (created_at > $start_at OR event_id >= $first_id)
        /*:filters*/
    ORDER BY created_at, event_id
    LIMIT $limit
),

text AS (
    SELECT
        event.created_at,
        event.event_id,
        512 + strlen(
            concat(
                event.url_path, event.url_query, event.page_title, event.referrer_domain, event.referrer_path,
                event.referrer_query, event.utm_source, event.utm_medium, event.utm_campaign, event.utm_content,
                event.utm_term
            )
        ) AS bytes
    FROM facts.event
    SEMI JOIN page USING (created_at, event_id)
    WHERE event.website_key = $website_key
        AND event.created_at BETWEEN $start_at AND $end_at
),

property AS (
    SELECT
        event_id,
        sum(8 + strlen(data_key) + coalesce(strlen(string_value), 0)) AS bytes
    FROM facts.event_data
    SEMI JOIN page USING (created_at, event_id)
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
    GROUP BY event_id
),

weighed AS (
    SELECT
        text.created_at,
        text.event_id,
        sum(text.bytes + coalesce(property.bytes, 0)) OVER (ORDER BY text.created_at, text.event_id)::BIGINT AS bytes
    FROM text
    LEFT JOIN property ON text.event_id = property.event_id
)

SELECT
    max(created_at) AS last_at,
    arg_max(event_id, bytes) AS last_id
FROM weighed
GROUP BY (bytes - 1) // $piece_bytes
ORDER BY last_at, last_id;
