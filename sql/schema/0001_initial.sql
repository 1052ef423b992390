-- The first schema. Two schemas: `facts` holds what trackers report (append-only, no key and no index, since
-- DuckDB keeps indexes in memory and replays them at start); `main` holds the few rows of configuration.
-- Times are milliseconds since 1970 in UTC. Session, visit and event ids are the 64 significant bits of the
-- UUIDs the API shows (see src/identity.rs). `website_key` is the small number a website gets once, never reused.

CREATE SCHEMA facts;

CREATE TABLE facts.event (
    website_key     UINTEGER NOT NULL,
    event_id        UBIGINT  NOT NULL,
    session_id      UBIGINT  NOT NULL,
    visit_id        UBIGINT  NOT NULL,
    created_at      BIGINT   NOT NULL,
    event_type      UTINYINT NOT NULL, -- 1 page view, 2 custom event, 3 link, 4 pixel, 5 performance
    hostname        VARCHAR,
    url_path        VARCHAR,
    url_query       VARCHAR,
    page_title      VARCHAR,
    referrer_domain VARCHAR,           -- NULL: no referrer; '': a referrer without a host
    referrer_path   VARCHAR,
    referrer_query  VARCHAR,
    channel         VARCHAR,           -- acquisition channel, computed at intake (src/enrich/channel.rs)
    utm_source      VARCHAR,
    utm_medium      VARCHAR,
    utm_campaign    VARCHAR,
    utm_content     VARCHAR,
    utm_term        VARCHAR,
    click_id        VARCHAR,           -- which click id the address carried (gclid, fbclid, …), not its value
    event_name      VARCHAR,
    tag             VARCHAR,
    distinct_id     VARCHAR,           -- the site's own id of a visitor, if it sends one
    browser         VARCHAR,
    os              VARCHAR,
    device          VARCHAR,
    screen          VARCHAR,
    language        VARCHAR,
    country         VARCHAR,
    region          VARCHAR,
    city            VARCHAR,
    lcp             DOUBLE,            -- web vitals in ms, cls without unit; only on event_type 5
    inp             DOUBLE,
    cls             DOUBLE,
    fcp             DOUBLE,
    ttfb            DOUBLE,
    has_data        BOOLEAN  NOT NULL
);

-- One row a property of an event. data_type: 1 string, 2 number, 3 boolean, 4 date, 5 array.
CREATE TABLE facts.event_data (
    website_key  UINTEGER NOT NULL,
    event_id     UBIGINT  NOT NULL,
    session_id   UBIGINT  NOT NULL,
    created_at   BIGINT   NOT NULL,
    event_name   VARCHAR,
    url_path     VARCHAR,
    data_key     VARCHAR  NOT NULL,
    data_type    UTINYINT NOT NULL,
    string_value VARCHAR,
    number_value DECIMAL(19, 4),
    date_value   BIGINT
);

-- One row a property that `identify` set on a session; the latest row of a key is the one that counts.
CREATE TABLE facts.session_data (
    website_key  UINTEGER NOT NULL,
    event_id     UBIGINT  NOT NULL,
    session_id   UBIGINT  NOT NULL,
    created_at   BIGINT   NOT NULL,
    distinct_id  VARCHAR,
    data_key     VARCHAR  NOT NULL,
    data_type    UTINYINT NOT NULL,
    string_value VARCHAR,
    number_value DECIMAL(19, 4),
    date_value   BIGINT
);

CREATE TABLE facts.revenue (
    website_key  UINTEGER NOT NULL,
    event_id     UBIGINT  NOT NULL,
    session_id   UBIGINT  NOT NULL,
    created_at   BIGINT   NOT NULL,
    event_name   VARCHAR,
    currency     VARCHAR  NOT NULL, -- upper case
    amount       DECIMAL(19, 4) NOT NULL
);

-- How far each ring has been committed. Written in the transaction that appends the rows.
CREATE TABLE facts.ring_cursor (
    ring_id            UBIGINT  NOT NULL, -- the random id in the ring file's header
    ring_number        UINTEGER NOT NULL, -- small number, high bits of the event ids of this ring
    committed_sequence UBIGINT  NOT NULL
);

CREATE TABLE main.schema_version (version INTEGER NOT NULL, applied_at BIGINT NOT NULL);

CREATE TABLE main.user_account (
    user_id       UUID PRIMARY KEY,
    username      VARCHAR NOT NULL UNIQUE,
    password_hash VARCHAR NOT NULL,
    role          VARCHAR NOT NULL,           -- admin, user, view-only
    token_epoch   BIGINT  NOT NULL DEFAULT 0, -- raised on password change: tokens of another epoch are dead
    created_at    BIGINT  NOT NULL,
    updated_at    BIGINT
);

-- Logins that were ended before their time. A row may go when its login has expired anyway.
CREATE TABLE main.ended_login (login_id UBIGINT NOT NULL, expires_at BIGINT NOT NULL);

CREATE SEQUENCE main.website_key_sequence START 1;

CREATE TABLE main.website (
    website_key UINTEGER PRIMARY KEY DEFAULT nextval('main.website_key_sequence'),
    website_id  UUID NOT NULL UNIQUE,
    name        VARCHAR NOT NULL,
    domain      VARCHAR NOT NULL,
    share_id    VARCHAR,
    user_id     UUID,
    team_id     UUID,
    created_by  UUID,
    reset_at    BIGINT,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT,
    replay_enabled BOOLEAN NOT NULL DEFAULT false, -- kept for API clients; nothing is recorded
    replay_config  VARCHAR                         -- JSON object, as it was sent
);
