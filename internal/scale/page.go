package scale

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

//go:embed page.tmpl.md
var pageText string

const million = 1_000_000

// Page is docs/scale.md.
func Page() string {
	c, a := Measured(), Assumed()
	plan := plans(c, a)
	skews := Skews()
	ceiling := 1e6 / c.Check.Value
	return strings.NewReplacer(
		"{{measured}}", measuredTable(c), "{{assumed}}", assumedTable(a), "{{needs}}", needsTable(plan),
		"{{saves}}", number(plan[len(plan)-1].Saves), "{{put}}", number(c.Put.Value), "{{groups}}", number(skewGroups),
		"{{skew}}", skewTable(skews), "{{ceiling}}", number(ceiling), "{{planned}}", number(ceiling*a.Busy.Value),
		"{{busy}}", fmt.Sprint(a.Busy.Value), "{{members}}", number(ceiling*30/8), "{{hot}}", hotTable(skews, ceiling),
	).Replace(pageText)
}

const skewGroups = 10 * million

// Skews are those of the page and its chart.
func Skews() []Skew {
	return []Skew{Zipf(skewGroups, 0.8), Zipf(skewGroups, 1.0), Zipf(skewGroups, 1.2)}
}

func plans(c Costs, a Assumptions) (all []Need) {
	for _, groups := range []int{million, 10 * million, 100 * million} {
		k := Zipf(groups, 0.8)
		for _, checks := range []float64{10_000, 100_000, million} {
			all = append(all, Plan(Demand{groups, checks}, k, c, a))
		}
	}
	return all
}

// table writes a table of Markdown.
func table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	line(slices.Repeat([]string{"---"}, len(head)))
	for _, row := range rows {
		line(row)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func measuredTable(c Costs) string {
	var rows [][]string
	for _, m := range c.All() {
		rows = append(rows, []string{m.Symbol, plain(m.Value) + " " + m.Unit, m.What, "“" + strings.Trim(m.Quote, "| ") + "”"})
	}
	for _, row := range rows {
		row[3] = strings.ReplaceAll(row[3], " | ", " · ")
	}
	return table([]string{"symbol", "figure", "of what", "where benchmarks.md says so"}, rows)
}

func assumedTable(a Assumptions) string {
	var rows [][]string
	for _, x := range a.All() {
		rows = append(rows, []string{x.Symbol, strings.TrimSpace(plain(x.Value) + " " + x.Unit), x.Why})
	}
	return table([]string{"symbol", "figure", "of what, and why"}, rows)
}

func needsTable(all []Need) string {
	var rows [][]string
	for _, n := range all {
		masters := "–"
		if n.Masters() > 0 {
			masters = fmt.Sprintf("%d (%d, %d)", n.Masters(), n.MastersByMemory, n.MastersByLoad)
		}
		rows = append(rows, []string{
			number(float64(n.Groups)), number(n.Checks), masters, size(n.Data()), size(n.RedisBytes), size(n.Postgres),
			plain(round(n.Saves, 2)) + ", " + size(n.WAL), strconv.Itoa(n.Servers), number(math.Ceil(n.FleetSeconds)) + " s",
		})
	}
	return table([]string{
		"groups", "checks/s", "masters (memory, load)", "Redis data", "all nodes", "PostgreSQL", "saves/s, WAL a day", "servers",
		"fleet job, at least",
	}, rows)
}

func skewTable(skews []Skew) string {
	rows := [][]string{}
	for _, k := range skews {
		row := []string{fmt.Sprintf("%.1f", k.S), percent(k.Hottest), fmt.Sprintf("%.2f", MaxOverMean(k.Shard[:]))}
		for _, masters := range []int{3, 6, 12, 48} {
			row = append(row, fmt.Sprintf("%.2f, %.2f", MaxOverMean(k.Created(masters)), MaxOverMean(k.Moved(masters))))
		}
		rows = append(rows, row)
	}
	return table([]string{
		"s", "busiest group", "256 shards: max ÷ mean", "3 masters: as created, moved", "6 masters", "12 masters", "48 masters",
	}, rows)
}

func hotTable(skews []Skew, ceiling float64) string {
	rows := [][]string{}
	for _, k := range skews {
		rows = append(rows, []string{fmt.Sprintf("%.1f", k.S), number(k.Hottest * million), number(ceiling / k.Hottest)})
	}
	return table([]string{"s", "checks/s of the busiest group when all ask 1,000,000", "all may ask until it is at the ceiling"}, rows)
}

// number is a whole number with separators.
func number(v float64) string {
	digits := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// plain is a figure as it was measured.
func plain(v float64) string {
	if v >= 1000 {
		return number(v)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func round(v float64, places int) float64 {
	power := math.Pow10(places)
	return math.Round(v*power) / power
}

func percent(part float64) string { return fmt.Sprintf("%.2f %%", part*100) }

// size is a number of bytes in three digits.
func size(bytes float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	i := 0
	for bytes >= 1000 && i < len(units)-1 {
		bytes, i = bytes/1000, i+1
	}
	return strconv.FormatFloat(bytes, 'f', max(0, 2-int(math.Log10(max(bytes, 1)))), 64) + " " + units[i]
}
