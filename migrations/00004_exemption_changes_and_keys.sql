-- Purpose: idempotency_keys holds what was answered to a request that brought an Idempotency-Key, so that sending it
--          again changes nothing. exemption_changes says which users each change of a group's exemptions touched, so that
--          a change of one among ten thousand is published as one.
-- Units:   expires_at is µs since 1970 UTC; digest is a SHA-256; result is the JSON of what the store answered.
-- Cost:    exemption_changes keeps the last 512 versions of a group, and nothing of a change of more than 512 entries:
--          what it cannot tell is published whole.

-- +goose Up
CREATE TABLE idempotency_keys (
    principal  {{id}} NOT NULL,
    operation  {{id}} NOT NULL,
    key        {{id}} NOT NULL,
    digest     {{bytes}} NOT NULL,
    result     text NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (principal, operation, key)
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);

CREATE TABLE exemption_changes (
    group_id {{id}} NOT NULL,
    version  bigint NOT NULL,
    user_id  {{id}} NOT NULL,
    PRIMARY KEY (group_id, version, user_id)
);

-- +goose Down
DROP TABLE exemption_changes;
DROP TABLE idempotency_keys;
