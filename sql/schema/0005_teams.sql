-- Teams: people who share websites, links and pixels. A thing belongs to one user or to one team.
CREATE TABLE main.team (
    team_id     UUID PRIMARY KEY,
    name        VARCHAR NOT NULL,
    access_code VARCHAR NOT NULL, -- whoever knows it can join; one of its kind
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);

CREATE TABLE main.team_user (
    team_user_id UUID NOT NULL,
    team_id      UUID NOT NULL,
    user_id      UUID NOT NULL,
    role         VARCHAR NOT NULL, -- team-owner, team-manager, team-member, team-view-only
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
