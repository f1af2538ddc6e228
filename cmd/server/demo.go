package main

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// The trickle of the demo: one attempt each demoEvery, by one of demoMembers members of a sample group.
const (
	demoEvery   = 400 * time.Millisecond
	demoMembers = 12
)

type demoGroup struct{ id, name, locale, document string }

func demoGroups() []demoGroup {
	return []demoGroup{
		{"demo-tea", "Tea house", "en", `{"actions":{"message":{"min_interval_ms":3000}}}`},
		{"demo-books", "Lantern book circle", "en", `{"actions":{"message":{"window":{"algorithm":"sliding_window","limit":5,"period_ms":20000}}}}`},
		{"demo-gu", "顾绣爱好者", "zh", `{}`},
	}
}

// demo adds the sample groups, once, and sends a bounded trickle of attempts through them until ctx ends.
func (p *Program) demo(ctx context.Context) {
	for _, g := range demoGroups() {
		if err := p.addDemoGroup(ctx, g); err != nil {
			p.world.Log.WarnContext(ctx, "demo group not added", slog.String("group", g.id), slog.Any("error", err))
		}
	}
	ticker := time.NewTicker(demoEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			groups := demoGroups()
			request := enforce.Request{
				Action: "message", Group: groups[rand.IntN(len(groups))].id, //nolint:gosec // sample traffic
				User: "member-" + strconv.Itoa(rand.IntN(demoMembers)+1), //nolint:gosec // sample traffic
			}
			if _, err := p.checks.Check(ctx, request); err != nil && ctx.Err() == nil {
				p.world.Log.WarnContext(ctx, "demo attempt failed", slog.Any("error", err))
			}
		}
	}
}

func (p *Program) addDemoGroup(ctx context.Context, g demoGroup) error {
	actor := store.Actor{Name: "demo", Role: store.RoleOperator, Channel: store.ChannelSystem}
	_, created, err := p.store.PutGroup(ctx, actor, store.Anything(), g.id, g.name, g.locale)
	if err != nil || !created {
		return err
	}
	_, _, err = p.store.UpdatePolicy(ctx, actor, g.id, store.Exactly(0),
		func(s *policy.System, _ policy.Document) (policy.Document, error) {
			return s.ParseDocument([]byte(g.document))
		})
	return err
}
