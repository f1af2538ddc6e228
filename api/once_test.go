package api_test

import (
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/api"
	"github.com/pacekeeper/pacekeeper/policy"
)

func TestIdempotencyKeyIsPrintable(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", strings.Repeat("k", 256), "a\tb", "ключ", "a\x7f"} {
		_, err := api.Once(t.Context(), &key, "import g1")
		if known, ok := err.(*policy.Error); !ok || known.Code != policy.CodeMalformed { //nolint:errorlint // it comes bare
			t.Errorf("%q: %v", key, err)
		}
	}
	key := strings.Repeat("~", 255)
	if o, err := api.Once(t.Context(), &key, "import g1"); err != nil || o.Key != key || o.Operation != "import g1" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestIdempotencyDigestTellsPartsApart(t *testing.T) {
	t.Parallel()
	key := "k"
	one, err := api.Once(t.Context(), &key, "o", []byte("ab"), []byte("c"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := api.Once(t.Context(), &key, "o", []byte("a"), []byte("bc"))
	if err != nil || one.Digest == two.Digest {
		t.Errorf("%x and %x, %v", one.Digest, two.Digest, err)
	}
	if none, err := api.Once(t.Context(), nil, "o"); err != nil || none.Key != "" {
		t.Errorf("%+v, %v", none, err)
	}
}
