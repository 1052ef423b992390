-- One piece of a recording as it is kept: zstd of JSON objects with commas between them.
-- Parameters: $website_key UINTEGER, $visit_id UBIGINT, $chunk_number BIGINT.
-- Rows: the piece; none when it has been deleted meanwhile.
SELECT events
FROM facts.replay_chunk
WHERE website_key = $website_key
    AND visit_id = $visit_id
    AND chunk_number = $chunk_number;
