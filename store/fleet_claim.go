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

// FleetClaimer says who claims. Leases are given and judged by one clock, the database's, so that an instance whose clock
// steps neither loses its claims nor takes others'. One that reaches further than twice Lease was given before that clock
// was set back, and counts for nothing.
type FleetClaimer struct {
	Taker  string
	Format int // of the hashes that it writes
	Lease  time.Duration
	Shards []uint8 // that it can reach; nil = all
}

// ClaimFleet leases up to limit shards that have something to publish and that nobody holds: those that hurry, then those
// longest not served. A taker has one claim at a time. None = there is nothing to do, or others do it.
func (s *Store) ClaimFleet(ctx context.Context, by FleetClaimer, limit int) ([]FleetShard, error) {
	var rows []fleetShard
	err := s.write(ctx, func(t *tx) error {
		if err := t.fleeting(); err != nil {
			return err
		}
		now := t.micros()
		return t.Raw(`UPDATE fleet_shards SET taker = ?, claimed_until = `+now+` + ?, groups_done = 0 WHERE shard IN
				(SELECT shard FROM fleet_shards WHERE ended < asked
					AND (taker = '' OR claimed_until <= `+now+` OR claimed_until > `+now+` + ?)
					AND (format <= ? OR claimed_until <= `+now+` - ?) AND shard IN ?
				ORDER BY unpaced DESC, ended, shard LIMIT ?`+s.dialect.skipLocked()+`)
			RETURNING `+fleetColumns, by.Taker, by.Lease.Microseconds(), 2*by.Lease.Microseconds(),
			by.Format, formatPatience.Microseconds(), shardList(by.Shards), limit).Scan(&rows).Error
	})
	return publicShards(rows), err
}

// RenewFleet renews the leases of a claim and notes how many groups it has published. False = part of the claim is
// another's: its lease had ended.
func (s *Store) RenewFleet(ctx context.Context, by FleetClaimer, claim []FleetShard, groups int64) (held bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		held, err = t.touchFleet(claim, by.Taker, groups, "claimed_until = "+t.micros()+" + ?", by.Lease.Microseconds())
		return err
	})
	return held, err
}

// GiveFleetBack ends the leases of a claim that could not be finished.
func (s *Store) GiveFleetBack(ctx context.Context, by FleetClaimer, claim []FleetShard) error {
	return s.write(ctx, func(t *tx) error {
		_, err := t.touchFleet(claim, by.Taker, 0, "taker = '', claimed_until = "+t.micros())
		return err
	})
}

// FleetEnd says what came of ending a claim.
type FleetEnd struct {
	Held bool // false = part of the claim is another's, and nothing is noted for that
	Over bool // nothing is left of the job
}

// EndFleetShards notes that the claim's shards are all in Redis, up to the asking that was claimed: what was asked for
// since stays open.
func (s *Store) EndFleetShards(ctx context.Context, by FleetClaimer, claim []FleetShard, groups int64) (end FleetEnd, err error) {
	err = s.write(ctx, func(t *tx) error {
		if _, err := t.lockJob(); err != nil {
			return err
		}
		if end.Held, err = t.endShards(claim, by.Taker, groups); err != nil {
			return err
		}
		now := t.micros()
		done := t.Exec(`UPDATE fleet_job SET ended_at = ` + now + `, took_ms = (` + now + ` - began_at) / 1000
			WHERE id = 1 AND NOT EXISTS (SELECT 1 FROM fleet_shards WHERE ended < asked)`)
		end.Over = done.RowsAffected > 0
		return done.Error
	})
	return end, err
}

// endShards ends the shards of each asking in one statement.
func (t *tx) endShards(claim []FleetShard, taker string, groups int64) (held bool, err error) {
	type asking struct {
		number int64
		nonce  string
	}
	by := map[asking][]FleetShard{}
	for _, c := range claim {
		by[asking{c.Asked, c.Nonce}] = append(by[asking{c.Asked, c.Nonce}], c)
	}
	if err := t.lockFleet("taker = ? AND shard IN ?", taker, shardNumbers(claim)); err != nil {
		return false, err
	}
	held = true
	set := "ended = ?, nonce = CASE WHEN nonce = ? THEN '' ELSE nonce END, taker = '', claimed_until = " + t.micros()
	for one, shards := range by {
		all, err := t.touchFleet(shards, taker, groups, set, one.number, one.nonce)
		if err != nil {
			return false, err
		}
		held, groups = held && all, 0
	}
	return held, nil
}

func shardNumbers(claim []FleetShard) []int {
	shards := make([]int, len(claim))
	for i, c := range claim {
		shards[i] = int(c.Shard)
	}
	return shards
}

// touchFleet updates the shards of a claim that are still the taker's, and says whether all are. The groups of a claim are
// noted at its first shard.
func (t *tx) touchFleet(claim []FleetShard, taker string, groups int64, set string, args ...any) (held bool, err error) {
	if len(claim) == 0 {
		return true, nil
	}
	shards := shardNumbers(claim)
	if err := t.fleeting(); err != nil {
		return false, err
	}
	if err := t.lockFleet("taker = ? AND shard IN ?", taker, shards); err != nil {
		return false, err
	}
	done := t.Exec("UPDATE fleet_shards SET "+set+", groups_done = CASE WHEN shard = ? THEN ? ELSE 0 END"+
		" WHERE taker = ? AND shard IN ?", append(args, shards[0], groups, taker, shards)...)
	return done.RowsAffected == int64(len(shards)), done.Error
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
