-- Purpose: what a review of the audit log needs: an index for each filter, the fields that an entry changed, the proof of
--          an erasure, and the log of refused access.
-- Units:   changed holds JSON pointers with spaces between them; the sealer derives it from before and after, which prove
--          it; NULL = not derived yet, '' = nothing, or what was changed is erased. who_erasure and what_erasure are
--          "<id of the erasing entry>:<HMAC as hex>". Moments are µs since 1970 UTC.
-- Cost:    the indexes leave out what has no number yet, so that a save pays for none of them: the sealer does, in
--          batches. Words are compared as bytes, as ids are.

-- +goose Up
DROP INDEX audit_by_group;
DROP INDEX audit_unsealed;
CREATE INDEX audit_unsealed ON audit_entries (at, id) WHERE seq IS NULL; -- the sealer's order
ALTER TABLE audit_entries ADD COLUMN changed text;
ALTER TABLE audit_entries ADD COLUMN who_erasure text;
ALTER TABLE audit_entries ADD COLUMN what_erasure text;
-- +only postgres
ALTER TABLE audit_entries ALTER COLUMN actor TYPE text COLLATE "C", ALTER COLUMN role TYPE text COLLATE "C",
    ALTER COLUMN channel TYPE text COLLATE "C", ALTER COLUMN action TYPE text COLLATE "C",
    ALTER COLUMN request_id TYPE text COLLATE "C", ALTER COLUMN changed TYPE text COLLATE "C";
CREATE INDEX audit_by_change ON audit_entries USING gin (string_to_array(changed, ' ')) WHERE seq IS NOT NULL;
-- +end
CREATE INDEX audit_underived ON audit_entries (id) WHERE changed IS NULL AND seq IS NOT NULL;
CREATE INDEX audit_by_group ON audit_entries (group_id, seq) WHERE seq IS NOT NULL;
CREATE INDEX audit_by_actor ON audit_entries (actor, seq) WHERE seq IS NOT NULL;
CREATE INDEX audit_by_role ON audit_entries (role, seq) WHERE seq IS NOT NULL;
CREATE INDEX audit_by_channel ON audit_entries (channel, seq) WHERE seq IS NOT NULL;
CREATE INDEX audit_by_action ON audit_entries (action, seq) WHERE seq IS NOT NULL;
CREATE INDEX audit_by_request ON audit_entries (request_id, seq) WHERE seq IS NOT NULL;
CREATE INDEX audit_by_moment ON audit_entries (at, seq) WHERE seq IS NOT NULL;

-- One row for all refusals of a kind, a caller and a route within a minute.
CREATE TABLE refused_access (
    minute   bigint NOT NULL,
    kind     {{id}} NOT NULL,
    who      {{id}} NOT NULL,
    route    {{id}} NOT NULL,
    refused  bigint NOT NULL,
    first_at bigint NOT NULL,
    last_at  bigint NOT NULL,
    PRIMARY KEY (minute, kind, who, route)
);

-- +goose Down
DROP TABLE refused_access;
DROP INDEX audit_by_moment;
DROP INDEX audit_by_request;
DROP INDEX audit_by_action;
DROP INDEX audit_by_channel;
DROP INDEX audit_by_role;
DROP INDEX audit_by_actor;
DROP INDEX audit_by_group;
DROP INDEX audit_underived;
DROP INDEX audit_unsealed;
CREATE INDEX audit_unsealed ON audit_entries (id) WHERE seq IS NULL;
-- +only postgres
DROP INDEX audit_by_change;
ALTER TABLE audit_entries ALTER COLUMN actor TYPE text COLLATE "default", ALTER COLUMN role TYPE text COLLATE "default",
    ALTER COLUMN channel TYPE text COLLATE "default", ALTER COLUMN action TYPE text COLLATE "default",
    ALTER COLUMN request_id TYPE text COLLATE "default";
-- +end
ALTER TABLE audit_entries DROP COLUMN what_erasure;
ALTER TABLE audit_entries DROP COLUMN who_erasure;
ALTER TABLE audit_entries DROP COLUMN changed;
CREATE INDEX audit_by_group ON audit_entries (group_id, seq);
