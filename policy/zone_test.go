package policy_test

import (
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata" // the test's zones are IANA's, whatever the host has

	"github.com/pacekeeper/pacekeeper/policy"
)

// TestDaysEndAtLocalMidnight holds the end of the day that the compiled offsets give against the zone database itself,
// minute by minute, around the changes of zones that do unusual things: at midnight, across midnight, by half an hour.
func TestDaysEndAtLocalMidnight(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	s := shippedSystem(t)
	for _, name := range []string{
		"UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Beirut", "Africa/Cairo",
		"America/Havana", "America/Santiago", "Australia/Lord_Howe", "Pacific/Apia", "America/Scoresbysund",
		"Atlantic/Azores", "Antarctica/Troll", "Africa/Casablanca", "Asia/Gaza",
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := s.Resolve(parsed(t, `{"time_zone":"`+name+`"}`))
		change := time.Date(2026, 1, 1, 0, 0, 0, 0, zone)
		for range 6 {
			if _, next := change.ZoneBounds(); !next.IsZero() {
				change = next
			} else {
				change = change.AddDate(0, 5, 0)
			}
			for range 40 {
				now := change.Add(time.Duration(r.IntN(52*3600)-26*3600) * time.Second)
				compiledAt := now.Add(-time.Duration(r.IntN(7*24)) * time.Hour)
				p := s.At(s.Compile(e, "upload", 1, 1), compiledAt.UnixMilli())
				if want, got := endOfDay(now), banEnd(t, p, now.UnixMilli()); want.UnixMilli() != got {
					t.Fatalf("%s: the day of %v ends %v, want %v (compiled %v: %+v)",
						name, now, time.UnixMilli(got).In(zone), want, compiledAt, p.Offsets)
				}
			}
		}
	}
}

// endOfDay is the first minute of a later local date.
func endOfDay(now time.Time) time.Time {
	today := now.Format(time.DateOnly)
	at := now.Truncate(time.Minute)
	for at.Format(time.DateOnly) <= today {
		at = at.Add(time.Minute)
	}
	return at
}

// banEnd takes the ban that a full window leads to.
func banEnd(t *testing.T, p policy.Compiled, now int64) int64 {
	t.Helper()
	p.Limit = 1
	var st policy.ActionState
	for range 2 {
		_, st, _, _ = policy.Decide(p, st, policy.MemberRecord{}, policy.Attempt{NowMS: now, Cost: 1})
	}
	return st.BanEndMS
}

func TestCalendarWindows(t *testing.T) {
	t.Parallel()
	s := shippedSystem(t)
	e, _ := s.Resolve(parsed(t, `{"time_zone":"Asia/Kolkata"}`)) // +05:30
	at := func(clock string) int64 {
		moment, err := time.Parse(time.RFC3339, "2026-11-30T"+clock+"+05:30")
		if err != nil {
			t.Fatal(err)
		}
		return moment.UnixMilli()
	}
	for _, c := range []struct {
		unit     int64
		now, end string
	}{
		{60_000, "14:29:59", "14:30:00"},
		{3_600_000, "14:29:59", "15:00:00"},
		{3_600_000, "15:00:00", "16:00:00"},
		{86_400_000, "23:59:59", "23:59:60"},
	} {
		p := s.At(s.Compile(e, "upload", 1, 1), at("00:00:00"))
		p.Limit, p.PeriodMS, p.BanToEndOfDay = 1, c.unit, false
		var st policy.ActionState
		var d policy.Decision
		for range 2 {
			d, st, _, _ = policy.Decide(p, st, policy.MemberRecord{}, policy.Attempt{NowMS: at(c.now), Cost: 1})
		}
		end := at("00:00:00") + 86_400_000
		if c.end != "23:59:60" {
			end = at(c.end)
		}
		equal(t, [2]int64{int64(policy.RefusedLimit), end - at(c.now)}, [2]int64{int64(d.Code), d.WaitMS})
	}
}

// TestZonesThatAreNotCompiledForDaysHaveNoOffsets: hashes of other policies do not change with the seasons.
func TestZonesThatAreNotCompiledForDaysHaveNoOffsets(t *testing.T) {
	t.Parallel()
	s := shippedSystem(t)
	e, _ := s.Resolve(parsed(t, `{"time_zone":"Europe/Berlin"}`))
	equal(t, policy.Offsets{}, s.At(s.Compile(e, "message", 1, 1), start).Offsets)
	equal(t, "", s.Compile(e, "message", 1, 1).TimeZone)
	equal(t, policy.Offsets{UTCOffsetMS: 3_600_000, NextOffsetAtMS: 1_774_746_000_000, NextOffsetMS: 7_200_000},
		s.At(s.Compile(e, "upload", 1, 1), start).Offsets)
}
