package sync_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
)

// BenchmarkExemptionEdit adds and removes one of 10,000 exemptions by turns. Reported: from the beginning of the edit to
// Redis having it, what was sent to Redis for it, and what publishing the whole set takes and sends.
func BenchmarkExemptionEdit(b *testing.B) {
	at := real(b)
	rdb, count := at.counted(b)
	a := prepare(b, at, rdb, rarely).run(b).ready(b)
	a.group(b, "g1")
	a.exemptMany(b, 9_999, "guest")
	at.asInDatabase(b, a)
	a.exempt(b, "one-more") // brings the script
	at.asInDatabase(b, a)
	count.bytes.Store(0)
	key := at.keys.ExemptV("g1")
	order, err := at.rdb.Get(b.Context(), key).Int64()
	if err != nil {
		b.Fatal(err)
	}
	lags := make([]time.Duration, 0, b.N)
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		if i%2 == 0 {
			a.unexempt(b, "one-more")
		} else {
			a.exempt(b, "one-more")
		}
		order++
		for seen := int64(0); seen < order; {
			if seen, err = at.rdb.Get(b.Context(), key).Int64(); err != nil {
				b.Fatal(err)
			}
		}
		lags = append(lags, time.Since(began))
	}
	sent := count.bytes.Load() / int64(len(lags))
	slices.Sort(lags)
	b.ReportMetric(ms(lags[len(lags)/2]), "p50_ms")
	b.ReportMetric(ms(lags[len(lags)*99/100]), "p99_ms")
	b.ReportMetric(float64(sent), "B/edit")
	wholeSet(b, a, count)
}

// wholeSet publishes the whole set 20 times, and then one entry of it 20 times, at orders of their own.
func wholeSet(b *testing.B, a *instance, count *tally) {
	b.Helper()
	const rounds = 20
	set, err := a.store.ExemptionsForPublish(b.Context(), "g1")
	if err != nil {
		b.Fatal(err)
	}
	var entries []enforce.ExemptEntry
	for _, e := range set.Entries {
		entries = append(entries, enforce.ExemptEntry{User: e.UserID, ExpiresMS: e.ExpiresMS})
	}
	count.bytes.Store(0)
	began := time.Now()
	for i := range int64(rounds) {
		if _, err := a.pub.PublishExemptions(b.Context(), "g1", set.Order+1+i, entries); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(ms(time.Since(began))/rounds, "whole_ms")
	b.ReportMetric(float64(count.bytes.Load()/rounds), "B/whole")
	one := enforce.ExemptDelta{Base: set.Order + rounds, Count: int64(len(entries)), Put: entries[:1]}
	began = time.Now()
	for i := range int64(rounds) {
		one.Order = one.Base + 1 + i
		if got, _, err := a.pub.ChangeExemptions(b.Context(), "g1", one); err != nil || got != enforce.Written {
			b.Fatal(got, err)
		}
	}
	b.ReportMetric(ms(time.Since(began))/rounds, "one_ms")
}
