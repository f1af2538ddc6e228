package store_test

import (
	"errors"
	"testing"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// TestBumpGeneration raises every order, by at least one generation, with an audit entry and one job for the whole fleet.
func TestBumpGeneration(t *testing.T) {
	t.Parallel()
	pgtest.Each(t, func(t *testing.T, url string) {
		t.Helper()
		s := pgtest.Open(t, url)
		actor := store.Actor{Name: "console", Role: store.RoleOperator, Channel: store.ChannelSystem, Reason: "restored"}
		for _, step := range []struct{ atLeast, from, to int64 }{{0, 1, 2}, {7, 2, 7}, {3, 7, 8}} {
			from, to, err := s.BumpGeneration(t.Context(), actor, step.atLeast)
			if err != nil || from != step.from || to != step.to {
				t.Fatalf("at least %d: %d → %d, %v; want %d → %d", step.atLeast, from, to, err, step.from, step.to)
			}
			if system, err := s.System(t.Context()); err != nil || system.Generation != to {
				t.Fatalf("the system is of generation %d, %v", system.Generation, err)
			}
		}
		page, err := s.ListAudit(t.Context(), store.AuditQuery{Action: "generation.bump"})
		if err != nil || len(page.Items) != 3 || page.Items[0].Before != `{"generation":7}` || page.Items[0].After != `{"generation":8}` ||
			page.Items[0].Reason != "restored" {
			t.Errorf("audit %+v, %v", page.Items, err)
		}
		if status, err := s.SyncStatus(t.Context()); err != nil || status.OutboxDepth != 3 {
			t.Errorf("outbox %+v, %v", status, err)
		}
		var e *policy.Error
		if _, _, err := s.BumpGeneration(t.Context(), actor, 8192); !errors.As(err, &e) || e.Code != policy.CodeConflict {
			t.Errorf("beyond the last generation: %v", err)
		}
		actor.Reason = ""
		if _, _, err := s.BumpGeneration(t.Context(), actor, 0); !errors.As(err, &e) || e.Code != policy.CodeInvalid {
			t.Errorf("without a reason: %v", err)
		}
	})
}
