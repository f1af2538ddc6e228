package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/api"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestC15_AllVerbsWorkWithOddIds(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, id := range []string{"!a/b🐈:example.org", "-1002471352452", "!a", "!a:b", "*", "a*b", "%41", "a+b", "a%2Fb", "a;b", "a?b", "a#b", "007", "Ä", "..."} {
		group := "/v1/groups/" + strings.ReplaceAll(url.PathEscape(id), ":", "%3A")
		user := url.PathEscape("u/" + id)
		b.call("PUT", group, `{"name":"x"}`).want(201).is("group_id", quoted(id))
		b.call("GET", group, "").want(200).is("group_id", quoted(id))
		b.call("PUT", group+"/policy", slow, `If-Match: "0"`).want(200).is("redis_keys/message", quoted("pk:"+shardTag(id)+":policy:message|"+id))
		b.call("PATCH", group+"/policy", `{"time_zone":"Asia/Shanghai"}`, `If-Match: "1"`).want(200)
		b.call("PUT", group+"/exemptions/"+user, `{}`).want(201).is("user_id", quoted("u/"+id))
		b.call("GET", group+"/exemptions/"+user, "").want(200)
		b.call("DELETE", group+"/exemptions/"+user, "").want(204)
		b.call("PUT", group+"/mutes/"+user, `{"for_ms":60000}`).want(200).is("user_id", quoted("u/"+id))
		b.call("GET", group+"/mutes/"+user, "").want(200)
		b.call("DELETE", group+"/mutes/"+user, "").want(204)
		b.call("POST", group+"/check", `{"user_id":`+quoted(id)+`,"action":"message"}`).want(200)
		b.call("DELETE", group+"/policy", "", `If-Match: "2"`).want(200)
		b.call("DELETE", group, "").want(200)
	}
	list := b.call("GET", "/v1/groups?limit=500", "").want(200)
	if items, _ := list.at("items").([]any); len(items) != 15 {
		t.Errorf("%d groups: two ids became one, or one two", len(items))
	}
}

func quoted(id string) string { return fmt.Sprintf("%q", id) }

func TestC14_LongNumbersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const group, user = "15947634569000323", "9007199254740993"
	b.group(group)
	b.call("PUT", "/v1/groups/"+group+"/exemptions/"+user, `{}`).want(201).is("user_id", quoted(user))
	b.call("PUT", "/v1/groups/"+group+"/mutes/"+user, `{"for_ms":60000}`).want(200).is("user_id", quoted(user))
	b.call("GET", "/v1/groups/"+group+"/mutes", "").want(200).is("items/0/user_id", quoted(user))
	b.call("GET", "/v1/audit-events?group_id="+group, "").want(200).is("items/0/group_id", quoted(group))
}

func TestC33_AnotherGroupsAdminFindsNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("A")
	b.group("B")
	b.call("PUT", "/v1/groups/B/exemptions/u1", `{}`).want(201)
	b.call("PUT", "/v1/groups/B/mutes/u1", `{"for_ms":60000}`).want(200)
	b.call("PUT", "/v1/groups/B/policy", slow, `If-Match: "0"`).want(200)
	ann := b.token("group_admin", "A")
	b.callAs(ann, "GET", "/v1/groups", "").want(200).is("items/0/group_id", `"A"`).is("items/1", "null")
	b.callAs(ann, "GET", "/v1/groups?query=B", "").want(200).is("items", "[]")
	for _, op := range operations(t) {
		if !op.inGroup() {
			continue
		}
		b.callAs(ann, op.method, op.at("B"), `{"name":"x"}`, "If-Match: *").want(404).is("detail", `"no such group"`)
		b.callAs(ann, op.method, op.at("B")+"?x=1", "").want(404)
	}
	for _, path := range []string{"/exemptions/u1", "/mutes/u1"} {
		b.callAs(ann, "GET", "/v1/groups/A"+path, "").want(404)
		b.callAs(ann, "DELETE", "/v1/groups/A"+path, "").want(404)
		b.call("GET", "/v1/groups/B"+path, "").want(200)
	}
	b.callAs(ann, "GET", "/v1/groups/A/policy/versions/1", "").want(404)
	b.call("GET", "/v1/groups/B", "").want(200).is("name", `"Group B"`)
	b.call("GET", "/v1/groups/B/policy", "").want(200).is("version", "1")
}

func TestC31_ParallelExemptionsAreAllKept(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if a := b.call("PUT", fmt.Sprintf("/v1/groups/g1/exemptions/u%02d", i), `{}`); a.status != http.StatusCreated {
				t.Errorf("u%02d: %d %s", i, a.status, a.body)
			}
		})
	}
	all.Wait()
	list := b.call("GET", "/v1/groups/g1/exemptions?limit=500", "").want(200)
	if items, _ := list.at("items").([]any); len(items) != 40 || list.etag() != `"40"` {
		t.Errorf("%d entries, tag %s", len(items), list.etag())
	}
}

