package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gorm.io/gorm"
)

// FleetShard is one shard's part of the fleet job.
type FleetShard struct {
	Shard    uint8
	Asked    int64
	Whole    bool
	Stale    bool
	Unpaced  bool
	Nonce    string // "" = no rebuild
	Counters Counters
}

type fleetShard struct {
	Shard                                      uint8
	Asked                                      int64
	Whole, Stale, Unpaced                      bool
	Nonce                                      string
	Generation, BoundsVersion, DefaultsVersion int64
}

func publicShards(rows []fleetShard) []FleetShard {
	slices.SortFunc(rows, func(a, b fleetShard) int { return cmp.Compare(a.Shard, b.Shard) })
	out := make([]FleetShard, 0, len(rows))
	for _, r := range rows {
		out = append(out, FleetShard{
			Shard: r.Shard, Asked: r.Asked, Whole: r.Whole, Stale: r.Stale, Unpaced: r.Unpaced, Nonce: r.Nonce,
			Counters: Counters{Generation: r.Generation, BoundsVersion: r.BoundsVersion, DefaultsVersion: r.DefaultsVersion},
		})
	}
	return out
}

const fleetColumns = "shard, asked, whole, stale, unpaced, nonce, generation, bounds_version, defaults_version"

// formatPatience is how long shards that ask for newer hashes than a claimer writes are left to newer instances. After
// it anyone may take them: the newer ones were taken back.
const formatPatience = 30 * time.Second

// FleetClaimer says who claims. A lease that reaches further than twice Lease was given by a clock that has been set
// back since, and counts for nothing.
type FleetClaimer struct {
	Taker  string
	Format int // of the hashes that it writes
	Lease  time.Duration
	Shards []uint8 // that it can reach; nil = all
}

// ClaimFleet leases up to limit shards that have groups to publish and that nobody holds, those longest not served
// first. A taker has one claim at a time. None = there is nothing to do, or others do it.
func (s *Store) ClaimFleet(ctx context.Context, by FleetClaimer, limit int) ([]FleetShard, error) {
	var rows []fleetShard
	err := s.write(ctx, func(t *tx) error {
		if err := t.fleeting(); err != nil {
			return err
		}
		now := t.now
		return t.Raw(`UPDATE fleet_shards SET taker = ?, claimed_until = ?, groups_done = 0 WHERE shard IN
				(SELECT shard FROM fleet_shards WHERE done < asked AND (claimed_until <= ? OR claimed_until > ?)
					AND (format <= ? OR claimed_until <= ?) AND shard IN ?
				ORDER BY done, shard LIMIT ?`+s.dialect.skipLocked()+`)
			RETURNING `+fleetColumns, by.Taker, now.Add(by.Lease).UnixMicro(), now.UnixMicro(), now.Add(2*by.Lease).UnixMicro(),
			by.Format, now.Add(-formatPatience).UnixMicro(), shardList(by.Shards), limit).Scan(&rows).Error
	})
	return publicShards(rows), err
}

// RenewFleet renews the leases of a claim and notes how many groups it has published. False = part of the claim is lost:
// it was asked for anew, or its lease had ended.
func (s *Store) RenewFleet(ctx context.Context, by FleetClaimer, claim []FleetShard, groups int64) (held bool, err error) {
	return s.touchFleet(ctx, claim, by.Taker, groups, "claimed_until = ?", s.now().Add(by.Lease).UnixMicro())
}

// EndFleetShards notes that the claim's groups are all in Redis. False as RenewFleet, and then nothing is noted for the
// part that is lost.
func (s *Store) EndFleetShards(ctx context.Context, by FleetClaimer, claim []FleetShard, groups int64) (held bool, err error) {
	return s.touchFleet(ctx, claim, by.Taker, groups, "done = asked, taker = ?, claimed_until = 0", "")
}

