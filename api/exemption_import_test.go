package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const importPath = "/v1/groups/g1/exemptions/import"

func TestImportReportsEachItem(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.call("PUT", "/v1/groups/g1/exemptions/u1", `{"note": "host"}`).want(http.StatusCreated)
	b.call("PUT", "/v1/groups/g1/exemptions/u2", `{"note": "old"}`).want(http.StatusCreated)
	a := b.call("POST", importPath, `{"items": [
		{"user_id": "u1", "note": "host"},
		{"user_id": "u2", "expires_at": "2099-01-01T00:00:00Z"},
		{"user_id": "u3"},
		{"user_id": "a b"},
		{"user_id": "u3", "note": "twice"},
		{"user_id": "u4", "expires_at": "2001-01-01T00:00:00Z"},
		{"user_id": "u5", "note": 7, "nott": "x"},
		{"note": "nobody"},
		"u6",
		{"user_id": "u7", "note": "`+strings.Repeat("n", 501)+`"}
	]}`, `If-Match: "2"`).want(http.StatusOK)
	a.is("added", "1").is("updated", "1").is("unchanged", "1")
	for i, want := range []string{
		"/items/3/user_id format", "/items/4/user_id duplicate", "/items/5/expires_at range", "/items/6/note type",
		"/items/6/nott unknown", "/items/7/user_id required", "/items/8 type", "/items/9/note range",
	} {
		pointer, code, _ := strings.Cut(want, " ")
		a.is(fmt.Sprintf("errors/%d/pointer", i), `"`+pointer+`"`).is(fmt.Sprintf("errors/%d/code", i), `"`+code+`"`)
	}
	a.is("errors/8", "null").is("errors/1/detail", `"/items/2 names the same user, and counts"`)
	if a.etag() != `"3"` {
		t.Errorf("tag %s", a.etag())
	}
	list := b.call("GET", "/v1/groups/g1/exemptions", "").want(http.StatusOK)
	list.is("items/0/note", `"host"`).is("items/1/expires_at", `"2099-01-01T00:00:00Z"`).is("items/2/note", `""`).is("items/3", "null")
}

// sendAs imports a body of a content type.
func (b *bed) sendAs(contentType, body string) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.server.URL+importPath, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bootstrap)
	req.Header.Set("Content-Type", contentType)
	a := b.exchange(req)
	a.checkContract()
	return a
}

func TestImportOfCSV(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	send := func(body string) answer { return b.sendAs("text/csv; charset=utf-8", body) }
	a := send("\uFEFFnote,user_id,expires_at\r\n\"says \"\"hi\"\", twice\",u1,\r\n,u2,2099-01-01T00:00:00Z\r\n,u3,tomorrow\r\n,,\r\n")
	a.want(http.StatusOK).is("added", "2").is("errors/0/pointer", `"/items/2/expires_at"`).is("errors/0/code", `"type"`)
	a.is("errors/1/pointer", `"/items/3/user_id"`).is("errors/1/code", `"required"`).is("errors/2", "null")
	list := b.call("GET", "/v1/groups/g1/exemptions", "")
	list.is("items/0/note", `"says \"hi\", twice"`).is("items/1/expires_at", `"2099-01-01T00:00:00Z"`)
	for body, want := range map[string]int{
		"user_id,user_id\nu1,u1\n":    http.StatusUnprocessableEntity,
		"note\nx\n":                   http.StatusUnprocessableEntity,
		"user_id,role\nu1,x\n":        http.StatusUnprocessableEntity,
		"user_id,note\nu1\n":          http.StatusBadRequest,
		"user_id,note\nu1,\"open\n":   http.StatusBadRequest,
		"user_id,note\nu1,a\x00b\n":   http.StatusBadRequest,
		"user_id,note\nu1,\xff\xfe\n": http.StatusBadRequest,
		"\n":                          http.StatusBadRequest,
		"user_id\n":                   http.StatusOK,
	} {
		if got := send(body).status; got != want {
			t.Errorf("%q: status %d, want %d", body, got, want)
		}
	}
	b.sendAs("text/plain", "user_id\nu9\n").want(http.StatusUnsupportedMediaType)
}

