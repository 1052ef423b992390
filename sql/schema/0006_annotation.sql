-- Dated notes beside a website's charts. Configuration like `main.website`: few rows, looked up by id; they go with
-- their website and stay when it is reset. `noted_at` is in ms since 1970 UTC; of a note for a whole day, the day's begin.
CREATE TABLE main.annotation (
    annotation_id UUID PRIMARY KEY,
    website_key   UINTEGER NOT NULL,
    user_id       UUID NOT NULL,
    noted_at      BIGINT NOT NULL,
    all_day       BOOLEAN NOT NULL,
    note          VARCHAR NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL
);
