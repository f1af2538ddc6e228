package ui

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// membersView is who may not speak in a group now, with a form to mute by hand. Unsure says that Redis is away, so that
// mutes which it gave meanwhile are not known yet.
type membersView struct {
	base
	groupHead
	Banner        *bannerView
	Muted, Review []mutedRow
	Next, First   string
	Unsure        bool
	UserID        string
	For           inputView
	Reason        string
	Faults        []faultView
	Fault         map[string]string // by field
}

// mutedRow is one member. Left and Whole are seconds, for the clock and the bar; a bar needs both.
type mutedRow struct {
	UserID, Why, Text string
	Left, Whole       int64
	StartMS           int64
	LiftLabel         string
}

const membersPage = 50

// drainWait is how long a page waits for what scripts have just decided.
const drainWait = 400 * time.Millisecond

// drain brings in the mutes that scripts have just given; false where Redis does not tell.
func (u *UI) drain(ctx context.Context, groupID string) bool {
	if u.cfg.Drain == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, drainWait)
	defer cancel()
	err := u.cfg.Drain(ctx, groupID)
	if err != nil {
		u.cfg.Log.WarnContext(ctx, "events not read", slog.String("group_id", groupID), slog.Any("error", err))
	}
	return err == nil
}

func (u *UI) membersPage(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	view, err := u.membersView(c, record)
	if err != nil {
		return err
	}
	if view.Banner, err = u.mutesBanner(c, view.base, record.Group.ID); err != nil {
		return err
	}
	return u.render(c.Response(), http.StatusOK, "members", view)
}

