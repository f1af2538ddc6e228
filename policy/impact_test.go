package policy_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pacekeeper/pacekeeper/policy"
)

// slower are the shipped bounds with 3 s at least between messages, at most 5 of them in a window, and no soft mode.
func slower() policy.Bounds {
	b := policy.ShippedBounds()
	own := b.Actions["message"]
	own.MinIntervalMS.Min, own.WindowLimit.Max, own.MayDisable = 3000, 5, []string{"interval", "window"}
	b.Actions["message"] = own
	return b
}

func TestImpact_OfTighterBounds(t *testing.T) {
	t.Parallel()
	im := policy.NewImpact(shippedSystem(t), systemOf(t, slower(), policy.ShippedDefaults()), 2)
	im.Add("follows", 100, policy.Document{})
	im.Add("asks for less", 7, parsed(t, message(`"min_interval_ms":500,"window":null`)))
	im.Add("asks for more", 5, parsed(t, message(`"min_interval_ms":9000,"window":{"algorithm":"sliding_window","limit":3,"period_ms":30000}`)))
	im.Add("soft", 2, parsed(t, message(`"mode":"soft","min_interval_ms":4000`)))
	got := []int64{im.Groups, im.WithoutDocument, im.Changed, im.Loosened, im.Tightened, im.NewlyClamped, im.Released}
	equal(t, []int64{114, 100, 109, 0, 109, 2, 0}, got)
	equal(t, []policy.ImpactSample{
		{GroupID: "follows", Tightened: true, Changes: []policy.ImpactChange{
			{Path: "/actions/message/min_interval_ms", Before: []byte("2000"), After: []byte("3000")},
			{Path: "/actions/message/window/limit", Before: []byte("8"), After: []byte("5")},
		}},
		{GroupID: "asks for less", Tightened: true, Changes: []policy.ImpactChange{{
			Path: "/actions/message/min_interval_ms", Requested: []byte("500"), Before: []byte("1000"), After: []byte("3000"),
			Bound: "min", Limit: int64(3000),
		}}},
	}, im.Samples)
	for _, s := range im.Settings {
		if s.Path != "/actions/message/min_interval_ms" {
			continue
		}
		equal(t, []policy.Range{{Min: 1000, Max: 10_000}, {Min: 3000, Max: 10_000}}, []policy.Range{s.Before, s.After})
		equal(t, []int64{14, 0, 7, 7}, []int64{s.Stated, s.None, s.HeldBefore, s.HeldAfter})
		equal(t, []policy.ImpactBucket{{500, 599, 7}, {4000, 4999, 2}, {9000, 9999, 5}}, s.Buckets())
	}
}

func TestImpact_OfDefaults(t *testing.T) {
	t.Parallel()
	defaults := parsed(t, `{"time_zone":"Asia/Shanghai","actions":{"message":{"window":null,"ban":{"for_ms":60000}}}}`)
	im := policy.NewImpact(shippedSystem(t), systemOf(t, policy.ShippedBounds(), defaults), 9)
	im.Add("follows", 1, policy.Document{})
	im.Add("pins", 1, parsed(t, `{"time_zone":"UTC","actions":{"message":{"window":{"algorithm":"sliding_window","limit":9,
		"period_ms":30000},"ban":null}},"penalties":{"ladder":[]}}`))
	window, ban := `{"algorithm":"sliding_window","limit":8,"period_ms":30000,"count_refused":false}`, `{"for_ms":60000}`
	equal(t, []policy.ImpactSample{{GroupID: "follows", Loosened: true, Tightened: true, Changes: []policy.ImpactChange{
		{Path: "/time_zone", Before: []byte(`"UTC"`), After: []byte(`"Asia/Shanghai"`)},
		{Path: "/actions/message/window", Before: []byte(window), After: []byte("null")},
		{Path: "/actions/message/ban", Before: []byte("null"), After: []byte(ban)},
	}}}, im.Samples)
	equal(t, []int64{2, 1, 1, 1}, []int64{im.Groups, im.Changed, im.Loosened, im.Tightened})
}

