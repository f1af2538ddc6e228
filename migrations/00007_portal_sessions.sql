-- Purpose: people whom the chat platform sends to the pages: a code that is good for one sign-in within a minute, and the
--          session that comes of it. The code itself is not kept, only its SHA-256.
-- Units:   as in 00001. used_at NULL = nobody signed in with it; expires_at is the session's end.
-- Cost:    a row for each link that the platform asks for; rows are deleted a month after their end.

-- +goose Up
CREATE TABLE portal_sessions (
    id              {{id}} PRIMARY KEY,
    code_hash       {{id}} NOT NULL UNIQUE,
    user_id         {{id}} NOT NULL,
    name            text NOT NULL,
    groups          text NOT NULL,
    locale          text NOT NULL,
    created_at      bigint NOT NULL,
    created_by      text NOT NULL,
    code_expires_at bigint NOT NULL,
    expires_at      bigint NOT NULL,
    used_at         bigint,
    revoked_at      bigint
);

-- +goose Down
DROP TABLE portal_sessions;
