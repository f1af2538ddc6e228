package ui

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// auditView is the audit log, newest first, by days, with filters that stand in the address.
type auditView struct {
	base
	opsHead
	Chain           chainView
	Filter          url.Values
	Filtered        bool
	Roles, Channels []optionView
	Actions         []string
	Days            []auditDay
	Next, First     string
	CSV, JSONL      string // addresses
	Faults          []faultView
	Fault           faulted
}

// auditDay are the entries of one day in UTC.
type auditDay struct {
	Text string
	Rows []auditRow
}

// auditRow is one entry as a line; what it changed is fetched when it is opened.
type auditRow struct {
	Seq                            int64
	Time, At, Actor, Action, Group string
	What, Href                     string
}

const auditShown = 50

// auditFilters are the fields of the filter form, as the address has them.
func auditFilters() []string {
	return []string{"actor", "role", "channel", "group", "action", "changed", "request", "from", "to"}
}

// auditActions are the actions that the filter suggests.
func auditActions() []string {
	return []string{
		"policy.*", "policy.update", "policy.delete", "policy.restore", "exemption.*", "mute.*", "ban.lift", "group.*",
		"bounds.update", "defaults.update", "action.put", "token.*", "session.*", "portal.*", "person.*", "generation.bump",
	}
}

func (u *UI) auditPage(c echo.Context) error {
	b := u.base(c.Request(), "audit")
	v := auditView{base: b, opsHead: u.opsHead(c, "audit", "audit"), Actions: auditActions(), Chain: u.chainView(b)}
	v.filters(c.QueryParams())
	query, faults := b.auditQuery(v.Filter)
	status := http.StatusOK
	if len(faults) == 0 {
		query.Cursor, query.Limit = c.QueryParam("cursor"), auditShown
		page, err := u.cfg.Store.ListAudit(c.Request().Context(), query)
		if err != nil {
			if faults = b.filterFaults(err); len(faults) == 0 {
				return err
			}
		}
		v.list(page, c.QueryParam("cursor") != "")
	}
	if len(faults) > 0 {
		status, v.Faults, v.Title = http.StatusUnprocessableEntity, faults, b.Say("error_title")+v.Title
		v.Fault = byField(faults)
	}
	return u.render(c.Response(), status, "ops_audit", v)
}

// filters keeps what the address says of the filters, and what may be chosen.
func (v *auditView) filters(query url.Values) {
	v.Filter = url.Values{}
	for _, name := range auditFilters() {
		if value := strings.TrimSpace(query.Get(name)); value != "" {
			v.Filter.Set(name, value)
		}
	}
	v.Filtered = len(v.Filter) > 0
	v.Roles = v.options("role", "token_role_", append(tokenRoles(), ""))
	v.Channels = v.options("channel", "channel_", []string{store.ChannelUI, store.ChannelAPI, store.ChannelApply, store.ChannelSystem, ""})
	export := func(format string) string {
		q := url.Values{"format": {format}}
		for name := range v.Filter {
			q.Set(name, v.Filter.Get(name))
		}
		return "/ops/audit/export?" + q.Encode()
	}
	v.CSV, v.JSONL = export("csv"), export("jsonl")
}

// options are the words of a filter, any first.
func (v *auditView) options(field, prefix string, words []string) []optionView {
	all := []optionView{{"", v.Say("any"), v.Filter.Get(field) == ""}}
	for _, word := range words {
		if word != "" {
			all = append(all, optionView{word, v.Say(prefix + word), v.Filter.Get(field) == word})
		}
	}
	return all
}

// auditQuery reads the filters. Days are days in UTC; the last one is included.
func (b base) auditQuery(f url.Values) (q store.AuditQuery, faults []faultView) {
	q = store.AuditQuery{
		Actor: f.Get("actor"), Role: f.Get("role"), Channel: f.Get("channel"), GroupID: f.Get("group"), Action: f.Get("action"),
		Changed: f.Get("changed"), RequestID: f.Get("request"),
	}
	day := func(name string) time.Time {
		if f.Get(name) == "" {
			return time.Time{}
		}
		t, err := time.Parse(time.DateOnly, f.Get(name))
		if err != nil {
			faults = append(faults, faultView{name, b.Say("enter_day")})
		}
		return t
	}
	q.From, q.To = day("from"), day("to")
	if !q.To.IsZero() {
		q.To = q.To.AddDate(0, 0, 1)
	}
	return q, faults
}

// filterFaults are the filters that the log refuses; none for other errors.
func (b base) filterFaults(err error) (faults []faultView) {
	var known *policy.Error
	if !errors.As(err, &known) || known.Code != policy.CodeInvalid {
		return nil
	}
	for _, f := range known.Fields {
		field := strings.TrimPrefix(f.Pointer, "/")
		faults = append(faults, faultView{field, b.Say("filter_" + field)})
	}
	return faults
}

// list puts a page of entries into days.
func (v *auditView) list(page store.Page[store.AuditEntry], later bool) {
	for _, e := range page.Items {
		day := v.day(e.At.UTC())
		if n := len(v.Days); n == 0 || v.Days[n-1].Text != day {
			v.Days = append(v.Days, auditDay{Text: day})
		}
		last := &v.Days[len(v.Days)-1]
		last.Rows = append(last.Rows, v.auditRow(e))
	}
	address := func(cursor string) string {
		q := url.Values{}
		for name := range v.Filter {
			q.Set(name, v.Filter.Get(name))
		}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		return "/ops/audit?" + q.Encode()
	}
	if page.Next != "" {
		v.Next = address(page.Next)
	}
	if later {
		v.First = address("")
	}
}

func (b base) auditRow(e store.AuditEntry) auditRow {
	row := auditRow{
		Seq: e.Seq, Time: e.At.UTC().Format("15:04:05"), At: e.At.UTC().Format(time.RFC3339), Actor: b.unlessErased(e, "who", e.Actor), Action: e.Action,
		Group: e.GroupID, Href: "/ops/audit/" + plain(e.Seq), What: b.what(e),
	}
	switch kind, _, _ := strings.Cut(e.Action, "."); {
	case row.Group != "":
	case kind == "bounds" || kind == "defaults" || kind == "action":
		row.Group = b.Say("every_group")
	default:
		row.Group = b.Say("no_group")
	}
	return row
}

// unlessErased is a text of an entry, or the word for it where its part of the entry, who or what, was erased.
func (b base) unlessErased(e store.AuditEntry, part, text string) string {
	if slices.Contains(e.Erased, part) {
		return b.Say("erased")
	}
	return text
}

// what says in a few words what an entry changed: of a record that came or went, its name rather than its number.
func (b base) what(e store.AuditEntry) string {
	changes := changesOf(e)
	words := policy.DiffWords(changes, b.Lang)
	switch {
	case len(words) == 0 && len(e.Erased) > 0:
		return b.Say("entry_erased")
	case len(words) == 0:
		return e.Target
	}
	said := words[0].Sentence
	if i := slices.IndexFunc(changes, func(c policy.Change) bool { return c.Path == "/name" || c.Path == "/user_id" }); i >= 0 {
		said = words[i].Sentence
	}
	if len(words) == 1 {
		return said
	}
	return b.Say("what_more", said, len(words)-1)
}

// changesOf is what an entry changed; nothing can be said of one whose texts were tampered with.
func changesOf(e store.AuditEntry) []policy.Change {
	changes, err := policy.DiffJSON([]byte(e.Before), []byte(e.After))
	if err != nil {
		return nil
	}
	return changes
}
