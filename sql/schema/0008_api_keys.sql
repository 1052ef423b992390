-- API keys: what programs send in place of a login. A key itself is never kept, only what it hashes to.
CREATE TABLE main.api_key (
    key_id       UUID PRIMARY KEY,
    user_id      UUID NOT NULL,
    name         VARCHAR NOT NULL,
    key_prefix   VARCHAR NOT NULL,        -- how the key begins, to tell it from others
    key_hash     VARCHAR NOT NULL UNIQUE, -- SHA-256 of the key, in hex
    may_write    BOOLEAN NOT NULL,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT
);
