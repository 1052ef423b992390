-- A piece of the events of a range, whole, oldest first; those of one time in the order of their ids.
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $first_id and
-- $last_id UBIGINT (of the events at $start_at and at $end_at, those between them). The ends are those that
-- export_pieces.sql found, so that only the row groups of the piece are read.
-- Rows: the event's columns, then its properties as one JSON object or NULL. The names and kinds of the columns stand in
-- src/api/export/columns.rs.
WITH whole AS (
    SELECT *
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND (created_at > $start_at OR event_id >= $first_id)
        AND (created_at < $end_at OR event_id <= $last_id)
        /*:filters*/
),

property AS (
    SELECT
        event_id,
        json_group_object(
            data_key,
            CASE data_type
                WHEN 2 THEN to_json(number_value)
                WHEN 3 THEN to_json(string_value = 'true')
                WHEN 5 THEN
                    CASE WHEN json_valid(string_value) THEN string_value::JSON ELSE to_json(string_value) END
                ELSE to_json(string_value)
            END
        )::VARCHAR AS properties
    FROM facts.event_data
    SEMI JOIN whole USING (event_id)
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
    GROUP BY event_id
)

SELECT
    whole.event_id,
    whole.created_at,
    whole.event_type,
    whole.session_id,
    whole.visit_id,
    whole.hostname,
    whole.url_path,
    whole.url_query,
    whole.page_title,
    whole.referrer_domain,
    whole.referrer_path,
    whole.referrer_query,
    whole.channel,
    whole.utm_source,
    whole.utm_medium,
    whole.utm_campaign,
    whole.utm_content,
    whole.utm_term,
    whole.click_id,
    whole.event_name,
    whole.tag,
    whole.distinct_id,
    whole.browser,
    whole.os,
    whole.device,
    whole.screen,
    whole.language,
    whole.country,
    whole.region,
    whole.city,
    whole.lcp,
    whole.inp,
    whole.cls,
    whole.fcp,
    whole.ttfb,
    property.properties
FROM whole
LEFT JOIN property ON whole.event_id = property.event_id
ORDER BY whole.created_at, whole.event_id;
