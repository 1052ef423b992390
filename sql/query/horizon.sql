-- The last event of a website that is stored: what comes in later has a higher row number.
-- Parameters: $website_key UINTEGER. One row: its row number, -1 when there is no event.
SELECT coalesce(max(rowid), -1) AS horizon
FROM facts.event
WHERE website_key = $website_key;
