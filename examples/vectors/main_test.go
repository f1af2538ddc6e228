package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
)

func TestFileIsFresh(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	if err := write(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../vectors.json")
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Fatalf("examples/vectors.json is not what the evaluator says (%v): run go generate ./examples/...", err)
	}
}

// TestScriptAnswersTheVectors holds the script itself against the file's calls.
func TestScriptAnswersTheVectors(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		t.Helper()
		v := compute()
		for _, p := range v.policies {
			for field, value := range p.Fields {
				raw, err := base64.StdEncoding.DecodeString(value)
				if err != nil {
					t.Fatal(err)
				}
				rdb.HSet(t.Context(), p.Key, field, raw)
			}
		}
		for _, e := range v.exemptions {
			rdb.Do(t.Context(), "ZADD", e.Key, e.Expiry, e.User)
		}
		codes := map[int64]int{}
		for i, c := range v.calls {
			head := enforce.DefaultPrefix + ":" + c.Tag + ":"
			reply, err := rdb.Eval(t.Context(), enforce.CheckScript(), []string{
				head + "policy:" + c.Action + "|" + c.Group, head + "default:" + c.Action,
				head + "state:" + c.Action + "|" + c.Group + "|" + c.User, head + "member:" + c.Group + "|" + c.User,
			}, c.User, strings.Join(c.Roles, ","), c.Cost, c.NowMS).Int64Slice()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.Want[:], reply); diff != "" {
				t.Fatalf("call %d %+v (-want +got):\n%s", i, c, diff)
			}
			codes[c.Want[0]]++
		}
		for _, code := range []int64{0, 1, 2, 3, 10, 11, 12, 13} {
			if codes[code] == 0 {
				t.Errorf("no call of %v answers code %d", codes, code)
			}
		}
	})
}