// GiveFleetBack ends the leases of a claim that could not be finished.
func (s *Store) GiveFleetBack(ctx context.Context, by FleetClaimer, claim []FleetShard) error {
	_, err := s.touchFleet(ctx, claim, by.Taker, 0, "taker = ?, claimed_until = 0", "")
	return err
}

// touchFleet updates the shards of a claim that are still the taker's. The groups of a claim are noted at its first
// shard.
func (s *Store) touchFleet(
	ctx context.Context, claim []FleetShard, taker string, groups int64, set string, arg any,
) (held bool, err error) {
	if len(claim) == 0 {
		return true, nil
	}
	shards := make([]int, len(claim))
	for i, c := range claim {
		shards[i] = int(c.Shard)
	}
	err = s.write(ctx, func(t *tx) error {
		if err := t.lockFleet("taker = ? AND shard IN ?", taker, shards); err != nil {
			return err
		}
		done := t.Exec("UPDATE fleet_shards SET "+set+", groups_done = CASE WHEN shard = ? THEN ? ELSE 0 END"+
			" WHERE taker = ? AND shard IN ?", arg, shards[0], groups, taker, shards)
		held = done.RowsAffected == int64(len(shards))
		if done.Error != nil {
			return done.Error
		}
		return t.fleeting()
	})
	return held && err == nil, err
}

// FleetEnd is what is left when all groups are in Redis: the default hashes of the shards, and their epochs.
type FleetEnd struct {
	Number int64
	Shards []FleetShard
}

// ClaimFleetEnd leases the end of the job, once the groups of all shards are done. No shards = there is none, or another
// instance is at it.
func (s *Store) ClaimFleetEnd(ctx context.Context, by FleetClaimer) (end FleetEnd, err error) {
	err = s.write(ctx, func(t *tx) error {
		now := t.now
		var numbers []int64
		err := t.Raw(`UPDATE fleet_job SET taker = ?, claimed_until = ? WHERE id = 1 AND (claimed_until <= ? OR claimed_until > ?)
				AND NOT EXISTS (SELECT 1 FROM fleet_shards WHERE done < asked)
				AND EXISTS (SELECT 1 FROM fleet_shards WHERE ended < asked)
			RETURNING number`, by.Taker, now.Add(by.Lease).UnixMicro(), now.UnixMicro(), now.Add(2*by.Lease).UnixMicro()).
			Scan(&numbers).Error
		if err != nil || len(numbers) == 0 {
			return err
		}
		var rows []fleetShard
		end.Number = numbers[0]
		err = t.Raw("SELECT " + fleetColumns + " FROM fleet_shards WHERE ended < asked AND done = asked").Scan(&rows).Error
		end.Shards = publicShards(rows)
		return err
	})
	return end, err
}

// EndFleet notes that the end is done. What was asked for meanwhile stays open.
func (s *Store) EndFleet(ctx context.Context, end FleetEnd) error {
	return s.write(ctx, func(t *tx) error {
		if _, err := t.lockJob(); err != nil {
			return err
		}
		if err := t.lockFleet("ended < done"); err != nil {
			return err
		}
		err := t.Exec(`UPDATE fleet_shards SET ended = done, nonce = CASE WHEN done = asked THEN '' ELSE nonce END
			WHERE ended < done AND done <= ?`, end.Number).Error
		if err != nil {
			return err
		}
		now := t.now.UnixMicro()
		return t.Exec(`UPDATE fleet_job SET taker = '', claimed_until = 0, ended_at = ?, took_ms = (? - began_at) / 1000
			WHERE id = 1 AND number = ?`, now, now, end.Number).Error
	})
}

// FleetNonces are the nonces of the rebuilds under way, by shard.
func (s *Store) FleetNonces(ctx context.Context) (map[uint8]string, error) {
	var rows []fleetShard
	err := s.read(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT " + fleetColumns + " FROM fleet_shards WHERE ended < asked AND nonce <> ''").Scan(&rows).Error
	})
	nonces := make(map[uint8]string, len(rows))
	for _, r := range rows {
		nonces[r.Shard] = r.Nonce
	}
	return nonces, err
}
