-- Boards: pages that people put together of figures. What is on one is the client's business and kept as it was sent.
CREATE TABLE main.board (
    board_id    UUID PRIMARY KEY,
    kind        VARCHAR NOT NULL, -- open; dashboard: a user's first page, one for each
    name        VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    parameters  VARCHAR NOT NULL, -- JSON object
    user_id     UUID,
    team_id     UUID,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
