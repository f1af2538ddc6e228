package api_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// What is taken must be shown again: RFC 3339 ends with the year 9999, in UTC.
func TestMoments_WhatIsTakenCanBeShown(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	for _, moment := range []string{
		"9999-12-31T23:59:59-00:01", "9999-12-31T12:00:00-12:00", "2099-01-01T00:00:00,5Z", "2099-01-01T1:00:00Z",
		"2099-01-01T00:00:00+24:00", "2099-01-01T00:00:00+01:60", "2099-02-30T00:00:00Z", "2099-01-01T24:00:00Z",
		"2099-01-01t00:00:00z", "2099-01-01 00:00:00Z", "12099-01-01T00:00:00Z", "+2099-01-01T00:00:00Z", "",
	} {
		text := `"` + moment + `"`
		b.call("PUT", "/v1/groups/g1/exemptions/u1", `{"expires_at":`+text+`}`).want(422).
			is("errors/0/pointer", `"/expires_at"`).is("errors/0/code", `"type"`)
		b.call("POST", "/v1/tokens", `{"name":"x","role":"auditor","expires_at":`+text+`}`).want(422).is("errors/0/code", `"type"`)
		b.call("PUT", "/v1/groups/g1/mutes/u1", `{"until":`+text+`}`).want(422).is("errors/0/code", `"type"`)
		query := strings.NewReplacer("+", "%2B", " ", "%20").Replace(moment)
		b.call("GET", "/v1/audit-events?from="+query, "").want(400)
		b.call("GET", "/v1/audit-events?to="+query, "").want(400)
	}
	for sent, shown := range map[string]string{
		"9999-12-31T23:59:59.999999999Z": "9999-12-31T23:59:59.999999Z", "2099-01-01T00:00:00+23:59": "2098-12-31T00:01:00Z",
	} {
		b.call("PUT", "/v1/groups/g1/exemptions/u2", `{"expires_at":"`+sent+`"}`).is("expires_at", `"`+shown+`"`)
	}
	b.call("GET", "/v1/groups/g1/exemptions", "").want(200)
	b.call("GET", "/v1/tokens", "").want(200)
}

func TestInput_WholeNumbersHoweverWritten(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	for _, number := range []string{"1000", "1e3", "1000.0", "10.00E+2", "0.1e4"} {
		b.call("PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":`+number+`}`).want(200)
	}
	for number, code := range map[string]string{
		"1.5": "type", `"1"`: "type", "null": "type", "true": "type", "[1]": "type", "{}": "type", "1e-3": "type",
		"-0": "range", "0e9": "range", "-1e3": "range", "1e400": "range", "9007199254740993": "range", "99999999999999999999": "range",
	} {
		b.call("PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":`+number+`}`).want(422).
			is("errors/0/pointer", `"/for_ms"`).is("errors/0/code", `"`+code+`"`)
	}
	b.call("POST", "/v1/groups/g1/check", `{"user_id":"u","action":"message","cost":0.0}`).want(200)
	for _, list := range []string{`[null]`, `["vip",null]`, `[1]`, `null`, `{}`} {
		b.call("POST", "/v1/groups/g1/check", `{"user_id":"u","action":"message","roles":`+list+`}`).want(422).is("errors/0/pointer", `"/roles"`)
	}
}

func TestProblems_SpeakJSONNotGo(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	none := `{"actions":{"comment":{"enabled":false},"message":{"window":null,"min_interval_ms":null,"ban":{"for_ms":1}}}}`
	a := b.call("PUT", "/v1/groups/g1/policy", none, "If-Match: *", "Prefer: handling=strict").want(422)
	a.is("errors/0/detail", `"false is forbidden by the bounds; true would be in force"`)
	for _, leak := range []string{"<nil>", "map[", "[123 "} {
		if strings.Contains(string(a.body), leak) {
			t.Errorf("%q in %s", leak, a.body)
		}
	}
	b.call("GET", "/v1/groups?limit=x", "").want(400).is("detail", `"Invalid format for parameter limit"`)
	b.call("GET", "/v1/groups/g1/policy/versions/x", "").want(400).is("detail", `"Invalid format for parameter version"`)
}

func TestPrefer_CommasInQuotesDivideNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	fast := `{"actions":{"message":{"min_interval_ms":1}}}`
	for prefer, status := range map[string]int{
		`note="a, handling=strict"`: 200, `note="a", handling=strict`: 422, `note="a,b", handling="strict"`: 422, `note="a`: 200, `"`: 200,
	} {
		b.call("PUT", "/v1/groups/g1/policy", fast, "If-Match: *", "Prefer: "+prefer).want(status)
	}
}

