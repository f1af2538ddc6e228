package api_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/pacekeeper/pacekeeper"
)

// operation is one operation of openapi.yaml.
type operation struct {
	ID    string   `yaml:"operationId"`
	Roles []string `yaml:"x-roles"`
	Tags  []string `yaml:"tags"`

	Parameters []struct {
		Ref  string `yaml:"$ref"`
		Name string `yaml:"name"`
		In   string `yaml:"in"`
	} `yaml:"parameters"`

	method string
	path   string
}

// operations reads every operation of openapi.yaml.
func operations(t *testing.T) []operation {
	t.Helper()
	var spec struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(pacekeeper.OpenAPI, &spec); err != nil {
		t.Fatal(err)
	}
	var all []operation
	for path, members := range spec.Paths {
		for method, node := range members {
			if method == "parameters" {
				continue
			}
			op := operation{method: strings.ToUpper(method), path: path}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			all = append(all, op)
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return all
}

// at fills the path for a group.
func (op operation) at(group string) string {
	return strings.NewReplacer("{group_id}", group, "{user_id}", "u1", "{version}", "1", "{action}", "like", "{name}", "message",
		"{id}", "none").Replace(op.path)
}

func (op operation) inGroup() bool { return strings.Contains(op.path, "{group_id}") }

// takesAnyGroup are the operations for which a group need not be registered.
func (op operation) takesAnyGroup() bool { return op.ID == "PutGroup" || op.ID == "Check" }

var allRoles = []string{"operator", "auditor", "platform", "gateway", "group_admin"}

func TestRoles_EveryOperationByEveryRole(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, group := range []string{"own", "foreign"} {
		b.group(group)
	}
	for _, role := range allRoles[1:] {
		b.token(role, map[string][]string{"group_admin": {"own"}}[role]...)
	}
	for _, op := range operations(t) {
		if slices.Contains(op.Tags, "service") {
			b.callAs("", op.method, op.path, "")
			continue
		}
		for _, token := range []string{"", "pk_x_wrong", strings.Repeat("x", 2000)} {
			b.callAs(token, op.method, op.at("own"), "{").want(http.StatusUnauthorized)
		}
		for _, role := range allRoles {
			b.walk(op, role)
		}
	}
}

// walk asks with a body that is wrong, so that what is allowed changes nothing and is answered by a later fault.
func (b *bed) walk(op operation, role string) {
	b.t.Helper()
	allowed := slices.Contains(op.Roles, role)
	own := b.callAs(b.tokens[role], op.method, op.at("own"), "{")
	refused := own.status == http.StatusForbidden || own.status == http.StatusUnauthorized
	if refused == allowed {
		b.t.Errorf("%s %s as %s: status %d, allowed is %v", op.method, op.path, role, own.status, allowed)
	}
	if allowed && op.method == http.MethodDelete && own.status == http.StatusOK {
		b.group("own") // back from the archive
	}
	if !op.inGroup() {
		return
	}
	unknown := b.callAs(b.tokens[role], op.method, op.at("unknown"), "{")
	foreign := b.callAs(b.tokens[role], op.method, op.at("foreign"), "{")
	if role == "group_admin" {
		unknown.want(http.StatusNotFound)
		foreign.want(http.StatusNotFound)
		if !bytes.Equal(withoutID(unknown.body), withoutID(foreign.body)) {
			b.t.Errorf("%s %s tells a foreign group from an unknown one:\n%s%s", op.method, op.path, unknown.body, foreign.body)
		}
		return
	}
	if !allowed || !op.takesAnyGroup() {
		unknown.want(http.StatusNotFound)
	}
	if !allowed {
		foreign.want(http.StatusForbidden)
	}
	if op.ID == "ArchiveGroup" {
		b.group("foreign")
	}
}

// withoutID cuts the request id out of a problem.
func withoutID(problem []byte) []byte {
	head, tail, _ := bytes.Cut(problem, []byte(`"request_id":"`))
	_, tail, _ = bytes.Cut(tail, []byte(`"`))
	return append(head, tail...)
}

func TestRoles_EveryQueryParameterIsKnown(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("own")
	for _, op := range operations(t) {
		for _, p := range op.Parameters {
			name := p.Name
			if _, shared, ok := strings.Cut(p.Ref, "#/components/parameters/"); ok {
				name = strings.ToLower(shared)
			}
			if !slices.Contains([]string{"query", "limit", "cursor"}, name) && p.In != "query" {
				continue
			}
			a := b.call(op.method, op.at("own")+"?"+name+"=%20", "")
			if bytes.Contains(a.body, []byte("is not known here")) {
				t.Errorf("%s %s does not know %s", op.method, op.path, name)
			}
		}
	}
}

func TestRoles_EveryOperationNamesItsRoles(t *testing.T) {
	t.Parallel()
	for _, op := range operations(t) {
		if op.Roles == nil {
			t.Errorf("%s %s has no x-roles", op.method, op.path)
		}
		for _, role := range op.Roles {
			if !slices.Contains(allRoles, role) {
				t.Errorf("%s %s names the role %s", op.method, op.path, role)
			}
		}
	}
}
