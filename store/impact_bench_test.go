package store_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
)

// BenchmarkPreviewBounds counts what tighter bounds would do to IMPACT_GROUPS groups (200,000 unless set) on PostgreSQL:
// all with documents of their own, and all with the same. Reported: µs a group, by the clock and
// of this process's CPU.
func BenchmarkPreviewBounds(b *testing.B) {
	groups := 200_000
	if n, err := strconv.Atoi(os.Getenv("IMPACT_GROUPS")); err == nil {
		groups = n
	}
	for name, document := range map[string]string{"own": ownDocument("$i"), "shared": ownDocument("1500")} {
		b.Run(name, func(b *testing.B) {
			url := pgtest.Postgres(b)
			fillGroups(b, url, groups, document)
			s := pgtest.Open(b, url)
			began := cpuMicros(b)
			for b.Loop() {
				im, err := s.PreviewBounds(b.Context(), slowerMessages(), 20)
				if err != nil || im.Groups != int64(groups) || im.NewlyClamped+im.Changed == 0 {
					b.Fatal(im.Groups, im.Unreadable, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(groups), "µs/group")
			b.ReportMetric(float64(cpuMicros(b)-began)/float64(b.N)/float64(groups), "CPU-µs/group")
		})
	}
}

// cpuMicros is the CPU time that this process has used, in µs.
func cpuMicros(b *testing.B) int64 {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return (used.Utime.Nano() + used.Stime.Nano()) / 1000
}

// ownDocument states limits of two actions and a ladder.
func ownDocument(interval string) string {
	return `{"time_zone":"Asia/Shanghai","actions":{"comment":{"window":{"algorithm":"sliding_window","limit":10,"period_ms":60000,` +
		`"count_refused":false}},"message":{"min_interval_ms":` + interval + `,"window":{"algorithm":"sliding_window","limit":6,` +
		`"period_ms":30000,"count_refused":false},"ban":{"for_ms":3600000}}},"penalties":{"ladder":[{"after":3,"do":"mute",` +
		`"for_ms":60000},{"after":6,"do":"review"}]}}`
}
