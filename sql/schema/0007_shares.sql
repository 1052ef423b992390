-- Shares: addresses under which anybody may look at a website, link or pixel. The share ids that websites had until now
-- become shares, and the column goes.
CREATE TABLE main.share (
    share_id   UUID PRIMARY KEY,
    entity_id  UUID NOT NULL,     -- a website, link or pixel
    share_type UTINYINT NOT NULL, -- 1 website, 2 link, 3 pixel
    name       VARCHAR NOT NULL,
    slug       VARCHAR NOT NULL,  -- one of its kind
    parameters VARCHAR NOT NULL,  -- JSON object: what the page shows
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

INSERT INTO main.share
SELECT uuid(), website_id, 1, name, share_id, '{"events":true,"overview":true}', created_at, created_at
FROM main.website WHERE share_id IS NOT NULL;

ALTER TABLE main.website DROP COLUMN share_id;
