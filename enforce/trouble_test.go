package enforce_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// trouble is a Redis that answers, but not what it is asked.
type trouble struct {
	says       string // how its errors begin
	begin, end [][]any
	reads      bool // what is read is answered all the same
}

func troubles() map[string]trouble {
	replica, master := []any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}
	set := func(name, value string) []any { return []any{"CONFIG", "SET", name, value} }
	return map[string]trouble{
		"read-only":       {says: "READONLY", begin: [][]any{replica}, end: [][]any{master}, reads: true},
		"stale replica":   {says: "MASTERDOWN", begin: [][]any{set("replica-serve-stale-data", "no"), replica}, end: [][]any{master}},
		"out of memory":   {says: "OOM", begin: [][]any{set("maxmemory", "1")}, end: [][]any{set("maxmemory", "0")}, reads: true},
		"too few copies":  {says: "NOREPLICAS", begin: [][]any{set("min-replicas-to-write", "1")}, end: [][]any{set("min-replicas-to-write", "0")}, reads: true},
		"no permission":   {says: "NOPERM", begin: [][]any{{"ACL", "SETUSER", "default", "-@scripting"}}, end: [][]any{{"ACL", "SETUSER", "default", "+@scripting"}}, reads: true},
		"busy with a job": {says: "BUSY", begin: [][]any{set("busy-reply-threshold", "1"), {"EVAL", "while true do end", "0"}}, end: [][]any{{"SCRIPT", "KILL"}}},
	}
}

// bring does to the server what a trouble begins or ends with. An endless job is not waited for.
func bring(t *testing.T, s *redistest.Server, commands [][]any) {
	t.Helper()
	for _, command := range commands {
		rdb := s.Client()
		t.Cleanup(func() { _ = rdb.Close() })
		if command[0] == "EVAL" {
			go rdb.Do(context.WithoutCancel(t.Context()), command...)
			until(t, "the job is under way", func() bool { return redis.HasErrorPrefix(rdb.Ping(t.Context()).Err(), "BUSY") })
		} else if err := rdb.Do(t.Context(), command...).Err(); err != nil {
			t.Fatalf("%v: %v", command, err)
		}
	}
}

// TestTroubleIsDecidedByOnFailure: whatever Redis answers instead of a decision, each way to ask decides at once by what was
// known of the policy, counts it, says so, and charges nobody. When it is over, the next check is as any other.
func TestTroubleIsDecidedByOnFailure(t *testing.T) {
	t.Parallel()
	for name, of := range troubles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			rdb := s.Client()
			t.Cleanup(func() { _ = rdb.Close() })
			p := p0()
			p.OnFailure = policy.Refuse
			k := newKit(t, rdb, p)
			for _, pipelining := range []bool{false, true} {
				w := newWitness(rdb, pipelining)
				check(t, w.client, "message", group, "before"+strconv.FormatBool(pipelining))
				bring(t, s, of.begin)
				w.degrades(t, of.says)
				if of.reads { // a client that is new may know the rule all the same
					fresh := newWitness(rdb, pipelining)
					same(t, "a new client", policy.RefusedDegraded, check(t, fresh.client, "message", group, user).Code)
				}
				bring(t, s, of.end)
				if left := rdb.Exists(t.Context(), k.keys.State("message", group, user), k.keys.Member(group, user)).Val(); left != 0 {
					t.Error("an attempt that was not decided has left something behind")
				}
				until(t, "it is over", func() bool { return !check(t, w.client, "comment", group, "over").Degraded() })
				same(t, "afterwards", policy.Allowed, check(t, w.client, "message", group, "after"+strconv.FormatBool(pipelining)).Code)
			}
		})
	}
}

// TestLoadingIsDecidedByOnFailure: a server that has just started and reads its file answers LOADING to everything.
func TestLoadingIsDecidedByOnFailure(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: alwaysAnswers(t, "-LOADING Redis is loading the dataset in memory\r\n"), Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { _ = rdb.Close() })
	for _, pipelining := range []bool{false, true} {
		w := newWitness(rdb, pipelining)
		w.rule = policy.AllowedDegraded // nobody could read another
		w.degrades(t, "LOADING")
	}
}

