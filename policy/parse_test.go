package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

const slidingWindow = `"algorithm":"sliding_window"`

// message wraps settings of the action message.
func message(settings string) string { return `{"actions":{"message":{` + settings + `}}}` }

func TestParseDocumentReadsEverything(t *testing.T) {
	t.Parallel()
	equal(t, policy.Document{
		TimeZone: policy.State("Asia/Shanghai"),
		Actions: map[string]policy.ActionDocument{
			"message": {
				Enabled:       policy.State(true),
				Mode:          policy.State(policy.Hard),
				MinIntervalMS: policy.State[int64](3000),
				Window: policy.State(policy.Window{
					Algorithm: policy.SlidingWindow, Limit: 6, PeriodMS: 30_000,
				}),
				Ban:       policy.State(policy.Ban{ForMS: 3_600_000}),
				OnFailure: policy.State(policy.Allow),
			},
			"comment": {
				MinIntervalMS: policy.None[int64](),
				Window:        policy.State(policy.Window{Algorithm: policy.SlidingWindow, Limit: 10, PeriodMS: 60_000}),
			},
		},
		ExemptRoles: policy.State([]string{"owner", "admin", "bot"}),
		Penalties: policy.PenaltiesDocument{
			Ladder: policy.State([]policy.Step{
				{After: 3, Do: policy.Mute, ForMS: 60_000},
				{After: 4, Do: policy.Mute, ForMS: 300_000},
				{After: 5, Do: policy.Mute, ForMS: 3_600_000},
				{After: 6, Do: policy.Review},
			}),
			ForgiveOneEveryMS: policy.State[int64](600_000),
		},
		Notices: map[string]map[string]string{"en": {"too_soon": "Wait {wait}."}, "zh": {"too_soon": "请等待 {wait}。"}},
	}, parsed(t, typicalDocument))
}

func TestParseDocumentFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		faults []string
	}{
		"not an object":     {`[]`, []string{" type"}},
		"null":              {`null`, []string{" type"}},
		"unknown key":       {`{"timezone":"UTC"}`, []string{"/timezone unknown"}},
		"misspelt case":     {`{"Actions":{}}`, []string{"/Actions unknown"}},
		"foreign id":        {`{"group_id":"a","version":3}`, []string{"/group_id unknown", "/version unknown"}},
		"actions an array":  {`{"actions":[]}`, []string{"/actions type"}},
		"action null":       {`{"actions":{"like":null}}`, []string{"/actions/like type"}},
		"action name":       {`{"actions":{"Like/x":{}}}`, []string{"/actions/Like~1x format"}},
		"unknown setting":   {message(`"limit":3`), []string{"/actions/message/limit unknown"}},
		"enabled text":      {message(`"enabled":"no"`), []string{"/actions/message/enabled type"}},
		"enabled null":      {message(`"enabled":null`), []string{"/actions/message/enabled type"}},
		"enabled number":    {message(`"enabled":0`), []string{"/actions/message/enabled type"}},
		"mode":              {message(`"mode":"HARD"`), []string{"/actions/message/mode unknown"}},
		"mode number":       {message(`"mode":1`), []string{"/actions/message/mode type"}},
		"on_failure":        {message(`"on_failure":"open"`), []string{"/actions/message/on_failure unknown"}},
		"on_failure null":   {message(`"on_failure":null`), []string{"/actions/message/on_failure type"}},
		"window number":     {message(`"window":8`), []string{"/actions/message/window type"}},
		"window empty":      {message(`"window":{}`), []string{"/actions/message/window/algorithm required", "/actions/message/window/limit required", "/actions/message/window/period_ms required"}},
		"window no limit":   {message(`"window":{` + slidingWindow + `,"period_ms":1}`), []string{"/actions/message/window/limit required"}},
		"window null limit": {message(`"window":{` + slidingWindow + `,"limit":null,"period_ms":1}`), []string{"/actions/message/window/limit type"}},
		"window algorithm":  {message(`"window":{"algorithm":"gcra","limit":1,"period_ms":1}`), []string{"/actions/message/window/algorithm unknown"}},
		"count_refused":     {message(`"window":{` + slidingWindow + `,"limit":1,"period_ms":1,"count_refused":1}`), []string{"/actions/message/window/count_refused type"}},
		"a key of another":  {messageWindow(slidingWindow + `,"limit":1,"period_ms":1,"align":"calendar"`), []string{"/actions/message/window/align unknown"}},
		"bucket's keys":     {messageWindow(`"algorithm":"token_bucket","limit":1,"period_ms":1`), []string{"/actions/message/window/capacity required", "/actions/message/window/limit unknown", "/actions/message/window/period_ms unknown", "/actions/message/window/refill_ms required"}},
		"no buckets":        {messageWindow(`"algorithm":"sliding_counter","limit":1,"period_ms":1`), []string{"/actions/message/window/buckets required"}},
		"no buckets at all": {messageWindow(`"algorithm":"sliding_counter","limit":1,"period_ms":1,"buckets":0`), []string{"/actions/message/window/buckets range"}},
		"align":             {messageWindow(`"algorithm":"fixed_window","limit":1,"period_ms":1,"align":"last"`), []string{"/actions/message/window/align unknown"}},
		"align null":        {messageWindow(`"algorithm":"fixed_window","limit":1,"period_ms":1,"align":null`), []string{"/actions/message/window/align type"}},
		"no unit":           {messageWindow(`"algorithm":"fixed_window","limit":1,"period_ms":30000,"align":"calendar"`), []string{"/actions/message/window/period_ms range"}},
		"queue":             {messageWindow(`"algorithm":"leaky_bucket","capacity":1,"leak_ms":1.5,"queue":"no"`), []string{"/actions/message/window/leak_ms type", "/actions/message/window/queue type"}},
		"until":             {message(`"ban":{"until":"tomorrow"}`), []string{"/actions/message/ban/until unknown"}},
		"until number":      {message(`"ban":{"until":5}`), []string{"/actions/message/ban/until type"}},
		"until and for":     {message(`"ban":{"for_ms":5,"until":"end_of_day"}`), []string{"/actions/message/ban/until conflict"}},
		"group number":      {message(`"group":5`), []string{"/actions/message/group type"}},
		"group empty":       {message(`"group":{}`), []string{"/actions/message/group/window required"}},
		"group no window":   {message(`"group":{"window":null}`), []string{"/actions/message/group/window type"}},
		"group and more":    {message(`"group":{"window":{` + slidingWindow + `,"limit":1,"period_ms":1},"ban":null}`), []string{"/actions/message/group/ban unknown"}},
		"group no limit":    {message(`"group":{"window":{` + slidingWindow + `,"period_ms":1}}`), []string{"/actions/message/group/window/limit required"}},
		"ban empty":         {message(`"ban":{}`), []string{"/actions/message/ban/for_ms required"}},
		"ban number":        {message(`"ban":5`), []string{"/actions/message/ban type"}},
		"ban zero":          {message(`"ban":{"for_ms":0}`), []string{"/actions/message/ban/for_ms range"}},
		"roles text":        {`{"exempt_roles":"admin"}`, []string{"/exempt_roles type"}},
		"roles null":        {`{"exempt_roles":null}`, []string{"/exempt_roles type"}},
		"role twice":        {`{"exempt_roles":["admin","bot","admin"]}`, []string{"/exempt_roles/2 duplicate"}},
		"role shapes":       {`{"exempt_roles":["Admin","",7,null]}`, []string{"/exempt_roles/0 format", "/exempt_roles/1 format", "/exempt_roles/2 type", "/exempt_roles/3 type"}},
		"33 roles":          {`{"exempt_roles":["a"` + strings.Repeat(`,"b"`, 32) + `]}`, []string{"/exempt_roles range"}},
		"zone empty":        {`{"time_zone":""}`, []string{"/time_zone unknown"}},
		"zone Local":        {`{"time_zone":"Local"}`, []string{"/time_zone unknown"}},
		"zone null":         {`{"time_zone":null}`, []string{"/time_zone type"}},
		"penalties null":    {`{"penalties":null}`, []string{"/penalties type"}},
		"penalties unknown": {`{"penalties":{"steps":[]}}`, []string{"/penalties/steps unknown"}},
		"forgive zero":      {`{"penalties":{"forgive_one_every_ms":0}}`, []string{"/penalties/forgive_one_every_ms range"}},
		"forgive null":      {`{"penalties":{"forgive_one_every_ms":null}}`, []string{"/penalties/forgive_one_every_ms type"}},
		"notices language":  {`{"notices":{"zh-CN":{}}}`, []string{"/notices/zh-CN unknown"}},
		"notices key":       {`{"notices":{"en":{"too_late":"x"}}}`, []string{"/notices/en/too_late unknown"}},
		"notices number":    {`{"notices":{"en":{"too_soon":1}}}`, []string{"/notices/en/too_soon type"}},
		"notices null":      {`{"notices":{"en":null}}`, []string{"/notices/en type"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := policy.ParseDocument([]byte(c.text))
			equal(t, c.faults, faultsOf(t, err, policy.CodeInvalid))
			equal(t, policy.Document{}, d)
		})
	}
}