func TestC37_TheCapLetsReplace(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	bounds := string(b.call("GET", "/v1/system/bounds", "").want(200).body)
	cut := withoutVersion(bounds)
	cut = strings.Replace(cut, `"exemptions_max":10000`, `"exemptions_max":3`, 1)
	b.call("PUT", "/v1/system/bounds", cut, "If-Match: *").want(200).is("exemptions_max", "3")
	for i := range 3 {
		b.call("PUT", fmt.Sprintf("/v1/groups/g1/exemptions/u%d", i), `{}`).want(201)
	}
	b.call("PUT", "/v1/groups/g1/exemptions/u3", `{}`).want(422)
	b.call("PUT", "/v1/groups/g1/exemptions/u2", `{"note":"replaced"}`).want(200).is("note", `"replaced"`)
	b.call("DELETE", "/v1/groups/g1/exemptions/u0", "").want(204)
	b.call("PUT", "/v1/groups/g1/exemptions/u3", `{}`).want(201)
}

// withoutVersion makes a PUT body of what GET answers.
func withoutVersion(body string) string {
	head, tail, _ := strings.Cut(body, `"version":`)
	_, tail, _ = strings.Cut(tail, ",")
	return head + tail
}

func TestExemptions_HonourIfMatch(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.call("PUT", "/v1/groups/g1/exemptions/u1", `{}`, `If-Match: "0"`).want(201)
	b.call("PUT", "/v1/groups/g1/exemptions/u2", `{}`, `If-Match: "0"`).want(412).is("current/items/0/user_id", `"u1"`)
	b.call("PUT", "/v1/groups/g1/exemptions/u2", `{"x":1}`, `If-Match: "0"`).want(412)
	b.call("DELETE", "/v1/groups/g1/exemptions/u1", "", `If-Match: "0"`).want(412)
	if gone := b.call("DELETE", "/v1/groups/g1/exemptions/u1", "", `If-Match: "1"`).want(204); gone.etag() != `"2"` {
		t.Errorf("tag %s", gone.etag())
	}
	b.call("DELETE", "/v1/groups/g1/exemptions/u1", "").want(404)
	b.call("PUT", "/v1/groups/g1", `{"name":"new"}`, `If-Match: "9"`).want(412).is("current/name", `"Group g1"`)
	b.call("PUT", "/v1/groups/g1", `{"nonsense":1}`, `If-Match: "9"`).want(412)
	tag := b.call("GET", "/v1/groups/g1", "").want(200).etag()
	b.call("PUT", "/v1/groups/g1", `{"name":"new"}`, "If-Match: "+tag).want(200)
}

func TestMutes_PutReadLift(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.call("GET", "/v1/groups/g1/mutes", "").want(200).is("items", "[]").is("next_cursor", "null")
	b.call("GET", "/v1/groups/g1/mutes/u1", "").want(404)
	b.call("DELETE", "/v1/groups/g1/mutes/u1", "").want(404)
	put := b.call("PUT", "/v1/groups/g1/mutes/u1", `{"until":"2026-12-24T00:00:00+02:00","reason":"spam"}`)
	if put.status == http.StatusUnprocessableEntity {
		put = b.call("PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":3600000,"reason":"spam"}`)
	}
	put.want(200).is("cause", `"moderator"`).is("step", "0")
	b.call("PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":1000}`, `If-Match: "1"`).want(412).is("current/user_id", `"u1"`)
	b.call("PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":7200000}`, "If-Match: "+put.etag()).want(200)
	b.call("GET", "/v1/groups/g1/mutes", "").want(200).is("items/0/user_id", `"u1"`).is("items/1", "null")
	b.call("GET", "/v1/audit-events?action=mute.put", "").want(200).is("items/1/reason", `"spam"`)
	b.call("DELETE", "/v1/groups/g1/mutes/u1", "").want(204)
	b.call("GET", "/v1/groups/g1/mutes", "").want(200).is("items", "[]")
	b.call("GET", "/v1/audit-events?action=mute.lift", "").want(200).is("items/0/target", `"u1"`)
}

func TestMutes_DrainComesFirst(t *testing.T) {
	t.Parallel()
	var drained atomic.Int64
	var b *bed
	b = newBed(t, func(c *api.Config) {
		c.Drain = func(ctx context.Context, group string) error {
			start := time.Now().UnixMilli() - 10
			drained.Add(1)
			return b.store.ApplyEvents(ctx, []store.EventBatch{{Shard: 0, Cursor: "1-1", Events: []store.HoldEvent{{
				GroupID: group, Action: "message", UserID: "u1", Cause: store.CauseLadder, Step: 1,
				MuteStartMS: start, MuteEndMS: start + 60_000, BanStartMS: start, BanEndMS: start + 60_000,
			}}}})
		}
	})
	b.group("g1")
	b.call("GET", "/v1/groups/g1/mutes", "").want(200).is("items/0/cause", `"ladder"`).is("items/0/by", `"system"`).is("items/0/step", "1")
	b.call("GET", "/v1/groups/g1/bans", "").want(200).is("items/0/action", `"message"`).is("items/0/user_id", `"u1"`)
	before := drained.Load()
	b.call("DELETE", "/v1/groups/g1/bans/message/u1", "").want(204)
	b.call("DELETE", "/v1/groups/g1/bans/comment/u1", "").want(404)
	b.call("DELETE", "/v1/groups/g1/bans/Nonsense/u1", "").want(404)
	b.call("DELETE", "/v1/groups/g1/mutes/u1", "").want(204)
	if drained.Load() < before+3 {
		t.Errorf("drained %d times before lifting", drained.Load()-before)
	}
}
