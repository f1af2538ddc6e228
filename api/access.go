package api

import (
	"fmt"
	"slices"
	"strings"
)

// rule says who may call an operation, and which query parameters it knows.
type rule struct {
	method string
	path   string
	roles  string // separated by spaces
	query  string // separated by spaces
	anew   bool   // the group need not be registered
}

// Who may call, by group of operations (design §8).
const (
	operators   = "operator"
	watchers    = "operator auditor"
	groupWrite  = "operator group_admin"
	groupRead   = "operator auditor group_admin"
	groupSee    = "operator auditor platform group_admin"
	policyRead  = "operator auditor platform gateway group_admin"
	registrars  = "operator platform"
	senders     = "operator auditor platform"
	checkers    = "operator gateway"
	pageQuery   = "limit cursor"
	searchQuery = "query limit cursor"
	auditQuery  = "group_id actor role channel action changed request_id from to"
	impactQuery = "samples seconds"
	pruneQuery  = "prune scope"
)

// rules lists every operation of /v1 in URL order. A test holds it against openapi.yaml; what is not listed is refused.
func rules() []rule {
	const group = "/v1/groups/:group_id"
	return []rule{
		{"GET", "/v1/groups", groupSee, searchQuery, false},
		{"GET", group, groupSee, "", false},
		{"PUT", group, registrars, "", true},
		{"DELETE", group, operators, "", false},
		{"GET", group + "/policy", policyRead, "", false},
		{"PUT", group + "/policy", groupWrite, "", false},
		{"PATCH", group + "/policy", groupWrite, "", false},
		{"DELETE", group + "/policy", groupWrite, "", false},
		{"GET", group + "/policy/versions", groupSee, pageQuery, false},
		{"GET", group + "/policy/versions/:version", groupSee, "", false},
		{"POST", group + "/policy/versions/:version/restore", groupWrite, "", false},
		{"GET", group + "/policy/diff", groupSee, "from to", false},
		{"POST", group + "/policy/preview", groupSee, "", false},
		{"GET", group + "/exemptions", groupRead, searchQuery, false},
		{"POST", group + "/exemptions/import", groupWrite, "", false},
		{"GET", group + "/exemptions/:user_id", groupRead, "", false},
		{"PUT", group + "/exemptions/:user_id", groupWrite, "", false},
		{"DELETE", group + "/exemptions/:user_id", groupWrite, "", false},
		{"GET", group + "/mutes", groupRead, pageQuery, false},
		{"GET", group + "/mutes/:user_id", groupRead, "", false},
		{"PUT", group + "/mutes/:user_id", groupWrite, "", false},
		{"DELETE", group + "/mutes/:user_id", groupWrite, "", false},
		{"GET", group + "/bans", groupRead, pageQuery, false},
		{"DELETE", group + "/bans/:action/:user_id", groupWrite, "", false},
		{"POST", group + "/check", checkers, "", true},
		{"POST", "/v1/check", checkers, "", false},
		{"GET", "/v1/system/bounds", watchers, "", false},
		{"PUT", "/v1/system/bounds", operators, "", false},
		{"POST", "/v1/system/bounds/preview", watchers, impactQuery, false},
		{"GET", "/v1/system/defaults", watchers, "", false},
		{"PUT", "/v1/system/defaults", operators, "", false},
		{"POST", "/v1/system/defaults/preview", watchers, impactQuery, false},
		{"GET", "/v1/system/actions", watchers, "", false},
		{"PUT", "/v1/system/actions/:name", operators, "", false},
		{"GET", "/v1/system/sync", watchers, "", false},
		{"GET", "/v1/system/bans", watchers, "user peer ip", false},
		{"DELETE", "/v1/system/bans/:scope/:action/:subject", operators, "", false},
		{"GET", "/v1/policies/export", watchers, "format kind group_id", false},
		{"POST", "/v1/policies/plan", watchers, pruneQuery, false},
		{"POST", "/v1/policies/apply", operators, "plan_token " + pruneQuery, false},
		{"GET", "/v1/tokens", watchers, pageQuery, false},
		{"POST", "/v1/tokens", operators, "", false},
		{"GET", "/v1/tokens/:id", watchers, "", false},
		{"DELETE", "/v1/tokens/:id", operators, "", false},
		{"GET", "/v1/portal-sessions", senders, pageQuery, false},
		{"POST", "/v1/portal-sessions", registrars, "", false},
		{"GET", "/v1/portal-sessions/:id", senders, "", false},
		{"DELETE", "/v1/portal-sessions/:id", registrars, "", false},
		{"GET", "/v1/audit-events", watchers, auditQuery + " " + pageQuery, false},
		{"GET", "/v1/audit-events/export", watchers, auditQuery + " format", false},
		{"GET", "/v1/audit-events/verify", watchers, "expect_head", false},
		{"GET", "/v1/audit-events/refusals", watchers, "kind from to " + pageQuery, false},
		{"GET", "/v1/audit-events/:seq", watchers, "", false},
	}
}

// ruleTable is rules by method and path.
func ruleTable() map[string]rule {
	table := make(map[string]rule)
	for _, r := range rules() {
		table[r.method+" "+r.path] = r
	}
	return table
}

// allGuarded holds the routes under /v1 against the rules: one without a rule would be open to everybody.
func (a *API) allGuarded() error {
	for _, route := range a.echo.Routes() {
		if _, known := a.rules[route.Method+" "+route.Path]; !known && strings.HasPrefix(route.Path, "/v1/") {
			return fmt.Errorf("api: %s %s has no rule", route.Method, route.Path)
		}
	}
	return nil
}

func (r rule) allows(role string) bool { return slices.Contains(strings.Fields(r.roles), role) }

func (r rule) knows(parameter string) bool {
	return slices.Contains(strings.Fields(r.query), parameter)
}
