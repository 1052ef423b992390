-- Links and pixels: short addresses whose visits are events. In the event tables each stands in a website's place, under
-- a key out of the websites' own sequence, so that no key ever means two things.
CREATE TABLE main.link (
    website_key UINTEGER PRIMARY KEY,
    link_id     UUID NOT NULL UNIQUE,
    kind        VARCHAR NOT NULL, -- link, pixel
    name        VARCHAR NOT NULL,
    slug        VARCHAR NOT NULL, -- one of its kind
    url         VARCHAR,          -- where a link leads, as it was given; a pixel leads nowhere
    user_id     UUID,
    team_id     UUID,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
