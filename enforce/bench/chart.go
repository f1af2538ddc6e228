package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

const (
	rowHeight  = 20
	nameWidth  = 250
	panelWidth = 190
)

// panel is one column of bars.
type panel struct {
	title string
	of    func(*peer) float64
	digit int // behind the point
}

// drawChart draws a row of bars for each limiter: what an allowed check costs, what a member costs, and what passes under abuse.
func drawChart(peers []*peer) []byte {
	panels := []panel{
		{"CPU of Redis, allowed, µs", func(p *peer) float64 { return median(p.cost[0]) }, 1},
		{"bytes a member, 8 per 30 s", func(p *peer) float64 { return float64(p.bytes) }, 0},
		{"most in a window, limit 8", func(p *peer) float64 { return float64(p.most) }, 0},
	}
	var b bytes.Buffer
	width, height := nameWidth+len(panels)*panelWidth, 30+rowHeight*len(peers)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	for i, panel := range panels {
		fmt.Fprintf(&b, `<text x="%d" y="16" font-weight="bold">%s</text>`+"\n", nameWidth+i*panelWidth, html.EscapeString(panel.title))
		for row, p := range peers {
			drawBar(&b, nameWidth+i*panelWidth, 26+row*rowHeight, panel, p, peers)
		}
	}
	for row, p := range peers {
		fmt.Fprintf(&b, `<text x="4" y="%d">%s</text>`+"\n", 38+row*rowHeight, html.EscapeString(strings.ReplaceAll(p.name, "**", "")))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func drawBar(b *bytes.Buffer, x, y int, panel panel, p *peer, peers []*peer) {
	most, color := 0.0, "#9aa5b1"
	for _, q := range peers {
		most = max(most, panel.of(q))
	}
	if strings.Contains(p.name, "this kit") {
		color = "#1769aa"
	}
	length := panel.of(p) / max(most, 1) * (panelWidth - 60)
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.0f" height="14" fill="%s"/><text x="%.0f" y="%d">%.*f</text>`+"\n",
		x, y, length, color, float64(x)+length+4, y+11, panel.digit, panel.of(p))
}
