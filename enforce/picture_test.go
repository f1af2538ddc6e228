package enforce_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

// TestTheReadmesPictureIsTheEvaluators: the burst that the README shows for each algorithm is what policy.Decide makes of
// it. A failure prints the picture as it should be.
func TestTheReadmesPictureIsTheEvaluators(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if picture := burstPicture(); !strings.Contains(string(readme), picture) {
		t.Errorf("README.md does not show:\n%s", picture)
	}
}

// burstPicture tries now and then for 3 s, then twice a second for 9 s; a minute of the calendar begins at 6 s.
func burstPicture() string {
	var b strings.Builder
	b.WriteString("second           0 1 2 3 4 5 6 7 8 9 1011\n")
	for _, row := range []struct {
		name string
		p    policy.Compiled
	}{
		{"sliding_window", policy.Compiled{Algorithm: policy.SlidingWindow, PeriodMS: 5000}},
		{"fixed: first", policy.Compiled{Algorithm: policy.FixedWindow, PeriodMS: 5000}},
		{"fixed: calendar", policy.Compiled{Algorithm: policy.FixedWindow, Align: policy.AlignCalendar, PeriodMS: 60_000}},
		{"sliding_counter", policy.Compiled{Algorithm: policy.SlidingCounter, PeriodMS: 5000, Buckets: 5}},
		{"token_bucket", policy.Compiled{Algorithm: policy.TokenBucket, PeriodMS: 1000}},
		{"leaky, meter", policy.Compiled{Algorithm: policy.LeakyBucket, PeriodMS: 1000}},
		{"leaky, queue", policy.Compiled{Algorithm: policy.LeakyBucket, PeriodMS: 1000, Queue: true}},
	} {
		row.p.Enabled, row.p.Limit = true, 5
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-16s %s", row.name, burstRow(row.p)), " ") + "\n")
	}
	return b.String()
}

// burstRow has a sign for each try: # passes, 1 to 9 passes so many seconds later (rounded up), . is refused.
func burstRow(p policy.Compiled) string {
	var b strings.Builder
	var st policy.ActionState
	for i := range int64(24) {
		if i == 1 || i == 2 || i == 4 || i == 5 {
			b.WriteByte(' ')
			continue
		}
		var d policy.Decision
		d, st, _, _ = policy.Decide(p, st, policy.MemberRecord{}, policy.Attempt{NowMS: base/60_000*60_000 + 54_000 + i*500, Cost: 1})
		switch {
		case d.Code == policy.Delay:
			b.WriteByte(byte('0' + (d.WaitMS+999)/1000))
		case d.Allowed():
			b.WriteByte('#')
		default:
			b.WriteByte('.')
		}
	}
	return b.String()
}
