-- Purpose: the fleet job, which publishes every group anew: one row a shard, claimed by lease, so that several instances
--          share one job and a killed one's shards are taken over. A shard's work is open while ended < asked, its
--          groups while done < asked; both take the number of the asking that they satisfy. Counters are those in force
--          when it was asked: the default hashes are compiled at them, after the groups of all shards are done.
-- Units:   claimed_until, began_at and ended_at are µs since 1970 UTC, 0 = never; took_ms is in ms.
-- Cost:    256 rows and one, always the same; their updates are HOT.

-- +goose Up
CREATE TABLE fleet_shards (
    shard            smallint PRIMARY KEY CHECK (shard BETWEEN 0 AND 255),
    asked            bigint NOT NULL,
    done             bigint NOT NULL,
    ended            bigint NOT NULL,
    generation       bigint NOT NULL,
    bounds_version   bigint NOT NULL,
    defaults_version bigint NOT NULL,
    whole            boolean NOT NULL,
    stale            boolean NOT NULL,
    unpaced          boolean NOT NULL,
    format           bigint NOT NULL,
    nonce            text NOT NULL,
    taker            text NOT NULL,
    claimed_until    bigint NOT NULL,
    groups_done      bigint NOT NULL
) {{hot}};
INSERT INTO fleet_shards (shard, asked, done, ended, generation, bounds_version, defaults_version, whole, stale, unpaced,
    format, nonce, taker, claimed_until, groups_done)
WITH RECURSIVE n (shard) AS (SELECT 0 UNION ALL SELECT shard + 1 FROM n WHERE shard < 255)
SELECT shard, 0, 0, 0, 1, 0, 0, false, false, false, 0, '', '', 0, 0 FROM n;

CREATE TABLE fleet_job (
    id            smallint PRIMARY KEY CHECK (id = 1),
    number        bigint NOT NULL,
    reason        text NOT NULL,
    asked_by      text NOT NULL,
    began_at      bigint NOT NULL,
    ended_at      bigint NOT NULL,
    took_ms       bigint NOT NULL,
    groups_about  bigint NOT NULL,
    taker         text NOT NULL,
    claimed_until bigint NOT NULL
) {{hot}};
INSERT INTO fleet_job (id, number, reason, asked_by, began_at, ended_at, took_ms, groups_about, taker, claimed_until)
VALUES (1, 0, '', '', 0, 0, 0, 0, '', 0);

-- +goose Down
DROP TABLE fleet_job;
DROP TABLE fleet_shards;
