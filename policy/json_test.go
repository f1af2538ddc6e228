package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestC40_C41_MalformedJSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 33) + strings.Repeat("]", 33)
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "line 1, column 1 (byte 0): the text ends where a value is expected"},
		"white space alone":  {" \n ", "line 2, column 2"},
		"raw NUL":            {"{\"a\":\"x\x00\"}", "NUL"},
		"escaped NUL":        {`{"a":"\u0000"}`, "NUL"},
		"NUL as space":       {"\x00{}", "byte 0"},
		"raw newline":        {"{\"a\":\"x\ny\"}", "control characters"},
		"bad UTF-8":          {"{\"a\":\"x\xff\"}", "byte 7): the text is not valid UTF-8"},
		"surrogate in UTF-8": {"\"\xed\xa0\x80\"", "not valid UTF-8"},
		"lone high":          {`"\ud800"`, "surrogate"},
		"lone low":           {`"\udc00"`, "surrogate"},
		"two high":           {`"\ud800\ud800"`, "surrogate"},
		"high then text":     {`"\ud800abcdef"`, "surrogate"},
		"bad hex":            {`"\u12g4"`, "four hex digits"},
		"cut escape":         {`"\`, "ends"},
		"cut hex":            {`"\u12`, "four hex digits"},
		"unknown escape":     {`"\x41"`, "unknown escape"},
		"open string":        {`"abc`, "ends where the closing"},
		"open object":        {`{"a":1`, "ends where ',' or '}'"},
		"open array":         {`[1`, "ends where ',' or ']'"},
		"trailing comma":     {`{"a":1,}`, "'}' where a key"},
		"array comma":        {`[1,]`, "']' where a value"},
		"trailing text":      {`{} {}`, "'{' where the end of the text"},
		"byte order mark":    {"\ufeff{}", "byte order mark"},
		"bare key":           {`{a:1}`, "'a' where a key"},
		"no colon":           {`{"a" 1}`, "'1' where ':'"},
		"single quotes":      {`{'a':1}`, "a key in double quotes"},
		"comment":            {"{}//x", "'/'"},
		"leading zero":       {`010`, "a number must start"},
		"minus zero one":     {`-01`, "a number must start"},
		"minus alone":        {`-`, "a number must start"},
		"plus":               {`+1`, "'+'"},
		"point first":        {`.5`, "'.'"},
		"point last":         {`5.`, "a digit"},
		"no exponent":        {`5e`, "a digit"},
		"unit":               {`{"a":2s}`, "'s' where ',' or '}'"},
		"word":               {`nul`, "'n' where a value"},
		"NaN":                {`[NaN]`, "NaN is no JSON number"},
		"minus infinity":     {`-Infinity`, "-Infinity is no JSON number"},
		"too deep":           {deep, "deeper than 32"},
		"second line":        {"{\n\t\"ä\": x}", "line 2, column 7 (byte 9): 'x'"},
		"duplicate":          {`{"a":1,"b":2,"a":3}`, `the key "a" occurs twice`},
		"duplicate, escaped": {`{"a":1,"\u0061":3}`, `the key "a" occurs twice`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := policy.CheckJSON([]byte(c.text))
			faultsOf(t, err, policy.CodeMalformed)
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, want %q in it", err, c.want)
			}
		})
	}
}

func TestJSONThatIsWellFormed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, ` [ ] `, `null`, `-0`, `0.5e-3`, `1E+2`, `"\ud83d\udc08"`, `"\"\\\/\b\f\n\r\té"`, `{"":""}`, "[1\r\n,\t2]",
		`{"a":{"a":{"a":[{"a":1}]}}}`, strings.Repeat("[", 32) + strings.Repeat("]", 32), "1\n",
		`"` + strings.Repeat("\u0301", 10_000) + `"`,
	} {
		if err := policy.CheckJSON([]byte(text)); err != nil {
			t.Errorf("%.60q: %v", text, err)
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("%.60q: encoding/json refuses it", text)
		}
	}
}

func TestC41_DuplicateKeyHasItsPointer(t *testing.T) {
	t.Parallel()
	for text, pointer := range map[string]string{
		`{"a":1,"a":1}`:                             "/a",
		`{"x":[0,{"a/b~":1,"a/b~":1}]}`:             "/x/1/a~1b~0",
		`{"p":1,"actions":{"like":{"ban":1,"ban":`:  "", // broken before it is read whole
		`{"p":1,"q":[[],{"like":{"b":1,"b":2}},3]}`: "/q/1/like/b",
	} {
		err := policy.CheckJSON([]byte(text))
		want := []string{}
		if pointer != "" {
			want = append(want, pointer+" duplicate")
		}
		equal(t, want, faultsOf(t, err, policy.CodeMalformed))
	}
}

func TestDuplicateKeysOfALargeObject(t *testing.T) {
	t.Parallel()
	var keys strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&keys, `"key%d":%d,`, i, i)
	}
	if err := policy.CheckJSON([]byte("{" + keys.String() + `"last":0}`)); err != nil {
		t.Error(err)
	}
	err := policy.CheckJSON([]byte("{" + keys.String() + `"key4999":0}`))
	equal(t, []string{"/key4999 duplicate"}, faultsOf(t, err, policy.CodeMalformed))
}

func TestC34_KeysAreSpelledExactly(t *testing.T) {
	t.Parallel()
	known := []string{"user_id", "cost"}
	if err := policy.CheckKeys([]byte(`{"user_id":"u","cost":1}`), known...); err != nil {
		t.Error(err)
	}
	err := policy.CheckKeys([]byte(`{"User_ID":"u","group_id":"a","cost":{"x":1}}`), known...)
	equal(t, []string{"/User_ID unknown", "/group_id unknown"}, faultsOf(t, err, policy.CodeInvalid))
	err = policy.CheckKeys([]byte(`[]`), known...)
	equal(t, []string{" type"}, faultsOf(t, err, policy.CodeInvalid))
}

// FuzzCheckJSON compares with encoding/json: what CheckJSON accepts, that does too and reads alike.
func FuzzCheckJSON(f *testing.F) {
	for _, text := range []string{typicalDocument, `{"a":[1,-2.5e3,"\ud83d\udc08",null,true]}`, `"\u0000"`, "[1,]", "\xff", `{"a":1,"a":2}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := policy.CheckJSON(data)
		if err == nil && !json.Valid(data) {
			t.Fatalf("%q is accepted, but is no JSON", data)
		}
		var e *policy.Error
		if err != nil && (!errors.As(err, &e) || e.Code != policy.CodeMalformed) {
			t.Fatalf("%q: %v", data, err)
		}
		patched, err := policy.MergePatch([]byte(`{"a":{"b":1},"c":[2]}`), data)
		if err == nil && policy.CheckJSON(data) == nil && !json.Valid(patched) {
			t.Fatalf("%q patches to %q", data, patched)
		}
	})
}
