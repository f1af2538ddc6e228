package scale

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The chart's frame, in its own units.
const (
	chartWidth, chartHeight = 640, 300
	plotLeft, plotTop       = 60, 20
	plotWidth, plotHeight   = 560, 240
	lowest, highest         = 0.01, 100.0 // of the mean
)

// Chart draws the load of each shard against the mean, busiest first, one line for each skew, as an SVG.
func Chart(skews []Skew) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, "<title>Load of the 256 shards against the mean, busiest first</title>\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", chartWidth, chartHeight)
	for ratio := lowest; ratio <= highest*1.01; ratio *= 10 {
		y := chartY(ratio)
		fmt.Fprintf(&b, `<path d="M%d %.1fh%d" stroke="#ccc"/><text x="%d" y="%.1f" text-anchor="end" fill="#333">%g ×</text>`+"\n",
			plotLeft, y, plotWidth, plotLeft-6, y+4, math.Round(ratio*100)/100)
	}
	for i, color := range []string{"#2166ac", "#8a5a00", "#b2182b"} {
		if i < len(skews) {
			chartLine(&b, skews[i], color, i)
		}
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#333">256 shards, busiest first; × the mean</text>`+"\n</svg>\n", plotLeft, chartHeight-12)
	return b.String()
}

func chartLine(b *strings.Builder, k Skew, color string, i int) {
	shares := slices.Clone(k.Shard[:])
	slices.Sort(shares)
	slices.Reverse(shares)
	fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="2" d="M`, color)
	for x, share := range shares {
		fmt.Fprintf(b, "%.1f %.1f ", plotLeft+float64(x)*plotWidth/(shards-1), chartY(share*shards))
	}
	fmt.Fprintf(b, `"/><text x="%d" y="%d" fill="%s">s = %.1f</text>`+"\n", plotLeft+plotWidth-70, plotTop+16+18*i, color, k.S)
}

// chartY is where a ratio to the mean stands, on a scale of powers of ten.
func chartY(ratio float64) float64 {
	part := (math.Log10(ratio) - math.Log10(lowest)) / (math.Log10(highest) - math.Log10(lowest))
	return plotTop + plotHeight*(1-min(max(part, 0), 1))
}
