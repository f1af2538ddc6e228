// Command bench measures a check against other limiters on one Redis, and prints the tables of docs/benchmarks.md. It is a
// module of its own, so that the peers stay out of the product's.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
)

func main() {
	chart := flag.String("chart", "", "file for the chart, SVG; empty = none")
	quick := flag.Bool("quick", false, "one short round, to see that all of it runs")
	rates := flag.Bool("rate", false, "checks a second alone")
	flag.Parse()
	if err := run(context.Background(), *chart, *quick, *rates); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// sizes are how much is measured.
type sizes struct {
	rounds, members, memMembers, memWide int
	rateMS                               int64
}

func run(ctx context.Context, chart string, quick, rates bool) error {
	size := sizes{rounds: 5, members: 500, memMembers: 2000, memWide: 500, rateMS: 1000}
	if quick {
		size = sizes{rounds: 1, members: 20, memMembers: 200, memWide: 50, rateMS: 100}
	}
	s, err := startServer()
	if err != nil {
		return err
	}
	defer s.stop()
	if rates {
		return measureRate(ctx, s, size)
	}
	goPeers, err := newGoPeers(ctx, s)
	if err != nil {
		return err
	}
	node, nodePeers, err := newNodePeers(s)
	if err != nil {
		return err
	}
	defer node.stop()
	peers := append(goPeers, nodePeers...)
	steps := []func(context.Context, *server, []*peer, sizes) error{measureCost, measureMemory, measureAbuse}
	for _, step := range steps {
		if err := step(ctx, s, peers, size); err != nil {
			return err
		}
	}
	fmt.Printf("Redis %s, %s.\n\n", s.version, node.version)
	printTable(peers)
	if err := measureRate(ctx, s, size); err != nil {
		return err
	}
	if chart != "" {
		return os.WriteFile(chart, drawChart(peers), 0o644)
	}
	return nil
}

// printTable prints one line for each peer; ratios are against redis_rate in the same column, those of Node's against the
// kit's own client in Node, as the client's habits are in the figure too.
func printTable(peers []*peer) {
	fmt.Println("| limiter | allowed, µs | refused, µs | refused again, µs | B a member, 8 per 30 s | B a member, 50 per 60 s | most in a window of 8 |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for _, p := range peers {
		fmt.Printf("| %s | %s | %s | %s | %d | %s | %d |\n", p.name,
			ratio(p, peers, 0), ratio(p, peers, 1), ratio(p, peers, 2), p.bytes, orDash(p.bytesWide), p.most)
	}
	fmt.Println()
}

func ratio(p *peer, peers []*peer, column int) string {
	us := median(p.cost[column])
	against := slices.IndexFunc(peers, func(q *peer) bool { return q.yardstick && q.node == p.node })
	return fmt.Sprintf("%.1f (%.2f)", us, us/median(peers[against].cost[column]))
}

func orDash(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

func median[T cmp.Ordered](of []T) (middle T) {
	if len(of) == 0 {
		return middle
	}
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}
