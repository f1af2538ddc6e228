package ui

import (
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// histView is what groups ask of one number, as bars; those that the change treats differently stand out. The table
// beside it says the same.
type histView struct {
	ID, Name, Caption string
	Bars              []barView
	Width             int
}

// barView is one bar; places are in the units of the picture.
type barView struct {
	X, Y, Width, Height, Middle int
	Label, Count                string
	Hit                         bool // would be treated differently
	Shown                       bool // its label has room
}

const (
	mostCharts  = 3
	chartWidth  = 360
	chartHeight = 96 // of the highest bar
	chartTop    = 16
	labelRoom   = 46 // that a label takes
)

// charts are the numbers whose bounds change and that groups state.
func (b base) charts(im store.Impact) []histView {
	var all []histView
	for _, s := range im.Settings {
		if s.Before == s.After || s.Stated == 0 || len(all) == mostCharts {
			continue
		}
		all = append(all, b.chart(s, len(all)))
	}
	return all
}

func (b base) chart(s *policy.ImpactSetting, i int) histView {
	v := histView{ID: "hist" + plain(int64(i)), Width: chartWidth, Name: b.impactName(s.Path)}
	v.Caption = b.Say("impact_caption", v.Name, thousands(s.Stated), thousands(s.HeldAfter))
	buckets := s.Buckets()
	highest := int64(1)
	for _, bucket := range buckets {
		highest = max(highest, bucket.Count)
	}
	step := chartWidth / max(len(buckets), 1)
	every := (labelRoom + step - 1) / max(step, 1)
	for n, bucket := range buckets {
		height := max(2, int(bucket.Count*chartHeight/highest))
		v.Bars = append(v.Bars, barView{
			X: n*step + step/8, Width: max(step*3/4, 2), Middle: n*step + step/2, Height: height, Y: chartTop + chartHeight - height,
			Label: b.impactNumber(s, bucket.From), Count: thousands(bucket.Count), Shown: n%max(every, 1) == 0,
			Hit: within(s.Before, bucket.From) != within(s.After, bucket.From),
		})
	}
	return v
}

// within is the value nearest to one that a range allows.
func within(r policy.Range, v int64) int64 { return min(max(v, r.Min), r.Max) }

func (b base) impactNumber(s *policy.ImpactSetting, v int64) string {
	if s.Unit == "milliseconds" {
		return policy.DurationText(v, b.Lang)
	}
	return plain(v)
}

// impactName is what the policy calls the setting at a pointer.
func (b base) impactName(path string) string {
	if path == "/penalties/ladder/*/for_ms" {
		return b.Say("mute_length")
	}
	return policy.DiffWords([]policy.Change{{Path: path}}, b.Lang)[0].Setting
}
