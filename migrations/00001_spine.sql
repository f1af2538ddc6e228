-- Purpose: groups and their documents, versions, exemptions, holds, the system's own settings, tokens, sessions, audit
--          and outbox. One file for both dialects; the filter in filter.go replaces {{id}} (bytewise text), {{bytes}}
--          and {{hot}} (room for HOT updates), and keeps "+only" blocks of its dialect.
-- Units:   *_at and at are µs since 1970 UTC, *_ms are ms since 1970 UTC or lengths in ms. NULL = never or no end.
-- Cost:    no index stands on a column that edits change (documents, versions, counters): updates stay HOT.
--          No foreign keys on hot tables: groups are archived, never deleted, and their rows are written under the
--          group's row lock, so a key check would only cost.

-- +goose Up
CREATE TABLE system (
    id               smallint PRIMARY KEY CHECK (id = 1),
    generation       bigint NOT NULL CHECK (generation BETWEEN 1 AND 8191),
    bounds_version   bigint NOT NULL,
    defaults_version bigint NOT NULL
);
INSERT INTO system (id, generation, bounds_version, defaults_version) VALUES (1, 1, 0, 0);

-- Version 0 of both is what the program ships; it has no row.
CREATE TABLE bounds_versions (
    version bigint PRIMARY KEY,
    bounds  text NOT NULL,
    at      bigint NOT NULL,
    actor   text NOT NULL,
    reason  text NOT NULL
);
CREATE TABLE defaults_versions (
    version  bigint PRIMARY KEY,
    document text NOT NULL,
    actions  text NOT NULL,
    at       bigint NOT NULL,
    actor    text NOT NULL,
    reason   text NOT NULL
);

CREATE TABLE groups (
    id                 {{id}} PRIMARY KEY,
    shard              smallint NOT NULL CHECK (shard BETWEEN 0 AND 255),
    name               text NOT NULL,
    locale             text NOT NULL,
    revision           bigint NOT NULL,
    archived_at        bigint,
    version            bigint NOT NULL,
    document           text NOT NULL,
    exemptions_version bigint NOT NULL,
    exemptions_count   bigint NOT NULL,
    created_at         bigint NOT NULL,
    updated_at         bigint NOT NULL
) {{hot}};
CREATE INDEX groups_by_shard ON groups (shard, id);

CREATE TABLE policy_versions (
    group_id {{id}} NOT NULL,
    version  bigint NOT NULL,
    kind     text NOT NULL CHECK (kind IN ('update', 'delete', 'restore', 'archive', 'unarchive')),
    document text NOT NULL,
    at       bigint NOT NULL,
    actor    text NOT NULL,
    role     text NOT NULL,
    channel  text NOT NULL,
    reason   text NOT NULL,
    PRIMARY KEY (group_id, version)
);

CREATE TABLE exemptions (
    group_id   {{id}} NOT NULL,
    user_id    {{id}} NOT NULL,
    expires_at bigint,
    note       text NOT NULL,
    granted_by text NOT NULL,
    granted_at bigint NOT NULL,
    PRIMARY KEY (group_id, user_id)
);

CREATE TABLE mutes (
    group_id  {{id}} NOT NULL,
    user_id   {{id}} NOT NULL,
    shard     smallint NOT NULL,
    start_ms  bigint NOT NULL,
    end_ms    bigint NOT NULL,
    cause     text NOT NULL CHECK (cause IN ('ladder', 'moderator', 'review', 'remove')),
    step      bigint NOT NULL,
    by        text NOT NULL,
    reason    text NOT NULL,
    lifted_at bigint,
    lifted_by text NOT NULL,
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX mutes_by_shard ON mutes (shard, group_id, user_id);

CREATE TABLE bans (
    group_id  {{id}} NOT NULL,
    action    {{id}} NOT NULL,
    user_id   {{id}} NOT NULL,
    shard     smallint NOT NULL,
    start_ms  bigint NOT NULL,
    end_ms    bigint NOT NULL,
    lifted_at bigint,
    lifted_by text NOT NULL,
    PRIMARY KEY (group_id, action, user_id)
);
CREATE INDEX bans_by_shard ON bans (shard, group_id, action, user_id);

CREATE TABLE event_cursors (
    shard  smallint PRIMARY KEY,
    cursor text NOT NULL
);

CREATE TABLE outbox (
    id            {{id}} PRIMARY KEY,
    kind          text NOT NULL CHECK (kind IN ('policy', 'exemptions', 'mute', 'ban', 'fleet')),
    group_id      {{id}} NOT NULL,
    action        text NOT NULL,
    user_id       text NOT NULL,
    version       bigint NOT NULL,
    created_at    bigint NOT NULL,
    claimed_until bigint NOT NULL
) {{hot}};

CREATE TABLE publications (
    group_id  {{id}} PRIMARY KEY,
    version   bigint NOT NULL,
    order_no  bigint NOT NULL,
    at        bigint NOT NULL,
    lag_ms    bigint NOT NULL
) {{hot}};

CREATE TABLE tokens (
    id          {{id}} PRIMARY KEY,
    name        text NOT NULL,
    role        text NOT NULL CHECK (role IN ('operator', 'auditor', 'platform', 'gateway', 'group_admin')),
    groups      text NOT NULL,
    secret_hash {{id}} NOT NULL UNIQUE,
    expires_at  bigint,
    created_at  bigint NOT NULL,
    created_by  text NOT NULL,
    revoked_at  bigint
);

CREATE TABLE sessions (
    token      {{id}} PRIMARY KEY,
    data       {{bytes}} NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- seq is NULL from the change's commit until the entry is sealed, within a second: numbering it in the change's own
-- transaction would make every save wait for the one before it.
CREATE TABLE audit_entries (
    id         {{id}} PRIMARY KEY,
    seq        bigint UNIQUE,
    at         bigint NOT NULL,
    actor      text NOT NULL,
    role       text NOT NULL,
    channel    text NOT NULL,
    action     text NOT NULL,
    target     text NOT NULL,
    group_id   {{id}} NOT NULL,
    before     text NOT NULL,
    after      text NOT NULL,
    reason     text NOT NULL,
    request_id text NOT NULL,
    address    text NOT NULL,
    prev_hash  text NOT NULL,
    hash       text NOT NULL
);
CREATE INDEX audit_unsealed ON audit_entries (id) WHERE seq IS NULL;
CREATE INDEX audit_by_group ON audit_entries (group_id, seq);

CREATE TABLE audit_head (
    id   smallint PRIMARY KEY CHECK (id = 1),
    seq  bigint NOT NULL,
    hash text NOT NULL,
    hmac text NOT NULL
);
INSERT INTO audit_head (id, seq, hash, hmac) VALUES (1, 0, '', '');

-- +goose Down
DROP TABLE audit_head;
DROP TABLE audit_entries;
DROP TABLE sessions;
DROP TABLE tokens;
DROP TABLE publications;
DROP TABLE outbox;
DROP TABLE event_cursors;
DROP TABLE bans;
DROP TABLE mutes;
DROP TABLE exemptions;
DROP TABLE policy_versions;
DROP TABLE groups;
DROP TABLE defaults_versions;
DROP TABLE bounds_versions;
DROP TABLE system;