func TestImportRefusesAsAWhole(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	for _, body := range []string{`[]`, `{}`, `{"items": {}}`, `{"items": null}`, `{"items": [], "prune": true}`} {
		b.call("POST", importPath, body).want(http.StatusUnprocessableEntity)
	}
	b.call("POST", importPath, `{"items": [{"user_id": "u1", "user_id": "u2"}]}`).want(http.StatusBadRequest)
	strict := b.call("POST", importPath, `{"items": [{"user_id": "u1"}, {"user_id": "~"}]}`, "Prefer: handling=strict")
	strict.want(http.StatusUnprocessableEntity).is("errors/0/pointer", `"/items/1/user_id"`)
	b.call("POST", importPath, `{"items": ["not", "looked", "at"]}`, `If-Match: "8"`).want(http.StatusPreconditionFailed).is("current/items/0", "null")
	b.call("GET", "/v1/groups/g1/exemptions", "").is("items/0", "null")
	b.call("POST", importPath, `{"items": [{"user_id": "u1"}]}`, "Prefer: handling=strict").want(http.StatusOK).is("added", "1")
	b.call("DELETE", "/v1/groups/g1", "").want(http.StatusOK)
	b.call("POST", importPath, `{"items": []}`).want(http.StatusConflict)
	b.call("POST", "/v1/groups/g2/exemptions/import", `{"items": []}`).want(http.StatusNotFound)
}

func TestImportBeyondTheCapPutsNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	var items []string
	for i := range 10_001 {
		items = append(items, fmt.Sprintf(`{"user_id": "u%d"}`, i))
	}
	body := func(n int) string { return `{"items": [` + strings.Join(items[:n], ", ") + `]}` }
	b.call("POST", importPath, body(10_001)).want(http.StatusUnprocessableEntity).is("code", `"invalid"`)
	b.call("GET", "/v1/groups/g1/exemptions", "").is("items/0", "null")
	b.call("POST", importPath, body(10_000)).want(http.StatusOK).is("added", "10000").is("errors", "[]")
	b.call("PUT", "/v1/groups/g1/exemptions/u7", `{"note": "replaced"}`).want(http.StatusOK)
	b.call("PUT", "/v1/groups/g1/exemptions/one-more", `{}`).want(http.StatusUnprocessableEntity)
}

func TestImportWithAKey(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.group("g2")
	const key, body = "Idempotency-Key: k-1", `{"items": [{"user_id": "u1"}, {"user_id": "~"}]}`
	first := b.call("POST", importPath, body, key, `If-Match: "0"`).want(http.StatusOK).is("added", "1")
	b.call("DELETE", "/v1/groups/g1/exemptions/u1", "").want(http.StatusNoContent)
	again := b.call("POST", importPath, body, key, `If-Match: "0"`).want(http.StatusOK)
	if string(again.body) != string(first.body) || again.etag() != first.etag() {
		t.Errorf("%s %s, then %s %s", first.etag(), first.body, again.etag(), again.body)
	}
	b.call("GET", "/v1/groups/g1/exemptions", "").is("items/0", "null")
	b.call("POST", importPath, `{"items": []}`, key).want(http.StatusUnprocessableEntity).is("code", `"idempotency_key_reused"`)
	b.call("POST", importPath, body, key, "Prefer: handling=strict").want(http.StatusUnprocessableEntity).is("code", `"idempotency_key_reused"`)
	b.call("POST", "/v1/groups/g2/exemptions/import", body, key).want(http.StatusOK).is("added", "1")
	b.callAs(b.token("group_admin", "g1"), "POST", importPath, body, key).want(http.StatusOK).is("added", "1")
	b.call("POST", importPath, body, "Idempotency-Key: "+strings.Repeat("k", 256)).want(http.StatusBadRequest)
	refused := "Idempotency-Key: k-2"
	b.call("POST", importPath, body, refused, "Prefer: handling=strict").want(http.StatusUnprocessableEntity).is("code", `"invalid"`)
	b.call("POST", importPath, `{"items": []}`, refused).want(http.StatusOK)
}

// TestAMemberCalledImport is exempted like any other.
func TestAMemberCalledImport(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.send(bootstrap, "PUT", importPath, `{"note": "odd name"}`).want(http.StatusCreated)
	b.send(bootstrap, "GET", importPath, "").want(http.StatusOK).is("user_id", `"import"`)
	b.call("POST", importPath, `{"items": [{"user_id": "import"}]}`).want(http.StatusOK).is("updated", "1")
	b.send(bootstrap, "DELETE", importPath, "").want(http.StatusNoContent)
}
