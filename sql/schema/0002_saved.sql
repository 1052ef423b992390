-- What people keep beside a website: segments, cohorts, goals, funnels and the other reports. Configuration like
-- `main.website`: few rows, looked up by id. `parameters` is a JSON object, as it was sent.
CREATE TABLE main.saved (
    saved_id    UUID PRIMARY KEY,
    website_key UINTEGER NOT NULL,
    website_id  UUID NOT NULL,
    user_id     UUID NOT NULL,
    type        VARCHAR NOT NULL, -- segment, cohort, or a type of report: goal, funnel, journey, …
    name        VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    parameters  VARCHAR NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
