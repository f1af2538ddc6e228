package policy_test

import (
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

// typicalDocument is the contract's sample with two actions, pretty-printed as a person would send it.
const typicalDocument = `{
  "time_zone": "Asia/Shanghai",
  "actions": {
    "message": {
      "enabled": true, "mode": "hard", "min_interval_ms": 3000,
      "window": {"algorithm": "sliding_window", "limit": 6, "period_ms": 30000, "count_refused": false},
      "ban": {"for_ms": 3600000}, "on_failure": "allow"
    },
    "comment": {"min_interval_ms": null, "window": {"algorithm": "sliding_window", "limit": 10, "period_ms": 60000}}
  },
  "exempt_roles": ["owner", "admin", "bot"],
  "penalties": {
    "ladder": [
      {"after": 3, "do": "mute", "for_ms": 60000},
      {"after": 4, "do": "mute", "for_ms": 300000},
      {"after": 5, "do": "mute", "for_ms": 3600000},
      {"after": 6, "do": "review"}
    ],
    "forgive_one_every_ms": 600000
  },
  "notices": {"en": {"too_soon": "Wait {wait}."}, "zh": {"too_soon": "请等待 {wait}。"}}
}`

func BenchmarkParseDocument(b *testing.B) {
	for name, text := range map[string][]byte{
		"sample":    []byte(typicalDocument),
		"canonical": parsed(b, typicalDocument).JSON(),
		"small":     []byte(`{"actions":{"message":{"min_interval_ms":3000,"window":{"algorithm":"sliding_window","limit":6,"period_ms":30000,"count_refused":false}}}}`),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := policy.ParseDocument(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResolveCompile(b *testing.B) {
	s := shippedSystem(b)
	for name, text := range map[string]string{
		"sample": typicalDocument,
		"small":  `{"actions":{"message":{"min_interval_ms":3000}}}`,
	} {
		d := parsed(b, text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e, _ := s.Resolve(d)
				s.Compile(e, "message", 3, s.Order(3))
			}
		})
		b.Run(name+"/compiler", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := s.Compiler(d)
				c.Compile("message", 3, s.Order(3))
			}
		})
	}
}

func BenchmarkDocumentJSON(b *testing.B) {
	d := parsed(b, typicalDocument)
	b.ReportAllocs()
	for b.Loop() {
		d.JSON()
	}
}
