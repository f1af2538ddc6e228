package scale_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/internal/scale"
)

func doc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPageIsFresh(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"scale.md": scale.Page(), "scale-skew.svg": scale.Chart(scale.Skews())} {
		if diff := cmp.Diff(doc(t, name), text); diff != "" {
			t.Errorf("docs/%s is not what the program writes; run: go run ./internal/scale/page docs\n%s", name, diff)
		}
		if strings.Contains(text, "{{") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("docs/%s has a hole", name)
		}
	}
}

// TestCostsAreThoseOfTheBenchmarks: each stands word for word in benchmarks.md, with its figure.
func TestCostsAreThoseOfTheBenchmarks(t *testing.T) {
	t.Parallel()
	benchmarks, page := doc(t, "benchmarks.md"), scale.Page()
	for _, c := range scale.Measured().All() {
		if strings.Count(benchmarks, c.Quote) != 1 {
			t.Errorf("benchmarks.md says %d times %q", strings.Count(benchmarks, c.Quote), c.Quote)
		}
		row, _, _ := strings.Cut(page[strings.Index(page, "| "+c.Symbol+" | "):], "\n")
		figure := strings.Fields(row)[3]
		if !strings.Contains(c.Quote, figure) {
			t.Errorf("%s is %s, which %q does not say", c.Symbol, figure, c.Quote)
		}
	}
}

func TestZipf_SharesAddUpAndTheTailIsRight(t *testing.T) {
	t.Parallel()
	const groups = 1_200_000
	for _, s := range []float64{0, 0.8, 1, 1.2} {
		k, total := scale.Zipf(groups, s), 0.0
		for i := range groups {
			total += math.Pow(float64(i+1), -s)
		}
		if math.Abs(k.Hottest*total-1) > 1e-9 {
			t.Errorf("s = %g: the busiest group has %g, want %g", s, k.Hottest, 1/total)
		}
		for _, load := range [][]float64{k.Shard[:], k.Created(6), k.Moved(6)} {
			sum := 0.0
			for _, share := range load {
				sum += share
			}
			if math.Abs(sum-1) > 1e-9 || slices.Max(load) < k.Hottest {
				t.Errorf("s = %g: shares add up to %g, the most is %g", s, sum, slices.Max(load))
			}
		}
	}
}

// TestCreated_SpreadsAsTheContractSays: groups alike, 3 and 6 masters; and Redis's own example of its checksum.
func TestCreated_SpreadsAsTheContractSays(t *testing.T) {
	t.Parallel()
	even := scale.Zipf(1_000_000, 0)
	for masters, want := range map[int]float64{3: 1.04, 6: 1.08} {
		if got := scale.MaxOverMean(even.Created(masters)); math.Abs(got-want) > 0.01 {
			t.Errorf("%d masters: max ÷ mean is %.3f, the contract says %.2f", masters, got, want)
		}
	}
	if got := scale.CRC16("123456789"); got != 0x31c3 {
		t.Errorf("crc16 = %#x", got)
	}
}

// TestPlan_BigGroupsNeedWhatNoClusterHas: no number of masters helps where one group asks more than a core has.
func TestPlan_BigGroupsNeedWhatNoClusterHas(t *testing.T) {
	t.Parallel()
	c, a := scale.Measured(), scale.Assumed()
	steep := scale.Zipf(1_000_000, 1.2)
	if n := scale.Plan(scale.Demand{Groups: 1_000_000, Checks: 1_000_000}, steep, c, a); n.Masters() != 0 {
		t.Errorf("%d masters take a million checks at s = 1.2", n.Masters())
	}
	flat := scale.Zipf(1_000_000, 0)
	n := scale.Plan(scale.Demand{Groups: 1_000_000, Checks: 1_000_000}, flat, c, a)
	if least := int(math.Ceil(1e6 * c.Check.Value / 1e6 / a.Busy.Value)); n.Masters() < least || n.Masters() > least*5/4 {
		t.Errorf("%d masters at s = 0, want about %d", n.Masters(), least)
	}
}
