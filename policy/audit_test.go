package policy_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
)

func auditRecord() policy.AuditRecord {
	return policy.AuditRecord{
		ID: "01a2", Seq: 1, AtMicros: 1_700_000_000_000_001, Actor: "Mei", Role: "operator", Channel: "api", Action: "policy.update",
		Target: "g1", GroupID: "g1", Before: "{}", After: `{"time_zone":"Asia/Shanghai"}`, Reason: "quieter <nights>",
		RequestID: "req-1", Address: "192.0.2.7", Who: policy.AuditSeal{Salt: []byte("0123456789abcdef")},
		What: policy.AuditSeal{Salt: []byte("fedcba9876543210")},
	}
}

// TestAuditFormIsFixed holds the canonical form: a change of it would make every written log unverifiable.
func TestAuditFormIsFixed(t *testing.T) {
	t.Parallel()
	key := []byte(strings.Repeat("k", 32))
	r := auditRecord()
	r.MAC, r.Hash = r.Sign(key), r.Link("")
	head := policy.AuditHead{Seq: 1, Hash: r.Hash}
	want := []string{
		"a8769a52ce49eba23e766d38cbc4da29e5071b58f107cef0b897fa2c389b58fc",
		"dd450991585fa4762470f10fc48cf44bf30a7311ad1e8daa6b35ffc7278d795b",
		"efbbf8f380a657a456401f85363951c59169eb5861e325fab102c4dacb4ba60d",
	}
	got := []string{r.Hash, hex.EncodeToString(r.MAC), head.Sign(key)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAuditHashCoversEveryField changes each field alone, and moves text from a field to its neighbour.
func TestAuditHashCoversEveryField(t *testing.T) {
	t.Parallel()
	seen := map[string]string{auditRecord().Link(""): "nothing", auditRecord().Link("x"): "the hash before"}
	for name, change := range map[string]func(*policy.AuditRecord){
		"id": func(r *policy.AuditRecord) { r.ID = "" }, "seq": func(r *policy.AuditRecord) { r.Seq++ },
		"at": func(r *policy.AuditRecord) { r.AtMicros++ }, "actor": func(r *policy.AuditRecord) { r.Actor = "" },
		"role": func(r *policy.AuditRecord) { r.Role = "" }, "channel": func(r *policy.AuditRecord) { r.Channel = "" },
		"action": func(r *policy.AuditRecord) { r.Action = "" }, "target": func(r *policy.AuditRecord) { r.Target = "" },
		"group": func(r *policy.AuditRecord) { r.GroupID = "" }, "before": func(r *policy.AuditRecord) { r.Before = "" },
		"after": func(r *policy.AuditRecord) { r.After = "" }, "reason": func(r *policy.AuditRecord) { r.Reason = "" },
		"request": func(r *policy.AuditRecord) { r.RequestID = "" }, "address": func(r *policy.AuditRecord) { r.Address = "" },
		"who salt": func(r *policy.AuditRecord) { r.Who.Salt = nil }, "what salt": func(r *policy.AuditRecord) { r.What.Salt = nil },
		"neighbours": func(r *policy.AuditRecord) { r.Role, r.Channel = "operatora", "pi" },
		"parts":      func(r *policy.AuditRecord) { r.Who, r.What = r.What, r.Who },
	} {
		r := auditRecord()
		change(&r)
		if other, double := seen[r.Link("")]; double {
			t.Errorf("changing %s gives the hash of changing %s", name, other)
		}
		seen[r.Link("")] = name
	}
}

func eraseKey() []byte { return []byte(strings.Repeat("k", 32)) }

// TestC62_ErasureNeedsItsRecord erases entries of a chain in every way that the key, or its lack, allows.
func TestC62_ErasureNeedsItsRecord(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		erase func(*policy.AuditRecord)
		drop  bool // the erasing entry
		want  string
	}{
		"with its record": {func(r *policy.AuditRecord) { *r = r.EraseWho(eraseKey(), "e1").EraseWhat(eraseKey(), "e1") }, false, ""},
		"record gone":     {func(r *policy.AuditRecord) { *r = r.EraseWho(eraseKey(), "e1") }, true, "is not there"},
		"another record":  {func(r *policy.AuditRecord) { *r = r.EraseWho(eraseKey(), "e2") }, false, "is not there"},
		"another key":     {func(r *policy.AuditRecord) { *r = r.EraseWho([]byte("guessed"), "e1") }, false, "without a record"},
		"without a proof": {func(r *policy.AuditRecord) { *r = r.EraseWho(eraseKey(), "e1"); r.Who.Erasure = "" }, false, "without a record"},
		"proof of another part": {func(r *policy.AuditRecord) {
			what := r.EraseWhat(eraseKey(), "e1").What.Erasure
			*r = r.EraseWho(eraseKey(), "e1")
			r.Who.Erasure = what
		}, false, "without a record"},
		"proof of another entry": {func(r *policy.AuditRecord) {
			other := *r
			other.ID = "another"
			*r = r.EraseWhat(eraseKey(), "e1")
			r.What.Erasure = other.EraseWhat(eraseKey(), "e1").What.Erasure
		}, false, "without a record"},
		"proof, but not erased": {func(r *policy.AuditRecord) { r.Who.Erasure = r.EraseWho(eraseKey(), "e1").Who.Erasure }, false, "without a record"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := auditRecord()
			first.MAC, first.Hash = first.Sign(eraseKey()), first.Link("")
			record := policy.AuditRecord{ID: "e1", Seq: 2, Action: policy.AuditErase, PrevHash: first.Hash}
			if test.drop {
				record.ID = "e3"
			}
			record.MAC, record.Hash = record.Sign(eraseKey()), record.Link(first.Hash)
			test.erase(&first)
			chain := policy.AuditChain{Key: eraseKey()}
			bad := chain.Next(first)
			if bad == nil {
				bad = chain.Next(record)
			}
			head := policy.AuditHead{Seq: 2, Hash: record.Hash}
			if bad == nil {
				bad = chain.End(head, head.Sign(eraseKey()))
			}
			if (bad == nil) != (test.want == "") || bad != nil && (bad.Seq != 1 || !strings.Contains(bad.Why, test.want)) {
				t.Errorf("verdict %+v, want %q", bad, test.want)
			}
		})
	}
}

