package enforce

import (
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Decision is the answer to a Request.
type Decision struct {
	policy.Decision

	told lastKnown // of a decision that has a notice: by which policy it is told
}

// Hint is what a client's own program needs for a countdown, as JSON.
type Hint struct {
	Allowed       bool   `json:"allowed"`
	Code          int64  `json:"code"`
	Reason        string `json:"reason"`         // the code in words, as refused_interval
	RetryAfterMS  int64  `json:"retry_after_ms"` // 0 = at once; with code 3 the delay until the action takes place
	Remaining     int64  `json:"remaining"`
	Limit         int64  `json:"limit"`
	PolicyVersion int64  `json:"policy_version"` // another one than before: what the program remembers of the policy is stale
	Degraded      bool   `json:"degraded"`
}

// Degraded says that Redis did not answer, and on_failure decided.
func (d Decision) Degraded() bool {
	return d.Code == policy.AllowedDegraded || d.Code == policy.RefusedDegraded
}

// Hint is the decision for programs.
func (d Decision) Hint() Hint {
	return Hint{
		Allowed: d.Allowed(), Code: int64(d.Code), Reason: d.Code.String(), RetryAfterMS: d.WaitMS, Remaining: d.Remaining,
		Limit: d.Limit, PolicyVersion: d.Version, Degraded: d.Degraded(),
	}
}

// Notice is what the member is told, one line in the locale's language (zh… or any other = en), in the group's own words
// where it has some; "" where the attempt passes without a word. It asks nobody: the words came with an earlier check.
func (d Decision) Notice(locale string) string {
	lang := policy.English
	if tag := strings.ToLower(locale); tag == policy.Chinese || strings.HasPrefix(tag, "zh-") || strings.HasPrefix(tag, "zh_") {
		lang = policy.Chinese
	}
	return policy.Notice(lang, d.told.texts, d.Decision, d.told.compiled)
}
