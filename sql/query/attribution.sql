-- Where the sessions came from that have a row which is the conversion: from the session's first page row in the range,
-- or from the last one up to its last conversion that came from outside (from another host, with a campaign, or with
-- the click id of an advertisement).
-- Parameters: $website_key UINTEGER, $start_at and $end_at BIGINT (ms since 1970 UTC, both inclusive), $first BOOLEAN
-- (the first row, not the last). The chosen expression is the conversion.
-- Rows: kind (referrer, advertiser, utm_source, utm_medium, utm_campaign, utm_content, utm_term), value (never NULL or
-- empty), sessions; of each kind at most a hundred, most sessions first, then alphabet.
WITH conversion AS (
    SELECT
        session_id,
        max(created_at) AS converted_at
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND /*:column*/has_data
        /*:filters*/
    GROUP BY session_id
),

page AS (
    SELECT
        session_id,
        created_at,
        event_id,
        {
            'referrer': CASE
                WHEN referrer_domain IS DISTINCT FROM
                    CASE WHEN starts_with(hostname, 'www.') THEN substr(hostname, 5) ELSE hostname END
                    THEN nullif(referrer_domain, '')
            END,
            'advertiser': CASE click_id
                WHEN 'gclid' THEN 'Google Ads'
                WHEN 'dclid' THEN 'Google Ads'
                WHEN 'fbclid' THEN 'Facebook / Meta'
                WHEN 'msclkid' THEN 'Microsoft Ads'
                WHEN 'ttclid' THEN 'TikTok Ads'
                WHEN 'li_fat_id' THEN 'LinkedIn Ads'
                WHEN 'twclid' THEN 'Twitter Ads (X)'
                WHEN 'rdt_cid' THEN 'Reddit Ads'
            END,
            'utm_source': nullif(utm_source, ''),
            'utm_medium': nullif(utm_medium, ''),
            'utm_campaign': nullif(utm_campaign, ''),
            'utm_content': nullif(utm_content, ''),
            'utm_term': nullif(utm_term, '')
        } AS origin
    FROM facts.event
    WHERE website_key = $website_key
        AND created_at BETWEEN $start_at AND $end_at
        AND event_type IN (1, 3, 4)
        AND session_id IN (SELECT session_id FROM conversion)
),

touch AS (
    SELECT arg_min(
        page.origin,
        (CASE WHEN $first THEN page.created_at ELSE -page.created_at END)::HUGEINT * 18446744073709551616
            + CASE WHEN $first THEN page.event_id::HUGEINT ELSE -page.event_id::HUGEINT END
    ) AS origin
    FROM page
    INNER JOIN conversion USING (session_id)
    WHERE $first
        OR (
            page.created_at <= conversion.converted_at
            AND coalesce(
                page.origin.referrer,
                page.origin.advertiser,
                page.origin.utm_source,
                page.origin.utm_medium,
                page.origin.utm_campaign
            ) IS NOT NULL
        )
    GROUP BY page.session_id
),

named AS (
    SELECT unnest([
        { 'kind': 'referrer', 'value': origin.referrer },
        { 'kind': 'advertiser', 'value': origin.advertiser },
        { 'kind': 'utm_source', 'value': origin.utm_source },
        { 'kind': 'utm_medium', 'value': origin.utm_medium },
        { 'kind': 'utm_campaign', 'value': origin.utm_campaign },
        { 'kind': 'utm_content', 'value': origin.utm_content },
        { 'kind': 'utm_term', 'value': origin.utm_term }
    ], recursive := true)
    FROM touch
)

SELECT
    kind,
    value,
    count(*) AS sessions
FROM named
WHERE value IS NOT NULL
GROUP BY kind, value
QUALIFY row_number() OVER (PARTITION BY kind ORDER BY sessions DESC, value) <= 100
ORDER BY kind, sessions DESC, value;
