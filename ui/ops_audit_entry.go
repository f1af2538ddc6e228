package ui

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// entryView is one entry of the audit log, with what changed in words.
type entryView struct {
	base
	opsHead
	Seq     int64
	Changes []policy.ChangeWords
	More    string // of more changes than are shown, "" for none
	Erased  string
	Reason  string
	Rows    []factView
	Group   string // address of its group's page, "" for none
	GroupID string
}

// changesShown is how many changes of one entry are shown; its JSON has them all.
const changesShown = 100

func (u *UI) auditEntryPage(c echo.Context) error {
	seq, err := strconv.ParseInt(c.Param("seq"), 10, 64)
	if err != nil || seq < 1 {
		return policy.Errorf(policy.CodeNotFound, "no such entry")
	}
	entry, err := u.cfg.Store.AuditEntry(c.Request().Context(), seq)
	if err != nil {
		return err
	}
	v := u.base(c.Request(), "audit_entry").entryView(entry)
	v.opsHead = u.opsHead(c, "audit", "audit_entry")
	if wantsFragment(c) {
		return u.fragment(c.Response(), "ops_entry/more", v)
	}
	return u.render(c.Response(), http.StatusOK, "ops_entry", v)
}

func (b base) entryView(e store.AuditEntry) entryView {
	v := entryView{base: b, Seq: e.Seq, Changes: policy.DiffWords(changesOf(e), b.Lang), Reason: e.Reason, GroupID: e.GroupID}
	if n := len(v.Changes); n > changesShown {
		v.More, v.Changes = b.Say("and_more", n-changesShown), v.Changes[:changesShown]
	}
	if len(e.Erased) > 0 {
		v.Erased = b.Say("entry_erased")
	}
	if e.GroupID != "" {
		v.Group = groupPath(e.GroupID)
	}
	v.Rows = slices.DeleteFunc([]factView{
		{b.Say("entry_seq"), thousands(e.Seq)},
		{b.Say("entry_at"), e.At.UTC().Format(time.RFC3339Nano)},
		{b.Say("entry_actor"), b.unlessErased(e, "who", e.Actor)},
		{b.Say("entry_role"), e.Role},
		{b.Say("entry_channel"), b.Say("channel_" + e.Channel)},
		{b.Say("entry_action"), e.Action},
		{b.Say("entry_target"), b.unlessErased(e, "what", e.Target)},
		{b.Say("entry_address"), e.Address},
		{b.Say("entry_request"), e.RequestID},
		{b.Say("entry_hash"), e.Hash},
		{b.Say("entry_prev"), e.PrevHash},
	}, func(f factView) bool { return f.Value == "" })
	return v
}
