package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// exportOf fills a running server's log and exports it.
func exportOf(t *testing.T, query string) (text []byte, key string) {
	t.Helper()
	dir := t.TempDir()
	p := startProgram(t, dir)
	actor := store.Actor{Name: "Ann", Role: store.RoleOperator, Channel: store.ChannelSystem}
	_, token, err := p.store.CreateToken(t.Context(), actor, store.TokenInput{Name: "x", Role: store.RoleAuditor})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if _, _, err := p.store.PutGroup(t.Context(), actor, store.Anything(), id, "<"+id+">", "en"); err != nil {
			t.Fatal(err)
		}
	}
	secret, err := auditKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	return fetch(t, "http://"+p.Addr()+"/v1/audit-events/export"+query, token), base64.StdEncoding.EncodeToString(secret)
}

func fetch(t *testing.T, url, token string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%d %v: %s", response.StatusCode, err, text)
	}
	return text
}

// verified runs the command on a file of this text.
func verified(t *testing.T, text []byte, key string) (code int, said string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := started(t, map[string]string{"PACEKEEPER_AUDIT_KEY": key}, "audit", "verify", path)
	return code, out + errs
}

func TestAuditVerifyOffline(t *testing.T) {
	t.Parallel()
	text, right := exportOf(t, "")
	lines := bytes.SplitAfter(text, []byte("\n"))
	table := []byte(strings.Join(policy.AuditColumns(), ",") + "\n1,1,2026-12-01T00:00:00.000000Z\n")
	without := func(n int) []byte { return bytes.Join(append(append([][]byte{}, lines[:n]...), lines[n+1:]...), nil) }
	for name, x := range map[string]struct {
		text []byte
		key  string
		code int
		says string
	}{
		"good":             {text, right, exitOK, "ok: 5 entries"},
		"no key":           {text, "", exitOK, "not checked, needs PACEKEEPER_AUDIT_KEY"},
		"another key":      {text, key, exitError, "entry 1: no server with this key"},
		"changed":          {bytes.Replace(text, []byte(`"target":"b"`), []byte(`"target":"x"`), 1), "", exitError, "line 4: entry 4: "},
		"changed escape":   {bytes.Replace(text, []byte(`\u003cb\u003e`), []byte(`\u003cx\u003e`), 1), "", exitError, "line 4: entry 4: "},
		"line removed":     {without(2), "", exitError, "entries, there are"},
		"last removed":     {without(4), "", exitError, "entries, there are"},
		"footer removed":   {without(5), "", exitError, "not whole"},
		"head of another":  {bytes.Replace(text, []byte(`"head":"5:`), []byte(`"head":"4:`), 1), "", exitError, "behind the head"},
		"key twice":        {bytes.Replace(text, []byte(`"seq":2`), []byte(`"seq":2,"SEQ":2`), 1), "", exitError, "line 2: "},
		"something behind": {append(bytes.Clone(text), '\n'), "", exitError, "behind the footer"},
		"empty":            {nil, "", exitError, "not whole"},
		"csv":              {table, right, exitError, "this is CSV"},
		"csv of a program": {append([]byte("\ufeff"), bytes.ReplaceAll(table, []byte(","), []byte(";"))...), right, exitError, "export as jsonl"},
	} {
		code, said := verified(t, x.text, x.key)
		if code != x.code || !strings.Contains(said, x.says) {
			t.Errorf("%s: ended with %d: %s", name, code, said)
		}
	}
}

func TestAuditVerifyOfflineFiltered(t *testing.T) {
	t.Parallel()
	text, right := exportOf(t, "?group_id=b")
	if code, said := verified(t, text, right); code != exitOK || !strings.Contains(said, "ok: 1 entries") || !strings.Contains(said, "filters") {
		t.Errorf("ended with %d: %s", code, said)
	}
	whole := bytes.Replace(text, []byte(`"filtered":true`), []byte(`"filtered":false`), 1)
	if code, said := verified(t, whole, ""); code != exitError || !strings.Contains(said, "missing") {
		t.Errorf("ended with %d: %s", code, said)
	}
}
