-- Purpose: what makes the audit log provable. The personal parts of an entry, who (actor, address) and what (target,
--          before, after, reason), enter its hash as digests with a salt of their own; erasing a part empties its texts,
--          drops its salt and keeps its digest, so that the chain still holds. mac is made when the entry is written.
-- Units:   salts 16 bytes, digests and mac 32 bytes. Salt NULL and digest set = erased; else digest is NULL.
-- Cost:    about 70 bytes an entry. Columns without defaults: no table is rewritten.

-- +goose Up
ALTER TABLE audit_entries ADD COLUMN who_salt {{bytes}};
ALTER TABLE audit_entries ADD COLUMN what_salt {{bytes}};
ALTER TABLE audit_entries ADD COLUMN who_digest {{bytes}};
ALTER TABLE audit_entries ADD COLUMN what_digest {{bytes}};
ALTER TABLE audit_entries ADD COLUMN mac {{bytes}};

-- +goose Down
ALTER TABLE audit_entries DROP COLUMN mac;
ALTER TABLE audit_entries DROP COLUMN what_digest;
ALTER TABLE audit_entries DROP COLUMN who_digest;
ALTER TABLE audit_entries DROP COLUMN what_salt;
ALTER TABLE audit_entries DROP COLUMN who_salt;