func TestParseDocumentLadder(t *testing.T) {
	t.Parallel()
	ladder := func(steps string) string { return `{"penalties":{"ladder":[` + steps + `]}}` }
	at := func(rest string) string { return "/penalties/ladder/" + rest }
	mutes := strings.TrimSuffix(strings.Repeat(`{"after":3,"do":"mute","for_ms":1},`, 33), ",")
	for name, c := range map[string]struct {
		text   string
		faults []string
	}{
		"first is 1":         {ladder(`{"after":1,"do":"review"}`), []string{at("0/after range")}},
		"above 255":          {ladder(`{"after":256,"do":"review"}`), []string{at("0/after range")}},
		"equal":              {ladder(`{"after":3,"do":"review"},{"after":3,"do":"remove"}`), []string{at("1/after order")}},
		"falling":            {ladder(`{"after":5,"do":"review"},{"after":3,"do":"remove"},{"after":4,"do":"remove"}`), []string{at("1/after order"), at("2/after order")}},
		"mute without time":  {ladder(`{"after":3,"do":"mute"}`), []string{at("0/for_ms required")}},
		"mute for 0":         {ladder(`{"after":3,"do":"mute","for_ms":0}`), []string{at("0/for_ms range")}},
		"review with time":   {ladder(`{"after":3,"do":"review","for_ms":5}`), []string{at("0/for_ms forbidden")}},
		"remove with time":   {ladder(`{"after":3,"for_ms":5,"do":"remove"}`), []string{at("0/for_ms forbidden")}},
		"kick":               {ladder(`{"after":3,"do":"kick"}`), []string{at("0/do unknown")}},
		"empty step":         {ladder(`{}`), []string{at("0/after required"), at("0/do required")}},
		"step null":          {ladder(`null`), []string{at("0 type")}},
		"unknown key":        {ladder(`{"after":3,"do":"review","note":"x"}`), []string{at("0/note unknown")}},
		"an object":          {`{"penalties":{"ladder":{}}}`, []string{"/penalties/ladder type"}},
		"more than 32 steps": {ladder(mutes), []string{"/penalties/ladder range"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := policy.ParseDocument([]byte(c.text))
			equal(t, c.faults, faultsOf(t, err, policy.CodeInvalid))
		})
	}
}

