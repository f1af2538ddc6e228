package api

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// etag is the strong tag of a counter.
func etag(version int64) *string {
	tag := `"` + strconv.FormatInt(version, 10) + `"`
	return &tag
}

// required reads an If-Match that an operation cannot do without.
func required(header *string) (store.Match, error) {
	if header == nil {
		return store.Match{}, policy.Errorf(codePrecondition,
			`If-Match is needed: send the ETag that you read, such as "1", or * to force`)
	}
	return parseMatch(*header)
}

// optional reads an If-Match that an operation honours when it is there.
func optional(header *string) (store.Match, error) {
	if header == nil {
		return store.Anything(), nil
	}
	return parseMatch(*header)
}

// parseMatch reads one tag. Proxies that compress mark our tags as weak or append -gzip; a tag names a counter all the
// same, so both are taken back. A tag that is no counter matches nothing.
func parseMatch(header string) (store.Match, error) {
	text := strings.TrimSpace(header)
	if text == "*" {
		return store.Anything(), nil
	}
	tag := strings.TrimPrefix(text, "W/")
	if len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"' || strings.Contains(tag[1:len(tag)-1], `"`) {
		return store.Match{}, policy.Errorf(policy.CodeMalformed, `If-Match must be one quoted tag, such as "1", or *`)
	}
	tag = strings.TrimSuffix(tag[1:len(tag)-1], "-gzip")
	version, err := strconv.ParseInt(tag, 10, 64)
	if err != nil || version < 0 || strconv.FormatInt(version, 10) != tag {
		version = -1
	}
	return store.Exactly(version), nil
}

// mismatch is the fault of a tag that names another version than the one there is.
func mismatch(m store.Match, version int64) error {
	if m.Any || m.Version == version {
		return nil
	}
	return policy.Errorf(policy.CodeStale, "it was changed meanwhile: the current version is %d", version)
}

// preferences are what a Prefer header asks for. The zero value asks for nothing.
type preferences struct {
	strict bool
	wait   time.Duration
}

const (
	briefWait = 25 * time.Millisecond // for writes that do not ask to wait
	maxWait   = 30 * time.Second
)

// parsePrefer reads RFC 7240; what it does not understand is ignored, as the RFC asks. The first of two wins.
func parsePrefer(header *string) preferences {
	p := preferences{wait: briefWait}
	if header == nil {
		return p
	}
	seen := make(map[string]bool)
	quoted := false
	comma := func(r rune) bool {
		quoted = quoted != (r == '"')
		return r == ',' && !quoted
	}
	for _, part := range strings.FieldsFunc(*header, comma) {
		preference, _, _ := strings.Cut(part, ";")
		name, value, _ := strings.Cut(preference, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		value = strings.Trim(strings.TrimSpace(value), `"`)
		if seen[name] {
			continue
		}
		seen[name] = true
		p.apply(name, value)
	}
	return p
}

func (p *preferences) apply(name, value string) {
	switch name {
	case "handling":
		p.strict = strings.EqualFold(value, "strict")
	case "wait":
		if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
			p.wait = min(time.Duration(seconds)*time.Second, maxWait)
		}
	}
}

// writer is who writes, and on which condition.
type writer struct {
	store.Actor
	match store.Match
}

// writer collects what every write hands to the store. A precondition's fault comes before the reason's.
func (a *API) writer(ctx context.Context, match store.Match, matchErr error, reason *string) (writer, error) {
	if matchErr != nil {
		return writer{}, matchErr
	}
	text, err := parseReason(reason)
	if err != nil {
		return writer{}, err
	}
	who := callerOf(ctx)
	actor := store.Actor{
		Name: who.principal.Name, Role: who.principal.Role, Channel: store.ChannelAPI,
		RequestID: who.requestID, Address: who.address, Reason: text,
	}
	return writer{Actor: actor, match: match}, nil
}

const maxReason = 500 // characters

// parseReason decodes Pacekeeper-Reason.
func parseReason(header *string) (string, error) {
	if header == nil {
		return "", nil
	}
	text, err := url.PathUnescape(*header)
	if err != nil || !clean(text) {
		return "", policy.Errorf(policy.CodeMalformed, "Pacekeeper-Reason must be percent-encoded UTF-8 text")
	}
	if !policy.IsLine(text) {
		return "", policy.Errorf(policy.CodeMalformed, "Pacekeeper-Reason %s", policy.LineRule)
	}
	if utf8.RuneCountInString(text) > maxReason {
		return "", policy.Errorf(policy.CodeMalformed, "Pacekeeper-Reason must be at most %d characters", maxReason)
	}
	return text, nil
}
