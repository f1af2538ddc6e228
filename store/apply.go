package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// ConfigInput is what a plan or an apply is asked for.
type ConfigInput struct {
	Config policy.Config
	Prune  policy.ConfigPrune
	// Accept may refuse a plan; its error passes to the caller. Nil = every plan is accepted.
	Accept func(policy.ConfigPlan) error
}

// ConfigPlan is a plan with its token: what the files state, and the state of all that the plan looked at.
type ConfigPlan struct {
	policy.ConfigPlan
	Token string
}

// AnyToken applies whatever the plan is by then.
const AnyToken = "*"

const (
	// applyTimeout caps a plan and an apply: 20 MiB of files are some 60,000 groups.
	applyTimeout = time.Minute
	// applyTries is how often an apply with AnyToken begins anew because somebody else was faster.
	applyTries = 5
)

// PlanConfig says what ApplyConfig would do, from one snapshot of the database, and changes nothing. Errors are those of
// policy.Config.Plan, and those of Accept.
func (s *Store) PlanConfig(ctx context.Context, in ConfigInput) (p ConfigPlan, err error) {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	release, err := s.queue(ctx)
	if err != nil {
		return p, translate(err)
	}
	defer release()
	options := &sql.TxOptions{}
	if s.dialect.postgres {
		options = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	var state configState
	err = s.db.WithContext(ctx).Transaction(func(db *gorm.DB) error {
		state, err = s.readConfig(db, in, s.currentSystem)
		return err
	}, options)
	if err != nil {
		return p, translate(err)
	}
	return state.plan(in) // outside: the database ends transactions that rest for seconds
}

// plan makes the plan of a state, and its token.
func (s configState) plan(in ConfigInput) (p ConfigPlan, err error) {
	if err := s.fill(); err != nil {
		return p, err
	}
	if p.ConfigPlan, err = in.Config.Plan(s.ConfigState, in.Prune); err != nil {
		return p, err
	}
	if in.Accept != nil {
		if err := in.Accept(p.ConfigPlan); err != nil {
			return p, err
		}
	}
	p.Token = in.digest() + "." + s.digest()
	return p, nil
}

// digest stands for what the files state and what may be removed.
func (in ConfigInput) digest() string {
	scope, err := json.Marshal(in.Prune)
	if err != nil {
		return "" // booleans and texts always marshal
	}
	return shortDigest(append(in.Config.JSON(), scope...))
}

func shortDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// ApplyConfig makes the database what the files state, all of it or nothing, and returns what answer makes of the plan. Each
// change has its audit entry; what is unchanged is not written. The token is that of the plan that somebody looked at:
// CodeStale if anything it looked at moved since, CodeInvalid if it is of other files. Errors else are those of PlanConfig
// and of once. Changes of more than a few groups are left to the outbox poll, so that single saves are published before them.
func (s *Store) ApplyConfig(ctx context.Context, a Actor, o Once, in ConfigInput, token string,
	answer func(policy.ConfigPlan) (json.RawMessage, error),
) (result json.RawMessage, err error) {
	files, _, _ := strings.Cut(token, ".")
	if token != AnyToken && files != in.digest() {
		return nil, &policy.Error{Code: policy.CodeInvalid, Message: "the plan_token is that of other files, or of another scope of removals: plan these"}
	}
	for range applyTries {
		err = s.writeWithin(ctx, max(applyTimeout, s.cfg.Timeout), func(t *tx) error {
			result, err = once(t, o, func() (json.RawMessage, error) { return t.applyConfig(a, in, token, answer) })
			return err
		})
		if !errors.Is(err, errMoved) || token != AnyToken {
			break
		}
	}
	if errors.Is(err, errMoved) {
		err = errPlanStale()
	}
	return result, err
}

func errPlanStale() error {
	return policy.Errorf(policy.CodeStale, "something that the plan looked at was changed since: plan again")
}

func (t *tx) applyConfig(a Actor, in ConfigInput, token string,
	answer func(policy.ConfigPlan) (json.RawMessage, error),
) (json.RawMessage, error) {
	if err := t.patient(); err != nil {
		return nil, err
	}
	read := t.store.currentSystem
	if in.Config.Bounds != nil || in.Config.Defaults != nil || len(in.Config.Actions) > 0 {
		read = func(*gorm.DB) (*policy.System, error) { return t.lockSystem() }
	}
	state, err := t.store.readConfig(t.DB, in, read)
	if err != nil {
		return nil, err
	}
	p, err := state.plan(in)
	if err != nil {
		return nil, err
	}
	if token != AnyToken && token != p.Token {
		return nil, errPlanStale()
	}
	if p.Pending() > 0 {
		if err := t.writeConfig(a, state, p.ConfigPlan); err != nil {
			return nil, err
		}
	}
	return answer(p.ConfigPlan)
}

// patient lets the transaction rest between statements for as long as a plan of many groups takes.
func (t *tx) patient() error {
	if !t.store.dialect.postgres {
		return nil
	}
	return t.Exec("SET LOCAL idle_in_transaction_session_timeout = '30s'").Error
}

// configState is what the database has, with the rows as they were read.
type configState struct {
	policy.ConfigState
	config  policy.Config
	rows    map[string]groupRow
	entries map[exemptionKey]exemptionRow
	asked   []string // ids that the files name, registered or not, sorted
}

type exemptionKey struct{ group, user string }

// digest stands for the state of all that a plan looked at.
func (s configState) digest() string {
	ids := slices.Clone(s.asked)
	for id := range s.rows {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var text []byte
	for _, n := range []int64{s.System.Generation, s.System.BoundsVersion, s.System.DefaultsVersion} {
		text = append(strconv.AppendInt(text, n, 10), ' ')
	}
	for _, id := range slices.Compact(ids) {
		r := s.rows[id] // the zero row for who is not registered
		text = append(append(text, '\n'), id...)
		for _, n := range []int64{r.Revision, r.Version, r.ExemptionsVersion} {
			text = strconv.AppendInt(append(text, ' '), n, 10)
		}
	}
	return shortDigest(text)
}
