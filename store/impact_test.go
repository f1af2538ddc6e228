package store_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// slowerMessages are the shipped bounds with 3 s at least between messages.
func slowerMessages() policy.Bounds {
	b := policy.ShippedBounds()
	own := b.Actions["message"]
	own.MinIntervalMS.Min = 3000
	b.Actions["message"] = own
	return b
}

func TestPreviewBounds_CountsWhatPutWouldDo(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		register(t, s, "archived", "damaged", "default", "fast", "quick", "slow")
		save(t, s, "archived", interval("1000"))
		save(t, s, "fast", interval("500"))
		save(t, s, "quick", interval("500"))
		save(t, s, "slow", interval("5000"))
		must(s.ArchiveGroup(ctx, actor(), store.Anything(), "archived"))(t)
		db := pgtest.SQL(t, b.url)
		if _, err := db.ExecContext(ctx, `UPDATE groups SET document = '{"actions":' WHERE id = 'damaged'`); err != nil {
			t.Fatal(err)
		}
		entries := auditActions(t, s)
		im := must(s.PreviewBounds(ctx, slowerMessages(), 1))(t)
		got := []int64{im.Of, im.Groups, im.Unreadable, im.WithoutDocument, im.Changed, im.Loosened, im.Tightened, im.NewlyClamped}
		if want := []int64{5, 4, 1, 1, 3, 0, 3, 0}; fmt.Sprint(want) != fmt.Sprint(got) || !im.Complete {
			t.Errorf("want %v, complete; got %v, %v", want, got, im.Complete)
		}
		if len(im.Samples) != 1 || im.Samples[0].GroupID != "default" {
			t.Errorf("samples = %+v", im.Samples)
		}
		if bounds := must(s.Bounds(ctx))(t); bounds.Version != 0 || im.After.BoundsVersion != 1 {
			t.Errorf("bounds have version %d after a preview", bounds.Version)
		}
		if after := auditActions(t, s); len(after) != len(entries) {
			t.Errorf("the preview wrote %v", after[len(entries):])
		}
		must(s.PreviewBounds(ctx, slowerMessages(), 0))(t)
	})
}

func TestPreviewDefaults_CountsWhoFollows(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "pinned", "follows")
		save(t, s, "pinned", interval("5000"))
		im := must(s.PreviewDefaults(t.Context(), parse(t, interval("1500")), 9))(t)
		if im.Groups != 2 || im.Changed != 1 || im.Loosened != 1 || im.Samples[0].GroupID != "follows" {
			t.Errorf("impact = %+v", im.Impact)
		}
	})
}

// TestPreview_RefusesWhatPutRefuses: the same faults, at the same places.
func TestPreview_RefusesWhatPutRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		bounds, document := policy.ShippedBounds(), policy.Document{}
		bounds.Actions["shout"] = bounds.Actions["*"]
		document.Actions = map[string]policy.ActionDocument{"shout": {}}
		_, _, saving := s.UpdateBounds(ctx, actor(), store.Anything(), bounds)
		_, previewing := s.PreviewBounds(ctx, bounds, 0)
		sameFault(t, saving, previewing)
		_, _, saving = s.UpdateDefaults(ctx, actor(), store.Anything(), document)
		_, previewing = s.PreviewDefaults(ctx, document, 0)
		sameFault(t, saving, previewing)
	})
}

func sameFault(t *testing.T, a, b error) {
	t.Helper()
	if a == nil || b == nil || a.Error() != b.Error() {
		t.Errorf("saving: %v\npreviewing: %v", a, b)
	}
}

// TestPreview_TellsThatTimeWasOver: what was counted until then, and of how many.
func TestPreview_TellsThatTimeWasOver(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		const groups = 9_999 // no whole number of pages: whoever has read them all knows it
		fillGroups(t, b.url, groups, "{}")
		cut := false
		for most, done := time.Millisecond, false; !done; most = most * 3 / 2 {
			ctx, cancel := context.WithTimeout(t.Context(), most)
			im, err := s.PreviewBounds(ctx, slowerMessages(), 0)
			cancel()
			if err != nil {
				wantCode(t, err, policy.CodeUnavailable) // not even the bounds were read
				continue
			}
			if im.Of != groups || im.Complete != (im.Groups == groups) {
				t.Fatalf("counted %d of %d, complete %v", im.Groups, im.Of, im.Complete)
			}
			cut, done = cut || !im.Complete, im.Complete
		}
		if !cut {
			t.Error("no time was too short")
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := s.PreviewBounds(gone, slowerMessages(), 0); err == nil {
			t.Error("an answer for a caller who is gone")
		}
	})
}

// fillGroups adds n groups, all with the document.
func fillGroups(tb testing.TB, url string, n int, document string) {
	tb.Helper()
	db := pgtest.SQL(tb, url)
	_, err := db.ExecContext(tb.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < `+strconv.Itoa(n)+`)
		INSERT INTO groups (id, shard, name, locale, revision, version, document, exemptions_version, exemptions_count, created_at, updated_at)
		SELECT 'g' || i, 0, 'name', 'en', 1, 1, replace('`+document+`', '$i', CAST(1000 + i AS text)), 0, 0, 0, 0 FROM n`)
	if err != nil {
		tb.Fatal(err)
	}
}