// numberFields are all numbers of a document but `after`: the pointer, a document with a hole for the number, and words
// that a fault must hold.
func numberFields() map[string][3]string {
	return map[string][3]string{
		"/actions/message/min_interval_ms":    {message(`"min_interval_ms":%s`), "milliseconds", "1000 to 10000"},
		"/actions/message/window/limit":       {message(`"window":{` + slidingWindow + `,"limit":%s,"period_ms":30000}`), "attempts", "3 to 50"},
		"/actions/message/group/window/limit": {message(`"group":{"window":{` + slidingWindow + `,"limit":%s,"period_ms":30000}}`), "attempts", "3 to 10000"},
		"/actions/message/window/period_ms":   {message(`"window":{` + slidingWindow + `,"limit":8,"period_ms":%s}`), "milliseconds", "5000 to 300000"},
		"/actions/message/ban/for_ms":         {message(`"ban":{"for_ms":%s}`), "milliseconds", "10000 to 604800000"},
		"/penalties/ladder/0/for_ms":          {`{"penalties":{"ladder":[{"after":3,"do":"mute","for_ms":%s}]}}`, "milliseconds", "10000 to 604800000"},
		"/penalties/forgive_one_every_ms":     {`{"penalties":{"forgive_one_every_ms":%s}}`, "milliseconds", "60000 to 604800000"},
	}
}

func TestC16_NumbersThatAreRefusedNameFieldUnitAndRange(t *testing.T) {
	t.Parallel()
	s := shippedSystem(t)
	for pointer, field := range numberFields() {
		key := pointer[strings.LastIndexByte(pointer, '/')+1:]
		for value, code := range map[string]string{
			"0": "range", "-1": "range", "-0": "range", "0.0": "range", "-5e3": "range", "9007199254740992": "range", "1e300": "range",
			"123456789012345678901234567890": "range", "1e99999999999999999999": "range", "-1e99999999999999999999": "range",
			"1.5": "type", "1e-3": "type", "1e-99999999999999999999": "type", "0.000001": "type", `"2s"`: "type", `"2000"`: "type",
			"NaN": "type", "Infinity": "type", "-Infinity": "type", "true": "type", "[2000]": "type", `{"ms":2000}`: "type",
		} {
			_, err := s.ParseDocument(fmt.Appendf(nil, field[0], value))
			equal(t, []string{pointer + " " + code}, faultsOf(t, err, policy.CodeInvalid))
			var e *policy.Error
			errors.As(err, &e)
			for _, word := range []string{key, field[1], field[2]} {
				if detail := e.Fields[0].Detail; !strings.Contains(detail, word) {
					t.Errorf("%s: %s: %q lacks %q", pointer, value, detail, word)
				}
			}
			if _, err = policy.ParseDocument(fmt.Appendf(nil, field[0], value)); err == nil || !strings.Contains(err.Error(), field[1]) {
				t.Errorf("%s: %s: without bounds: %v", pointer, value, err)
			}
		}
	}
}

func TestC16_WholeNumbersAreKeptHoweverWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "2": 2, "1000000000": 1e9, "1e9": 1e9, "1E+9": 1e9, "1.0": 1, "1000000000.0": 1e9, "1.5e3": 1500, "25e-1e": 0,
		"2500e-2": 25, "0.001e3": 1, "9007199254740991": 1<<53 - 1,
	} {
		d, err := policy.ParseDocument([]byte(message(`"min_interval_ms":` + text)))
		if want == 0 {
			if err == nil {
				t.Errorf("%s is accepted", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		equal(t, policy.State(want), d.Actions["message"].MinIntervalMS)
	}
}

func TestAllFaultsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := policy.ParseDocument([]byte(`{"time_zone":7,"actions":{"message":{"min_interval_ms":0,"window":{"algorithm":"sliding_window","limit":1.5}},
		"like":{"x":1}},"exempt_roles":["A"],"penalties":{"ladder":[{"after":1,"do":"mute"}]},"notices":{"fr":{}}}`))
	equal(t, []string{
		"/actions/like/x unknown", "/actions/message/min_interval_ms range", "/actions/message/window/limit type",
		"/actions/message/window/period_ms required", "/exempt_roles/0 format", "/notices/fr unknown",
		"/penalties/ladder/0/after range", "/penalties/ladder/0/for_ms required", "/time_zone type",
	}, faultsOf(t, err, policy.CodeInvalid))
}

func TestFaultsOfOneAnswerAreCapped(t *testing.T) {
	t.Parallel()
	var keys strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&keys, `"k%d":0,`, i)
	}
	_, err := policy.ParseDocument([]byte(`{` + keys.String() + `"z":0}`))
	if n := len(faultsOf(t, err, policy.CodeInvalid)); n != 100 {
		t.Errorf("%d faults are named, want 100", n)
	}
}