// The tag of no mute is "0", also where there was one.
func TestMutes_AnEndedOneHasNoTag(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	put := b.call("PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":60000}`).want(200)
	b.call("DELETE", "/v1/groups/g1/mutes/u1", "").want(204)
	b.call("PUT", "/v1/groups/g1/mutes/u1", `{"nonsense":1}`, `If-Match: "0"`).want(422)
	b.call("PUT", "/v1/groups/g1/mutes/u1", `{"nonsense":1}`, "If-Match: "+put.etag()).want(412)
	b.call("PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":1000}`, `If-Match: "0"`).want(200)
}

func TestNotFound_OfAGroupThatIsNotThereIsTheGroups(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, call := range [][2]string{
		{"GET", "/policy"},
		{"DELETE", "/policy"},
		{"GET", "/policy/versions"},
		{"GET", "/policy/versions/1"},
		{"GET", "/exemptions"},
		{"GET", "/exemptions/u1"},
		{"DELETE", "/exemptions/u1"},
		{"GET", "/mutes"},
		{"GET", "/mutes/u1"},
		{"DELETE", "/mutes/u1"},
		{"GET", "/bans"},
		{"DELETE", "/bans/message/u1"},
		{"DELETE", "/bans/NOPE/u1"},
		{"DELETE", ""},
	} {
		b.call(call[0], "/v1/groups/nowhere"+call[1], "", "If-Match: *").want(404).is("detail", `"no such group"`)
	}
	b.group("g1")
	b.call("GET", "/v1/groups/g1/policy/versions/1", "").want(404).is("detail", `"the group has no version 1"`)
}

func TestBounds_OfUnknownActionsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	bounds := b.call("GET", "/v1/system/bounds", "").want(200)
	more := strings.Replace(withoutVersion(string(bounds.body)), `"message":{`, `"poll":{`, 1)
	b.call("PUT", "/v1/system/bounds", more, "If-Match: *").want(422).is("errors/0/pointer", `"/actions/poll"`).is("errors/0/code", `"unknown"`)
	b.call("GET", "/v1/system/bounds", "").want(200).is("version", "0")
	b.call("PUT", "/v1/system/actions/poll", `{"speech":true}`).want(201)
	b.call("PUT", "/v1/system/bounds", more, "If-Match: *").want(200)
}

func TestCursors_WithNULAreNoCursors(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	for list, path := range map[string]string{
		"groups": "/v1/groups", "exemptions": "/v1/groups/g1/exemptions", "mutes": "/v1/groups/g1/mutes", "tokens": "/v1/tokens",
	} {
		cursor := base64.RawURLEncoding.EncodeToString([]byte(`["` + list + `","\u0000"]`))
		b.call("GET", path+"?cursor="+cursor, "").want(422).is("detail", `"the cursor is not one that this list gave"`)
	}
}

func TestProblems_StaySmall(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	bounds := withoutVersion(string(b.call("GET", "/v1/system/bounds", "").want(200).body))
	star := bounds[strings.Index(bounds, `"*":`)+len(`"*":`) : strings.Index(bounds, `,"comment":`)]
	unknown, actions, ranges := strings.Builder{}, strings.Builder{}, strings.Builder{}
	for i := range 2000 {
		fmt.Fprintf(&unknown, `"k%d":1,`, i)
		fmt.Fprintf(&actions, `"a%d":{},`, i)
		fmt.Fprintf(&ranges, `"a%d":%s,`, i, star)
	}
	bounds = strings.Replace(bounds, `"*":`, ranges.String()+`"*":`, 1)
	for _, call := range [][2]string{
		{"/v1/groups/g1", "{" + unknown.String() + `"name":"x"}`},
		{"/v1/groups/g1/policy", "{" + unknown.String() + `"x":1}`},
		{"/v1/groups/g1/policy", `{"actions":{` + actions.String() + `"x":{}}}`},
		{"/v1/system/bounds", bounds},
		{"/v1/system/defaults", `{"actions":{` + actions.String() + `"x":{}}}`},
	} {
		a := b.call("PUT", call[0], call[1], "If-Match: *").want(422).is("errors/100", "null")
		if len(a.body) > 64<<10 {
			t.Errorf("PUT %s with %d bytes answers %d", call[0], len(call[1]), len(a.body))
		}
	}
}
