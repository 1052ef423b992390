-- The pieces of one recorded visit, in the order of their arrival, without what is in them.
-- Parameters: $website_key UINTEGER, $visit_id UBIGINT, $since BIGINT (ms since 1970 UTC; what began before is hidden).
-- Rows: number of the piece, session, first and last time (ms), number of events.
SELECT
    chunk_number,
    session_id,
    started_at,
    ended_at,
    event_count
FROM facts.replay_chunk
WHERE website_key = $website_key
    AND visit_id = $visit_id
    AND started_at >= $since
ORDER BY chunk_number;
