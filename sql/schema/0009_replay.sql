-- Recordings of visits: what the page did, as the recorder in the visitor's browser sent it, piece by piece. Looked up by
-- visit and in the order of their arrival (`chunk_number`). Times are in ms since 1970 UTC.
CREATE TABLE facts.replay_chunk (
    chunk_number BIGINT   NOT NULL,
    website_key  UINTEGER NOT NULL,
    session_id   UBIGINT  NOT NULL,
    visit_id     UBIGINT  NOT NULL,
    started_at   BIGINT   NOT NULL, -- of its first event, by the visitor's clock where that is credible
    ended_at     BIGINT   NOT NULL,
    received_at  BIGINT   NOT NULL,
    event_count  UINTEGER NOT NULL,
    json_bytes   UINTEGER NOT NULL, -- of the events before they were compressed
    kept_bytes   UINTEGER NOT NULL,
    events       BLOB     NOT NULL  -- zstd of JSON objects with commas between them
);

CREATE SEQUENCE main.replay_chunk_sequence START 1;

-- Recordings that somebody wants to keep beyond the time for which recordings are kept.
CREATE TABLE main.saved_replay (
    website_key UINTEGER NOT NULL,
    visit_id    UBIGINT  NOT NULL,
    name        VARCHAR  NOT NULL,
    created_at  BIGINT   NOT NULL,
    updated_at  BIGINT   NOT NULL
);
