package ui

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
)

// SyncState tells how publishing is doing, as this instance sees it. Zero times are unknown.
type SyncState struct {
	Ready            bool
	ShardsAway       int // of 256: their Redis does not answer
	Lanes            []SyncLane
	Waiting          int64 // changes that wait in the database
	Oldest           time.Time
	CompleteShards   int
	RebuildingShards int
	Fleet            SyncFleet
	Reconcile        SyncReconcile
	Lag              SyncLag
}

// SyncLane is one lane. Error is "" while it works; Since is when that began, At its last round.
type SyncLane struct {
	Name, Error string
	Since, At   time.Time
}

// SyncFleet is the job that publishes every group anew, or the last one.
type SyncFleet struct {
	Running       bool
	Reason        string // change, start, redis or rebuild; "" = there was none yet
	Began, Ended  time.Time
	Took          time.Duration
	Groups, About int64
	Rate          float64       // groups a second; 0 = unknown
	Left          time.Duration // 0 = unknown
}

// SyncReconcile is the last whole pass that compared Redis with the database.
type SyncReconcile struct {
	At                      time.Time
	Took                    time.Duration
	Groups, Repaired, Ahead int64
}

// SyncLag is from commit to visible, of the last policies that this instance published. All is zero where Count is.
type SyncLag struct {
	Count         int
	P50, P99, Max time.Duration
}

// syncView is what the page says of publishing. Poll is where the part asks for itself anew.
type syncView struct {
	base
	Badge    badgeView
	Away     string // a warning, "" where all of Redis answers
	Sentence []part
	Rows     []factView
	Lanes    []laneView
	Every    string // how often the part is asked for
}

// laneView is one lane as a row.
type laneView struct{ Name, Error, At string }

// allShards is how many shards there are.
const allShards = 256

// syncFragment is the part of the page that tells of publishing, alone.
func (u *UI) syncFragment(c echo.Context) error {
	if !wantsFragment(c) {
		return c.Redirect(http.StatusSeeOther, "/ops")
	}
	return u.fragment(c.Response(), "ops/sync", u.syncView(u.base(c.Request(), "fleet")))
}

func (u *UI) syncView(b base) syncView {
	v := syncView{base: b, Every: "10s"}
	if u.cfg.Sync == nil {
		v.Badge = badgeView{Text: b.Say("sync_unknown")}
		v.Sentence = parts(b.Say("sync_unknown_text"))
		return v
	}
	s := u.cfg.Sync()
	v.Badge, v.Sentence = b.syncBadge(s), parts(b.syncSentence(s))
	if s.ShardsAway > 0 {
		v.Away = b.Say("sync_away_text", s.ShardsAway, allShards)
	}
	if v.Badge.Kind != "good" {
		v.Every = "2s"
	}
	v.Rows = b.syncRows(s)
	for _, l := range s.Lanes {
		v.Lanes = append(v.Lanes, laneView{b.Say("lane_" + l.Name), l.Error, b.clock(l.At)})
	}
	return v
}

// syncBadge says the worst of what is going on.
func (b base) syncBadge(s SyncState) badgeView {
	broken := 0
	for _, l := range s.Lanes {
		if l.Error != "" {
			broken++
		}
	}
	switch {
	case s.ShardsAway == allShards:
		return badgeView{Kind: "bad", Icon: "warn", Text: b.Say("redis_away")}
	case s.ShardsAway > 0:
		return badgeView{Kind: "warn", Icon: "warn", Text: b.Say("sync_part_away", s.ShardsAway)}
	case broken > 0:
		return badgeView{Kind: "warn", Icon: "warn", Text: b.Say(counted("sync_broken", broken), broken)}
	case s.Fleet.Running:
		return badgeView{Kind: "warn", Icon: "clock", Text: b.Say("sync_fleet")}
	case !s.Ready:
		return badgeView{Kind: "warn", Icon: "clock", Text: b.Say("sync_not_ready")}
	}
	return badgeView{Kind: "good", Icon: "check", Text: b.Say("sync_good")}
}

// syncSentence says in plain words what is in Redis.
func (b base) syncSentence(s SyncState) string {
	switch {
	case s.ShardsAway == allShards:
		return b.Say("sync_say_away")
	case s.Fleet.Running && s.Fleet.Left > 0:
		return b.Say("sync_say_fleet_left", thousands(s.Fleet.Groups), thousands(s.Fleet.About), b.roughly(s.Fleet.Left))
	case s.Fleet.Running:
		return b.Say("sync_say_fleet", thousands(s.Fleet.Groups), thousands(s.Fleet.About))
	case s.Waiting > 0:
		return b.Say(counted("sync_say_waiting", int(s.Waiting)), thousands(s.Waiting))
	case s.Lag.Count > 0:
		return b.Say("sync_say_lag", s.Lag.Count, b.ms(s.Lag.P99))
	}
	return b.Say("sync_say_good")
}

// roughly is a length without digits that would change at each look: whole seconds, from two minutes on whole minutes.
func (b base) roughly(d time.Duration) string {
	step := time.Second
	if d > 2*time.Minute {
		step = time.Minute
	}
	return policy.DurationText(max(1, int64((d+step-1)/step))*step.Milliseconds(), b.Lang)
}

// ms is a measured time.
func (b base) ms(d time.Duration) string {
	if d < time.Second {
		return b.Say("lag_ms", max(d.Milliseconds(), 1))
	}
	return policy.DurationText(d.Round(100*time.Millisecond).Milliseconds(), b.Lang)
}

// clock is a time of the day in UTC, with the day where it is not today's at that place; "" for none.
func (b base) clock(t time.Time) string {
	if t.IsZero() {
		return b.Say("never")
	}
	return t.UTC().Format("15:04:05")
}

// syncRows are the details.
func (b base) syncRows(s SyncState) []factView {
	rows := []factView{{b.Say("sync_waiting"), thousands(s.Waiting)}}
	if !s.Oldest.IsZero() {
		rows = append(rows, factView{b.Say("sync_oldest"), b.clock(s.Oldest)})
	}
	lag := b.Say("sync_no_lag")
	if s.Lag.Count > 0 {
		lag = b.Say("sync_lag_text", b.ms(s.Lag.P50), b.ms(s.Lag.P99), b.ms(s.Lag.Max))
	}
	pass := b.Say("sync_no_pass")
	if r := s.Reconcile; !r.At.IsZero() {
		pass = b.Say("sync_pass_text", b.clock(r.At), thousands(r.Groups), b.ms(r.Took))
	}
	return append(rows,
		factView{b.Say("sync_lag"), lag},
		factView{b.Say("sync_shards"), b.Say("sync_shards_text", s.CompleteShards, allShards, s.RebuildingShards)},
		factView{b.Say("sync_away"), plain(int64(s.ShardsAway))},
		factView{b.Say("sync_pass"), pass},
		factView{b.Say("sync_drift"), b.Say("sync_drift_text", thousands(s.Reconcile.Repaired), thousands(s.Reconcile.Ahead))},
		factView{b.Say("sync_job"), b.fleetText(s.Fleet)},
	)
}

// fleetText tells of the fleet job, or the last.
func (b base) fleetText(f SyncFleet) string {
	switch {
	case f.Reason == "":
		return b.Say("sync_job_none")
	case f.Running:
		return b.Say("sync_job_runs", b.Say("reason_"+f.Reason), thousands(f.Groups), thousands(f.About))
	}
	return b.Say("sync_job_ended", b.Say("reason_"+f.Reason), b.clock(f.Ended), thousands(f.Groups), b.ms(f.Took))
}
