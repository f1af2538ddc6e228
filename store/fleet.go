package store

import (
	"context"
	"strconv"
	"time"

	"gorm.io/gorm"
)

// FleetAsk asks for groups to be published anew, by whichever instances run.
type FleetAsk struct {
	Shards  []uint8 // nil = all
	Reason  string  // for people: why
	By      string  // who asks
	Whole   bool    // exemptions, mutes and bans as well as policies and notices
	Stale   bool    // Redis may hold what documents no longer publish: withdraw it
	Unpaced bool    // as fast as possible, else leaving time to others
	Format  int     // of the asker's hashes: an instance that writes older ones leaves the shards alone for a while
	Nonce   string  // the shards' epochs stand at ~Nonce and are completed at the end; "" = they are left as they are
	// OutboxIDs are the rows that this asking answers; they go with it.
	OutboxIDs []string
	// Join leaves out the shards of which as much was asked for after the number JoinAfter and is not done yet.
	Join      bool
	JoinAfter int64
}

// FleetStatus is the present fleet job, or the last one.
type FleetStatus struct {
	Number  int64 // of the last asking; 0 = none yet
	Reason  string
	AskedBy string
	BeganAt time.Time // zero = none yet
	EndedAt time.Time // of the last job that ended; zero = none
	TookMS  int64     // of it
	Shards  int64     // of the present job; 0 = nothing runs
	Left    int64     // of them, that have not ended
	Groups  int64     // published by the present job or the last
	About   int64     // groups that there are, roughly
	Unpaced bool      // a shard that is left hurries; or one of the last job did
	Ended   int64     // all askings up to this number have ended
	Takers  []string  // who is at work, sorted
}

// Running says whether anything is left to do.
func (f FleetStatus) Running() bool { return f.Left > 0 }

type fleetJob struct {
	Number       int64
	EndedAt      int64
	Reason       string
	AskedBy      string
	BeganAt      int64
	TookMS       int64 `gorm:"column:took_ms"`
	GroupsAbout  int64
	Shards, Left int64
	Groups       int64
	AllEnded     int64
	Hurried      int64 // of those left
	LastHurried  int64 // of the last asking
}

// The present job is what is left and what was asked for no earlier than that.
const selectFleetStatus = `SELECT j.number, j.reason, j.asked_by, j.began_at, j.ended_at, j.took_ms, j.groups_about,
		count(CASE WHEN f.asked >= l.least THEN 1 END) AS shards, count(CASE WHEN f.ended < f.asked THEN 1 END) AS "left",
		sum(f.groups_done) AS groups, min(CASE WHEN f.ended < f.asked THEN f.ended ELSE j.number END) AS all_ended,
		count(CASE WHEN f.ended < f.asked AND f.unpaced THEN 1 END) AS hurried,
		count(CASE WHEN f.asked = j.number AND f.unpaced THEN 1 END) AS last_hurried
	FROM fleet_job AS j CROSS JOIN fleet_shards AS f CROSS JOIN
		(SELECT min(asked) AS least FROM fleet_shards WHERE ended < asked) AS l
	GROUP BY j.number, j.reason, j.asked_by, j.began_at, j.ended_at, j.took_ms, j.groups_about`

// FleetStatus reads the fleet job.
func (s *Store) FleetStatus(ctx context.Context) (status FleetStatus, err error) {
	err = s.read(ctx, func(db *gorm.DB) error {
		var row fleetJob
		if err := one(db.Raw(selectFleetStatus), &row); err != nil {
			return err
		}
		status = FleetStatus{
			Number: row.Number, Reason: row.Reason, AskedBy: row.AskedBy, BeganAt: moment(row.BeganAt),
			EndedAt: moment(row.EndedAt), TookMS: row.TookMS, Shards: row.Shards, Left: row.Left, Groups: row.Groups,
			About: row.GroupsAbout, Unpaced: row.Hurried > 0, Ended: row.AllEnded,
		}
		if !status.Running() {
			status.Unpaced = row.LastHurried > 0
			return nil
		}
		return db.Raw("SELECT DISTINCT taker FROM fleet_shards WHERE taker <> '' ORDER BY taker").Scan(&status.Takers).Error
	})
	return status, err
}

// moment is a column where 0 stands for never.
func moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return fromMicros(&us)
}

// AskFleet asks, and returns the number of the asking, or the last one's if none was needed: it is answered when
// FleetStatus.Ended has reached that. Whoever works on a shard meanwhile goes on, and the shard is done once more after it:
// nothing that is done is lost, and however often is asked, each shard ends. Of shards that were last asked for under an
// older generation all is asked for, as if Whole and Stale: Redis holds what the database never had.
func (s *Store) AskFleet(ctx context.Context, ask FleetAsk) (number int64, err error) {
	about, err := s.groupsAbout(ctx)
	if err != nil {
		return 0, err
	}
	err = s.write(ctx, func(t *tx) error {
		last, err := t.lockJob()
		if err != nil {
			return err
		}
		number = last
		shards := shardList(ask.Shards)
		if ask.Join {
			if shards, err = t.unasked(shards, ask); err != nil || len(shards) == 0 {
				return err
			}
		}
		number++
		return t.askFleet(ask, shards, number, about)
	})
	return number, err
}

