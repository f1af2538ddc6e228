package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// A scope that names a group which is not there is refused: a misspelt id must not look like nothing to remove.
func TestApplyRefusesAScopeOfNobody(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "tea", "gone")
		if _, err := s.ArchiveGroup(t.Context(), actor(), store.Anything(), "gone"); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct{ file, group, code string }{
			{`{"groups":{"tea":{}}}`, "nosuch", "not_registered"},
			{`{}`, "gone", "archived"},
			{`{"groups":{"tea":{}}}`, "tea", ""},
			{`{}`, "tea", ""},
			{`{"groups":{"new":{"name":"New"}}}`, "new", ""},
		} {
			in := store.ConfigInput{Config: configOf(t, test.file), Prune: policy.ConfigPrune{Exemptions: true, Groups: []string{test.group}}}
			_, err := s.PlanConfig(t.Context(), in)
			if test.code == "" {
				if err != nil {
					t.Errorf("%s: %v", test.group, err)
				}
				continue
			}
			wantCode(t, err, policy.CodeConflict)
			if fields := fieldsOf(err); len(fields) != 1 || fields[0].Pointer != "/groups/"+test.group || fields[0].Code != test.code {
				t.Errorf("%s: %+v", test.group, fields)
			}
		}
	})
}

// An export is of one moment, whatever is saved while it is read.
func TestExportConfigIsOfOneMoment(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s, ctx := b.t, b.store(), b.t.Context()
		ids := make([]string, 600) // more than a page
		for n := range ids {
			ids[n] = fmt.Sprintf(`"g%03d":{"name":"before"}`, n)
		}
		applyAll(t, s, store.ConfigInput{Config: configOf(t, `{"groups":{`+strings.Join(ids, ",")+`}}`)})
		x := must(s.ExportConfig(ctx, store.ConfigQuery{Names: true, Policies: true, Exemptions: true}))(t)
		defer x.Close()
		must(x.Next(ctx))(t)
		if _, _, err := s.PutGroup(ctx, actor(), store.Anything(), "g599", "after", "en"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.PutAction(ctx, actor(), policy.ActionSpec{Name: "gift"}); err != nil {
			t.Fatal(err)
		}
		page := must(x.Next(ctx))(t)
		last := page[len(page)-1]
		if last.ID != "g599" || last.Name.Value != "before" || !x.Done() || x.System.Registered("gift") {
			t.Errorf("the last is %+v, gift is registered: %v", last, x.System.Registered("gift"))
		}
		x.Close()
		x.Close()
	})
}