// TestImpact_CountsAsOneByOneWould holds every count against one made the slow way.
func TestImpact_CountsAsOneByOneWould(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := system(t, genBounds().Draw(t, "bounds"), genDocument().Draw(t, "defaults"))
		after := system(t, genBounds().Draw(t, "new bounds"), genDocument().Draw(t, "new defaults"))
		im, want := policy.NewImpact(before, after, 1000), policy.Impact{}
		for _, d := range rapid.SliceOfN(genDocument(), 1, 5).Draw(t, "documents") {
			n := rapid.Int64Range(1, 3).Draw(t, "alike")
			im.Add("g", n, d)
			countOne(t, &want, before, after, d, n)
		}
		got := policy.Impact{
			Groups: im.Groups, Changed: im.Changed, Loosened: im.Loosened, Tightened: im.Tightened,
			NewlyClamped: im.NewlyClamped, Released: im.Released,
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(policy.Impact{})); diff != "" {
			t.Fatal(diff)
		}
		for _, s := range im.Settings {
			checkBuckets(t, s)
		}
	})
}

func countOne(t *rapid.T, want *policy.Impact, before, after *policy.System, d policy.Document, n int64) {
	was, held := before.Resolve(d)
	is, holds := after.Resolve(d)
	want.Groups += n
	alike := cmp.Equal(was, is, cmpopts.EquateEmpty())
	if !alike {
		want.Changed += n
	}
	way := policy.Compare(was, is)
	if alike && (way.Loosens() || way.Tightens()) {
		t.Fatalf("nothing differs, and yet %+v", way)
	}
	if way.Loosens() {
		want.Loosened += n
	}
	if way.Tightens() {
		want.Tightened += n
	}
	paths := map[string]int{}
	for _, c := range held {
		paths[c.Path] |= 1
	}
	for _, c := range holds {
		paths[c.Path] |= 2
	}
	newly, released := int64(0), int64(0)
	for _, when := range paths {
		if when == 2 {
			newly = n
		}
		if when == 1 {
			released = n
		}
	}
	want.NewlyClamped, want.Released = want.NewlyClamped+newly, want.Released+released
}

// checkBuckets: buckets do not overlap, hold all values, and none lies across an end of the bounds.
func checkBuckets(t *rapid.T, s *policy.ImpactSetting) {
	last, sum, before, after := int64(-1), int64(0), int64(0), int64(0)
	for _, b := range s.Buckets() {
		if b.From <= last || b.To < b.From {
			t.Fatalf("%s: bucket %+v after %d", s.Path, b, last)
		}
		last, sum = b.To, sum+b.Count
		before += outside(t, b, s.Before)
		after += outside(t, b, s.After)
	}
	if sum != s.Stated || before != s.HeldBefore || after != s.HeldAfter {
		t.Fatalf("%s: buckets hold %d, %d and %d outside, of %+v", s.Path, sum, before, after, s)
	}
}

// outside is how many values of a bucket a range holds back.
func outside(t *rapid.T, b policy.ImpactBucket, r policy.Range) int64 {
	from, to := b.From < r.Min || b.From > r.Max, b.To < r.Min || b.To > r.Max
	if from != to {
		t.Fatalf("bucket %+v lies across an end of %+v", b, r)
	}
	if from {
		return b.Count
	}
	return 0
}

// TestImpact_SamplesSayWhatIsRequested holds the report of a drawn group against its policies.
func TestImpact_SamplesSayWhatIsRequested(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := system(t, genBounds().Draw(t, "bounds"), genDocument().Draw(t, "defaults"))
		after := system(t, genBounds().Draw(t, "new bounds"), genDocument().Draw(t, "new defaults"))
		d := genDocument().Draw(t, "document")
		im := policy.NewImpact(before, after, 1)
		im.Add("g", 1, d)
		if len(im.Samples) != int(im.Changed) {
			t.Fatalf("%d samples of %d changed groups", len(im.Samples), im.Changed)
		}
		for _, sample := range im.Samples {
			for _, c := range sample.Changes {
				if bytes.Equal(c.Before, c.After) || c.Bound != "" && c.Requested == nil {
					t.Fatalf("%+v of %s", c, d.JSON())
				}
			}
		}
	})
}

func BenchmarkImpact(b *testing.B) {
	before, after := shippedSystem(b), systemOf(b, slower(), policy.ShippedDefaults())
	for name, text := range map[string]string{"typical": typicalDocument, "small": message(`"min_interval_ms":500`), "none": `{}`} {
		b.Run(name, func(b *testing.B) {
			canonical := parsed(b, text).JSON()
			im := policy.NewImpact(before, after, 0)
			b.ReportAllocs()
			for b.Loop() {
				d, err := policy.ParseDocument(canonical)
				if err != nil {
					b.Fatal(err)
				}
				im.Add("g", 1, d)
			}
		})
	}
}