// lockJob locks the job, whose number it reads. Who locks shards as well does so after it: asking and ending would wait for
// each other otherwise.
func (t *tx) lockJob() (number int64, err error) {
	err = one(t.Raw("SELECT number FROM fleet_job WHERE id = 1"+t.store.dialect.forUpdate("fleet_job")), &number)
	return number, err
}

// unasked leaves out the shards of which as much is asked for already.
func (t *tx) unasked(shards []int, ask FleetAsk) (left []int, err error) {
	return left, t.Raw(`SELECT shard FROM fleet_shards WHERE shard IN ? AND NOT (ended < asked AND asked > ? AND whole
		AND (stale OR nonce <> '') AND format >= ?) ORDER BY shard`, shards, ask.JoinAfter, ask.Format).Scan(&left).Error
}

func (t *tx) askFleet(ask FleetAsk, shards []int, number, about int64) error {
	var c Counters
	if err := one(t.Raw(selectCounters), &c); err != nil {
		return err
	}
	if err := t.lockFleet("true"); err != nil {
		return err
	}
	if err := t.Exec(`UPDATE fleet_shards SET groups_done = 0 WHERE ended >= asked`).Error; err != nil {
		return err
	}
	now := t.micros()
	err := t.Exec(`UPDATE fleet_shards SET asked = ?, generation = ?, bounds_version = ?, defaults_version = ?,
			whole = (? OR generation < ? OR (whole AND ended < asked)), stale = (? OR generation < ? OR (stale AND ended < asked)),
			unpaced = (? OR (unpaced AND ended < asked)),
			format = CASE WHEN ended < asked AND format > ? THEN format ELSE ? END,
			nonce = CASE WHEN ? OR ended >= asked THEN ? ELSE nonce END, groups_done = 0,
			claimed_until = CASE WHEN taker = '' THEN `+now+` ELSE claimed_until END
		WHERE shard IN ?`, number, c.Generation, c.BoundsVersion, c.DefaultsVersion, ask.Whole, c.Generation, ask.Stale, c.Generation,
		ask.Unpaced, ask.Format, ask.Format, ask.Nonce != "", ask.Nonce, shards).Error
	if err != nil {
		return err
	}
	err = t.Exec(`UPDATE fleet_job SET number = ?, reason = ?, asked_by = ?, began_at = `+now+`, groups_about = ? WHERE id = 1`,
		number, ask.Reason, ask.By, about*int64(len(shards))/int64(len(shardList(nil)))).Error
	if err != nil || len(ask.OutboxIDs) == 0 {
		return err
	}
	return t.Exec("DELETE FROM outbox WHERE id IN ?", ask.OutboxIDs).Error
}

// lockFleet locks rows of shards in one order, so that no two writers wait for each other in a ring.
func (t *tx) lockFleet(where string, args ...any) error {
	if !t.store.dialect.postgres {
		return nil
	}
	var locked []int
	return t.Raw("SELECT shard FROM fleet_shards WHERE "+where+" ORDER BY shard FOR UPDATE", args...).Scan(&locked).Error
}

// micros is the present moment in µs since 1970 by the one clock that all instances share, as SQL: the database's own, or
// that of the one process that has a SQLite file open.
func (t *tx) micros() string {
	if t.store.dialect.postgres {
		return "CAST(extract(epoch FROM now()) * 1000000 AS bigint)"
	}
	return strconv.FormatInt(t.now.UnixMicro(), 10)
}

// fleeting lets the commit not wait for the disk: what a crash loses of claims and progress is done once more.
func (t *tx) fleeting() error {
	if !t.store.dialect.postgres {
		return nil
	}
	return t.Exec("SELECT set_config('synchronous_commit', 'off', true)").Error
}

// fewGroups is where an estimate gives way to a count.
const fewGroups = 50_000

// groupsAbout is how many groups there are: counted while they are few, else as Postgres estimates.
func (s *Store) groupsAbout(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, func(db *gorm.DB) error {
		if s.dialect.postgres {
			err := one(db.Raw("SELECT CAST(reltuples AS bigint) FROM pg_class WHERE oid = CAST('groups' AS regclass)"), &n)
			if err != nil || n >= fewGroups {
				return err
			}
		}
		return one(db.Raw("SELECT count(*) FROM groups"), &n)
	})
	return n, err
}