// TestAnswersThatAreNone: what is no decision is decided by on_failure, whatever a proxy makes of the call.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"*0\r\n", "*-1\r\n", "$-1\r\n", "+OK\r\n", ":7\r\n", "$16\r\n", "*7\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n+x\r\n", "*1\r\n*0\r\n", "nonsense\r\n", "-\r\n", "$3\r\nabc\r\n",
	} {
		rdb := redis.NewClient(&redis.Options{Addr: alwaysAnswers(t, answer), Protocol: 2, DisableIdentity: true})
		t.Cleanup(func() { _ = rdb.Close() })
		client := enforce.New(enforce.Config{Redis: rdb, Timeout: 100 * time.Millisecond})
		if d := check(t, client, "message", group, user); d.Code != policy.AllowedDegraded {
			t.Errorf("%q: %+v", answer, d.Decision)
		}
		for _, action := range []string{"login", "like"} {
			all, err := client.CheckAll(t.Context(), enforce.Subjects{Action: action, Group: group, User: user, IP: "192.0.2.1"})
			if err != nil || !all.Degraded() || all.Allowed() != (action == "like") {
				t.Errorf("%q: all of %s: %+v, %v", answer, action, all.Decision.Decision, err)
			}
		}
	}
}

// witness is a client of which all is heard.
type witness struct {
	client *enforce.Client
	log    *bytes.Buffer
	told   atomic.Int64
	rule   policy.DecisionCode // of messages in the group, while Redis is in trouble
}

func newWitness(rdb redis.UniversalClient, pipelining bool) *witness {
	w := &witness{log: &bytes.Buffer{}, rule: policy.RefusedDegraded}
	w.client = enforce.New(enforce.Config{
		Redis: rdb, Timeout: 20 * time.Second, Pipelining: pipelining, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		OnDecision: func(enforce.Request, enforce.Decision) { w.told.Add(1) },
	})
	return w
}

// degrades asks in each way, and holds answers, counts and log against what they must be.
func (w *witness) degrades(t *testing.T, says string) {
	t.Helper()
	before, toldBefore := w.client.Stats(), w.told.Load()
	want := map[string]policy.DecisionCode{
		"message": w.rule, "login": policy.RefusedDegraded, "like": policy.AllowedDegraded, "unknown": policy.AllowedDegraded,
	}
	var refused, reqs int64
	for action, code := range want {
		req := enforce.Request{Action: action, Group: group, User: user}
		many, err := w.client.CheckMany(t.Context(), []enforce.Request{req, req})
		if err != nil {
			t.Fatal(err)
		}
		all, err := w.client.CheckAll(t.Context(), enforce.Subjects{Action: action, Group: group, User: user, IP: "192.0.2.1"})
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range append(many, all.Decision, check(t, w.client, action, group, user)) {
			reqs++
			if !d.Allowed() {
				refused++
			}
			if d.Code != code || d.Allowed() != (d.WaitMS == 0) {
				t.Errorf("%s, way %d: %+v, want %v", action, i, d.Decision, code)
			}
		}
	}
	after := w.client.Stats()
	same(t, "counted", enforce.Stats{
		Allowed: before.Allowed, Refused: before.Refused, DegradedAllowed: before.DegradedAllowed + reqs - refused,
		DegradedRefused: before.DegradedRefused + refused,
	}, after)
	same(t, "told", toldBefore+reqs, w.told.Load())
	for action := range want {
		if line := "action=" + action; !strings.Contains(w.log.String(), line) || !strings.Contains(w.log.String(), says) {
			t.Errorf("the log does not tell %q and %q:\n%s", line, says, w.log)
		}
	}
}

// alwaysAnswers listens, and answers each command so; it answers the address.
func alwaysAnswers(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for in := bufio.NewReader(conn); readCommand(in) == nil; {
					_, _ = io.WriteString(conn, answer)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// readCommand reads past one command.
func readCommand(in *bufio.Reader) error {
	line, err := in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("read a command: %w", err)
	}
	words, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil {
		return fmt.Errorf("read a command: %w", err)
	}
	for range words {
		if line, err = in.ReadString('\n'); err != nil {
			return fmt.Errorf("read a word: %w", err)
		}
		size, err := strconv.Atoi(strings.TrimSpace(line[1:]))
		if err != nil {
			return fmt.Errorf("read a word: %w", err)
		}
		if _, err := in.Discard(size + 2); err != nil {
			return fmt.Errorf("read a word: %w", err)
		}
	}
	return nil
}
