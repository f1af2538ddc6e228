package ui

import (
	"context"
	"strings"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// impactView says what a change of bounds or defaults would do to groups, as counted just now. The zero view has counted
// nothing. Confirm is what has to be typed before it is published, "" for nothing.
type impactView struct {
	base
	Head    string
	Changed bool // some group would change
	Lines   []string
	Charts  []histView
	Samples []sampleView
	Confirm string
	OOB     bool // drawn as a fragment, the field of the confirmation with it
}

// sampleView is one group that would change.
type sampleView struct {
	ID, Href string
	Changes  []string
}

const (
	impactSamples = 20
	// impactPeek is how long a preview counts while people type, impactWhole how long publishing counts.
	impactPeek  = 5 * time.Second
	impactWhole = 45 * time.Second
	// freely is how many groups may change without the number being typed.
	freely = 100
)

// countImpact counts what a change would do, at most so long; one count runs at a time. CodeUnavailable while another
// does.
func (u *UI) countImpact(
	ctx context.Context, most time.Duration, count func(context.Context, int) (store.Impact, error),
) (store.Impact, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	select {
	case u.counting <- struct{}{}:
		defer func() { <-u.counting }()
		return count(ctx, impactSamples)
	case <-ctx.Done():
		return store.Impact{}, policy.Errorf(policy.CodeUnavailable, "another impact is being counted")
	}
}

// toConfirm is the number that has to be typed before so many groups are changed, 0 for none: that of the groups that
// change, or of all where not all could be looked at.
func toConfirm(im store.Impact) int64 {
	n := im.Changed
	if !im.Complete {
		n = im.Of
	}
	if n <= freely {
		return 0
	}
	return n
}

// confirmed says whether what was typed is the number to confirm, or the one that the page showed if hardly more groups
// change by now.
func confirmed(typed, shown string, now int64) bool {
	n, ok := count(strings.NewReplacer(",", "", " ", "").Replace(typed))
	was, _ := count(shown)
	return now == 0 || ok && (n == now || n == was && now <= was+was/10)
}

func (u *UI) impactView(b base, im store.Impact) impactView {
	v := impactView{base: b, Changed: im.Changed > 0}
	switch {
	case !im.Complete:
		v.Head = b.Say("impact_part", thousands(im.Changed), thousands(im.Groups), thousands(im.Of))
	case im.Changed == 0:
		v.Head = b.Say("impact_none")
	default:
		v.Head = b.Say(counted("impact", int(im.Changed)), thousands(im.Changed), thousands(im.Of))
	}
	for _, line := range []struct {
		key string
		n   int64
	}{
		{"impact_tighter", im.Tightened},
		{"impact_looser", im.Loosened},
		{"impact_clamped", im.NewlyClamped},
		{"impact_released", im.Released},
		{"impact_unreadable", im.Unreadable},
	} {
		if line.n > 0 {
			v.Lines = append(v.Lines, b.Say(line.key, thousands(line.n)))
		}
	}
	if n := len(im.After.DefaultsClamped); n > len(im.Before.DefaultsClamped) {
		v.Lines = append(v.Lines, b.Say("impact_defaults", n))
	}
	if left := u.publishTime(im.Of); v.Changed && left > 0 {
		v.Lines = append(v.Lines, b.Say("impact_time", b.roughly(left)))
	}
	v.Charts = b.charts(im)
	for _, s := range im.Samples {
		v.Samples = append(v.Samples, b.sample(s))
	}
	if n := toConfirm(im); n > 0 {
		v.Confirm = plain(n)
	}
	return v
}

// publishTime is how long all groups take to publish at the rate of the last time; 0 = unknown.
func (u *UI) publishTime(groups int64) time.Duration {
	if u.cfg.Sync == nil {
		return 0
	}
	rate := u.cfg.Sync().Fleet.Rate
	if rate <= 0 {
		return 0
	}
	return time.Duration(float64(groups) / rate * float64(time.Second))
}

func (b base) sample(s policy.ImpactSample) sampleView {
	v := sampleView{ID: s.GroupID, Href: groupPath(s.GroupID)}
	changes := make([]policy.Change, 0, len(s.Changes))
	for _, c := range s.Changes {
		changes = append(changes, policy.Change{Path: c.Path, Before: c.Before, After: c.After})
	}
	const most = 3
	for i, words := range policy.DiffWords(changes, b.Lang) {
		if i == most {
			v.Changes = append(v.Changes, b.Say("and_more", len(changes)-most))
			break
		}
		v.Changes = append(v.Changes, words.Sentence)
	}
	return v
}

// chartView is a picture with the words around it.
type chartView struct {
	base
	Chart histView
}

// Drawn puts a picture into the page's language.
func (b base) Drawn(chart histView) chartView { return chartView{b, chart} }

// Sure is the field of the confirmation alone.
func (v impactView) Sure() publishView { return publishView{Impact: v} }
