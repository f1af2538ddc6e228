-- Purpose: each shard of the fleet job ends by itself, its default hashes after its groups: nothing is left for the end of
--          the whole job to be claimed for, and what is asked for meanwhile leaves done shards done.
-- Units:   none.
-- Cost:    none; the dropped columns had one value for each of 257 rows.

-- +goose Up
ALTER TABLE fleet_shards DROP COLUMN done;
ALTER TABLE fleet_job DROP COLUMN taker;
ALTER TABLE fleet_job DROP COLUMN claimed_until;

-- +goose Down
ALTER TABLE fleet_shards ADD COLUMN done bigint NOT NULL DEFAULT 0;
UPDATE fleet_shards SET done = ended;
ALTER TABLE fleet_job ADD COLUMN taker text NOT NULL DEFAULT '';
ALTER TABLE fleet_job ADD COLUMN claimed_until bigint NOT NULL DEFAULT 0;
