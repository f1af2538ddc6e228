package policy_test

import (
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestNamesID_WhatHasTheSameNameIsNoPerson(t *testing.T) {
	t.Parallel()
	const document = `{"actions":{"message":{"mode":"hard"}},"notices":{"en":{"too_soon":"ask mei, please"}}}`
	for _, c := range []struct {
		record policy.AuditRecord
		id     string
		want   bool
	}{
		{policy.AuditRecord{Action: "policy.update", Target: "17", GroupID: "17", After: "{}"}, "17", false},
		{policy.AuditRecord{Action: "group.create", Target: "17", After: `{"group_id":"17","name":"Tea","locale":"en"}`}, "17", false},
		{policy.AuditRecord{Action: "group.create", Target: "tea", After: `{"group_id":"tea","name":"Tea","locale":"en"}`}, "en", false},
		{policy.AuditRecord{Action: "group.create", Target: "tea", After: `{"group_id":"tea","name":"mei","locale":"en"}`}, "mei", false},
		{policy.AuditRecord{Action: "group.update", Target: "tea", Reason: "mei asked", After: `{"group_id":"tea","name":"mei"}`}, "mei", true},
		{policy.AuditRecord{Action: "bounds.update", Target: "bounds"}, "bounds", false},
		{policy.AuditRecord{Action: policy.AuditErase, Target: "person"}, "person", false},
		{policy.AuditRecord{Action: "policy.update", Target: "tea", After: document}, "hard", false},
		{policy.AuditRecord{Action: "policy.update", Target: "tea", After: document}, "mei", true},
		{policy.AuditRecord{Action: "policy.update", Target: "tea", Reason: "17 asked"}, "17", true},
		{policy.AuditRecord{Action: "ban.lift", Target: "message/u/17"}, "17", false},
		{policy.AuditRecord{Action: "ban.lift", Target: "message/u/17"}, "u/17", true},
		{policy.AuditRecord{Action: "exemption.add", Target: "u/17"}, "17", false},
		{policy.AuditRecord{Action: "mute.put", Target: "17"}, "17", true},
		{policy.AuditRecord{Action: "session.create", Target: "17"}, "17", true},
		{policy.AuditRecord{Action: "mute.lift", Target: "x", Before: `{"by":"17"}`}, "17", true},
	} {
		if _, what := c.record.NamesID(c.id); what != c.want {
			t.Errorf("%s of %q %s%s names %q: %t", c.record.Action, c.record.Target, c.record.Reason, c.record.After, c.id, what)
		}
	}
}