func TestC41_DuplicateKeyInADocument(t *testing.T) {
	t.Parallel()
	for text, pointer := range map[string]string{
		`{"actions":{},"actions":{}}`:                      "/actions",
		`{"actions":{"message":{},"message":{}}}`:          "/actions/message",
		message(`"mode":"soft","mode":"hard"`):             "/actions/message/mode",
		message(`"mode":"soft","\u006dode":"hard"`):        "/actions/message/mode",
		`{"notices":{"en":{"too_soon":"","too_soon":""}}}`: "/notices/en/too_soon",
	} {
		_, err := policy.ParseDocument([]byte(text))
		equal(t, []string{pointer + " duplicate"}, faultsOf(t, err, policy.CodeMalformed))
	}
}

func TestC40_TextsOfNotices(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		``: true, `Wait {wait}, {limit} in {period}!`: true, `<img onerror> javascript: 100 % "quoted" }`: true,
		strings.Repeat("字", 160): true, strings.Repeat("字", 161): false, strings.Repeat("\u0301", 10_000): false,
		`{{wait}}`: false, `{name}`: false, `{`: false, `{WAIT}`: false, "a\\nb": false, `a\tb`: false, `\u0085`: false,
		`\u2028`: false, `\u007f`: false, `👨‍👩‍👧`: true, `\ud83d\udc08 {wait}`: true,
	} {
		quoted := `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`
		_, err := policy.ParseDocument([]byte(`{"notices":{"zh":{"too_many":` + quoted + `}}}`))
		switch {
		case ok && err != nil:
			t.Errorf("%.40s: %v", text, err)
		case !ok:
			equal(t, []string{"/notices/zh/too_many format"}, faultsOf(t, err, policy.CodeInvalid))
		}
	}
}

func TestC40_StringsInEveryPlace(t *testing.T) {
	t.Parallel()
	for _, hole := range []string{
		`{"time_zone":"%s"}`, `{"%s":1}`, `{"actions":{"%s":{}}}`, message(`"%s":1`), message(`"mode":"%s"`), message(`"on_failure":"%s"`),
		message(`"window":{"algorithm":"%s","limit":1,"period_ms":1}`), message(`"window":{"%s":1}`), message(`"ban":{"%s":1}`),
		`{"exempt_roles":["%s"]}`, `{"penalties":{"%s":1}}`, `{"penalties":{"ladder":[{"after":3,"do":"%s"}]}}`,
		`{"notices":{"%s":{}}}`, `{"notices":{"en":{"%s":""}}}`, `{"notices":{"en":{"too_soon":"%s"}}}`,
	} {
		for value, code := range map[string]policy.Code{
			`\u0000`: policy.CodeMalformed, "\x00": policy.CodeMalformed, `\ud800`: policy.CodeMalformed, "\xc3": policy.CodeMalformed,
			strings.Repeat("\u0301", 10_000): policy.CodeInvalid,
		} {
			_, err := policy.ParseDocument([]byte(strings.ReplaceAll(hole, "%s", value)))
			faultsOf(t, err, code)
			if len(err.Error()) > 2_000 {
				t.Errorf("%s: the answer repeats the flood: %d bytes", hole, len(err.Error()))
			}
		}
	}
}