func TestAuditErasedKeepsItsHash(t *testing.T) {
	t.Parallel()
	r := auditRecord()
	erased := r.EraseWho(eraseKey(), "e1").EraseWhat(eraseKey(), "e1")
	if erased.Link("") != r.Link("") || erased.Actor+erased.Target+erased.Before+erased.After+erased.Reason+erased.Address != "" {
		t.Errorf("erased: %+v", erased)
	}
	for name, change := range map[string]func(*policy.AuditRecord){
		"put in text": func(r *policy.AuditRecord) { r.Actor = "Bo" }, "gave it a salt": func(r *policy.AuditRecord) { r.Who.Salt = []byte("x") },
		"changed the digest": func(r *policy.AuditRecord) { r.Who.Digest = []byte("x") },
	} {
		x := erased
		change(&x)
		if x.Link("") == r.Link("") {
			t.Errorf("%s, and nobody noticed", name)
		}
	}
}

func TestAuditLineRoundTrip(t *testing.T) {
	t.Parallel()
	whole := auditRecord()
	whole.MAC, whole.Hash = []byte("mac"), whole.Link("")
	bare := policy.AuditRecord{ID: "x", Seq: 2, After: `{"a":"<\u0001>"}`, PrevHash: whole.Hash}
	for _, r := range []policy.AuditRecord{whole, bare, whole.EraseWho(eraseKey(), "e1"), whole.EraseWhat(eraseKey(), "e1")} {
		got, err := policy.ParseAuditRecord(r.JSON())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Error(diff)
		}
	}
	line := string(whole.JSON())
	for _, edited := range []string{
		"", "{}", "null", line + " ", " " + line, strings.Replace(line, `"seq":1`, `"seq": 1`, 1),
		strings.Replace(line, `"actor"`, `"Actor"`, 1), strings.Replace(line, `{"id"`, `{"more":1,"id"`, 1),
		strings.Replace(line, "<nights>", `\u003cnights>`, 1),
	} {
		if _, err := policy.ParseAuditRecord([]byte(edited)); err == nil {
			t.Errorf("takes %s", edited)
		}
	}
}

func TestMentionsID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"u1": true, "ask u1.": true, "u1, u2": true, "(u1)": true, "@u1": false, "u1: wait": true, "xu1 u1": true, "对u1禁言": true,
		"u10": false, "au1": false, "u1-b": false, "u1.b": false, "": false, "u": false, "u1:b": false,
	} {
		if got := policy.MentionsID(text, "u1"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