// mutesBanner says what became of the form that led here. A link may come from anywhere: it is said only while it is so.
func (u *UI) mutesBanner(c echo.Context, b base, groupID string) (*bannerView, error) {
	lifted, muted := c.QueryParam("lifted"), c.QueryParam("muted")
	if lifted == "" && muted == "" {
		return nil, nil
	}
	m, err := u.cfg.Store.MuteForPublish(c.Request().Context(), groupID, cmp.Or(lifted, muted))
	switch {
	case hasCode(err, policy.CodeNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case lifted != "" && !m.LiftedAt.IsZero():
		return &bannerView{Kind: "good", Text: b.Say("lifted", m.UserID)}, nil
	case muted != "" && m.LiftedAt.IsZero() && m.EndMS > u.cfg.Now().UnixMilli():
		return &bannerView{Kind: "good", Text: b.Say("muted", m.UserID)}, nil
	}
	return nil, nil
}

func (u *UI) membersView(c echo.Context, record store.PolicyRecord) (membersView, error) {
	r, id := c.Request(), record.Group.ID
	b := u.base(r, "members")
	v := membersView{base: b, groupHead: u.groupHead(r, b, record, "members", "members"), Fault: map[string]string{}}
	v.Unsure = !u.drain(r.Context(), id)
	page, err := u.cfg.Store.ListMutes(r.Context(), id, c.QueryParam("after"), membersPage)
	if err != nil {
		return v, err
	}
	now, zone := u.cfg.Now(), zoneOf(record)
	for _, m := range page.Items {
		row := b.mutedRow(m, now, zone)
		if m.Cause == store.CauseReview {
			v.Review = append(v.Review, row)
			continue
		}
		v.Muted = append(v.Muted, row)
	}
	if page.Next != "" {
		v.Next = "?" + url.Values{"after": {page.Next}}.Encode()
	}
	if c.QueryParam("after") != "" {
		v.First = v.Href + "/members"
	}
	d := drawing{base: b, form: url.Values{"for": {"10"}, "for-u": {"m"}}, system: record.System, off: v.ReadOnly}
	v.For = d.lengthInput("for", "mute_length", policy.Range{Min: 1000, Max: policy.MaxMuteMS}, 0)
	v.For.Hint = b.Say("mute_hint")
	return v, nil
}

func (b base) mutedRow(m store.Mute, now time.Time, zone *time.Location) mutedRow {
	start, end := time.UnixMilli(m.StartMS), time.UnixMilli(m.EndMS)
	row := mutedRow{
		UserID: m.UserID, StartMS: m.StartMS, LiftLabel: b.Say("lift_of", m.UserID),
		Left: int64((end.Sub(now) + time.Second - 1) / time.Second), Whole: int64(end.Sub(start) / time.Second),
	}
	row.Text = policy.DurationText(row.Left*1000, b.Lang)
	at := start.In(zone).Format("15:04")
	if now.Sub(start) > 20*time.Hour {
		at = b.date(start, zone)
	}
	switch m.Cause {
	case store.CauseModerator:
		row.Why = b.Say("cause_moderator", b.person(m.By), at)
		if m.Reason != "" {
			row.Why = b.Say("cause_reason", row.Why, m.Reason)
		}
	case store.CauseReview:
		row.Why = b.Say("cause_review", m.Step+1, at)
	case store.CauseRemove:
		row.Why = b.Say("cause_remove", m.Step+1, at)
	default:
		row.Why = b.Say("cause_ladder", m.Step+1, at)
	}
	return row
}

// changeMutes lifts a mute, or gives one by hand.
func (u *UI) changeMutes(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	if !mayEdit(principalOf(c.Request()), record) {
		return policy.Errorf(policy.CodeForbidden, "view only")
	}
	u.drain(c.Request().Context(), record.Group.ID)
	if lifted := c.FormValue("lift"); lifted != "" {
		return u.liftMute(c, record, lifted)
	}
	return u.putMute(c, record)
}

// liftMute ends the mute that the page showed: one that was given since stays.
func (u *UI) liftMute(c echo.Context, record store.PolicyRecord, userID string) error {
	ctx, actor := c.Request().Context(), u.actor(c, principalOf(c.Request()))
	_, err := u.cfg.Store.LiftMute(ctx, actor, record.Group.ID, userID, store.Anything())
	if hasCode(err, policy.CodeNotFound) {
		view, err := u.membersView(c, record)
		if err != nil {
			return err
		}
		view.Banner = &bannerView{Text: u.alreadyLifted(ctx, view.base, record.Group.ID, userID)}
		return u.render(c.Response(), http.StatusOK, "members", view)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, groupPath(record.Group.ID)+"/members?"+url.Values{"lifted": {userID}}.Encode())
}

// alreadyLifted says who was faster, or that the mute is over.
func (u *UI) alreadyLifted(ctx context.Context, b base, groupID, userID string) string {
	m, err := u.cfg.Store.MuteForPublish(ctx, groupID, userID)
	if err == nil && m.LiftedBy != "" {
		return b.Say("lifted_by", userID, b.person(m.LiftedBy))
	}
	return b.Say("not_muted", userID)
}

func (u *UI) putMute(c echo.Context, record store.PolicyRecord) error {
	b := u.base(c.Request(), "members")
	userID, reason := strings.TrimSpace(c.FormValue("user")), strings.TrimSpace(c.FormValue("reason"))
	ms, ok := length(c.FormValue("for"), c.FormValue("for-u"))
	var faults []faultView
	if policy.CheckID("", userID) != nil {
		faults = append(faults, faultView{"user", b.Say("member_id_wrong")})
	}
	if !ok || ms > policy.MaxMuteMS {
		faults = append(faults, faultView{"for", b.Say("enter_mute_length")})
	}
	if fault := b.lineFault(reason, maxReason); fault != "" {
		faults = append(faults, faultView{"reason", fault})
	}
	if len(faults) > 0 {
		return u.showMuteFaults(c, record, faults)
	}
	actor := u.actor(c, principalOf(c.Request()))
	actor.Reason = reason
	in := store.MuteInput{EndMS: u.cfg.Now().UnixMilli() + ms, Reason: reason}
	if _, err := u.cfg.Store.PutMute(c.Request().Context(), actor, record.Group.ID, userID, store.Anything(), in); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, groupPath(record.Group.ID)+"/members?"+url.Values{"muted": {userID}}.Encode())
}

func (u *UI) showMuteFaults(c echo.Context, record store.PolicyRecord, faults []faultView) error {
	view, err := u.membersView(c, record)
	if err != nil {
		return err
	}
	view.Title, view.Faults = view.Say("error_title")+view.Title, faults
	view.UserID, view.Reason, view.For.Value = c.FormValue("user"), c.FormValue("reason"), c.FormValue("for")
	for i := range view.For.Units {
		view.For.Units[i].Chosen = view.For.Units[i].Value == c.FormValue("for-u")
	}
	for _, f := range faults {
		view.Fault[f.Field] = f.Text
	}
	if view.For.Note = view.Fault["for"]; view.For.Note != "" {
		view.For.Kind = "error"
	}
	return u.render(c.Response(), http.StatusUnprocessableEntity, "members", view)
}
