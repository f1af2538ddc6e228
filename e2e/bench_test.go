package e2e_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
)

// restConnections is how many clients ask at once.
const restConnections = 32

// BenchmarkREST measures GET and PUT of policies at 32 connections on Postgres with fsync on, the load generator on the
// same cores. Each connection works on a group of its own, as people do.
func BenchmarkREST(b *testing.B) {
	s := newStage(b, pgtest.Options{Fsync: true})
	i := serve(b, s.env)
	i.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: restConnections}}
	for g := range restConnections {
		i.group(b, "bench-"+strconv.Itoa(g), `{"actions":{"message":{"min_interval_ms":1000}}}`)
	}
	b.Run("GET", func(b *testing.B) {
		load(b, func(client, _ int) error {
			return i.expectOK(http.MethodGet, "/v1/groups/bench-"+strconv.Itoa(client)+"/policy", "")
		})
	})
	b.Run("PUT", func(b *testing.B) {
		load(b, func(client, n int) error {
			return i.expectOK(http.MethodPut, "/v1/groups/bench-"+strconv.Itoa(client)+"/policy",
				fmt.Sprintf(`{"actions":{"message":{"min_interval_ms":%d}}}`, 1000+(n+b.N)%9000))
		})
	})
}

// expectOK sends one request and reads the answer away.
func (i *instance) expectOK(method, path, body string) error {
	request, err := http.NewRequest(method, i.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+operator)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("If-Match", "*")
	}
	response, err := i.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %d", method, path, response.StatusCode)
	}
	return nil
}

// load spreads b.N calls over the connections and reports calls a second, p50 and p99.
func load(b *testing.B, call func(client, n int) error) {
	b.Helper()
	times := make([][]time.Duration, restConnections)
	var clients sync.WaitGroup
	b.ResetTimer()
	for c := range restConnections {
		clients.Go(func() {
			for n := c; n < b.N; n += restConnections {
				begun := time.Now()
				if err := call(c, n); err != nil {
					b.Error(err)
					return
				}
				times[c] = append(times[c], time.Since(begun))
			}
		})
	}
	clients.Wait()
	b.StopTimer()
	all := slices.Concat(times...)
	slices.Sort(all)
	if len(all) == 0 {
		return
	}
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(milliseconds(all[len(all)/2]), "p50-ms")
	b.ReportMetric(milliseconds(all[len(all)*99/100]), "p99-ms")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkColdStart measures from exec to the first 200 of /readyz, embedded, on an empty data folder.
func BenchmarkColdStart(b *testing.B) {
	var all []time.Duration
	for range b.N {
		b.StopTimer()
		env := map[string]string{
			"PACEKEEPER_DATA_DIR": b.TempDir(), "PACEKEEPER_BOOTSTRAP_TOKEN": operator,
			"PACEKEEPER_ADDR": net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(b))),
		}
		b.StartTimer()
		begun := time.Now()
		i := launch(b, env)
		for i.status("/readyz") != http.StatusOK {
			if time.Since(begun) > 20*time.Second {
				b.Fatal("not ready")
			}
			time.Sleep(time.Millisecond)
		}
		all = append(all, time.Since(begun))
		b.StopTimer()
		i.kill(b)
	}
	slices.Sort(all)
	b.ReportMetric(milliseconds(all[len(all)/2]), "p50-ms")
	b.ReportMetric(milliseconds(all[len(all)-1]), "max-ms")
}
