package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
)

// TestHangUp_IsNoFaultOfTheServer: a caller who leaves in the middle of his body is no warning, and no 5xx.
func TestHangUp_IsNoFaultOfTheServer(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "PUT /v1/groups/g1/policy HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIf-Match: *\r\n"+
		"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"actions\"", bootstrap)
	if err == nil {
		err = conn.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	const counted = `pacekeeper_http_requests_total{method="PUT",route="/v1/groups/:group_id/policy",status="499"} 1`
	deadline := time.Now().Add(10 * time.Second)
	for metrics := ""; !strings.Contains(metrics, counted); metrics = string(b.send("", "GET", "/metrics", "").body) {
		if time.Now().After(deadline) {
			t.Fatalf("it is not counted as 499: %s", metrics)
		}
	}
	if log := b.log.String(); strings.Contains(log, "request failed") {
		t.Errorf("it is logged: %s", log)
	}
}

// TestOutage_IsLoggedOnceHoweverManyAsk: a storm of requests while the database is away is one line each text.
func TestOutage_IsLoggedOnceHoweverManyAsk(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	b := newBedOn(t, server.Database(t), redistest.Embedded(t))
	b.call("GET", "/v1/groups", "").want(http.StatusOK)
	server.Kill(t)
	for range 40 {
		b.call("GET", "/v1/groups", "").want(http.StatusServiceUnavailable)
	}
	lines := map[string]int{}
	for scanner := bufio.NewScanner(strings.NewReader(b.log.String())); scanner.Scan(); {
		if _, fault, ok := strings.Cut(scanner.Text(), `msg="request failed"`); ok {
			text, _, _ := strings.Cut(fault, "method=")
			lines[text]++
		}
	}
	total := 0
	for text, n := range lines {
		total += n
		if n > 3 { // the machine may be so slow that more than ten seconds pass
			t.Errorf("%d lines of %s", n, text)
		}
	}
	if total == 0 || total > 20 {
		t.Errorf("%d lines of 40 requests: %v", total, lines)
	}
}
