package sync_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

func TestPayloadsCarryAnyID(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(1_700_000_000_000_001).UTC()
	changes := []store.Change{
		{OutboxID: "o1", Kind: store.KindPolicy, GroupID: "!a/b🐈:example.org", Version: 9007199254740991, At: at},
		{OutboxID: "o2", Kind: store.KindMute, GroupID: "-1002471352452", UserID: "b:c", At: at},
		{OutboxID: "o3", Kind: store.KindBan, GroupID: "*", Action: "like", UserID: "007", At: at},
		{OutboxID: "o4", Kind: store.KindFleet, At: at},
	}
	list := policysync.Payloads("me", changes)
	if len(list) != 1 {
		t.Fatalf("%d payloads", len(list))
	}
	instance, got, ok := policysync.ParsePayload(list[0])
	if !ok || instance != "me" {
		t.Fatalf("%q, %v", instance, ok)
	}
	if diff := cmp.Diff(changes, got); diff != "" {
		t.Error(diff)
	}
}

func TestPayloadsStayShort(t *testing.T) {
	t.Parallel()
	long := store.Change{Kind: store.KindBan, OutboxID: strings.Repeat("o", 36), GroupID: strings.Repeat("g", 128), Action: "like", UserID: strings.Repeat("u", 128)}
	changes := make([]store.Change, 400)
	for i := range changes {
		changes[i] = long
	}
	total := 0
	for _, payload := range policysync.Payloads("instance", changes) {
		if len(payload) >= 8000 {
			t.Errorf("%d bytes: Postgres takes fewer than 8,000", len(payload))
		}
		_, some, _ := policysync.ParsePayload(payload)
		total += len(some)
	}
	if total != 400 {
		t.Errorf("%d of 400 changes arrive", total)
	}
	if got := policysync.Payloads("me", make([]store.Change, 501)); len(got) != 1 || got[0] != "me|poll" {
		t.Errorf("too many changes are announced as %q", got)
	}
}

func TestUnknownPayloadIsRefused(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"x", "me|poll", "me|", "me|policy o1 x 1 g  ", "me|a b c"} {
		if _, _, ok := policysync.ParsePayload(payload); ok {
			t.Errorf("%q is understood", payload)
		}
	}
}
