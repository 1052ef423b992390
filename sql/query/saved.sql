-- The parameters of one segment or cohort of a website.
-- Parameters: $website_key UINTEGER, $id VARCHAR (a UUID), $type VARCHAR. One row (a JSON object), or none.
SELECT parameters
FROM main.saved
WHERE website_key = $website_key
    AND saved_id = $id::UUID
    AND type = $type;
