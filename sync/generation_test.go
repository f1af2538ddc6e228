package sync_test

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// TestNewGenerationPutsAllBack takes a policy and an exemption out of the database, as a restored backup does, and bumps the
// generation: the job alone, without the reconciler, makes Redis as the database has it.
func TestNewGenerationPutsAllBack(t *testing.T) {
	t.Parallel()
	at := real(t)
	a := start(t, at, rarely)
	eventually(t, "the first comparison is over", func() bool { return !a.Status().Reconcile.At.IsZero() })
	a.group(t, "g1")
	a.group(t, "g2")
	for _, e := range [][2]string{{"g1", "early"}, {"g1", "late"}, {"g2", "late"}} {
		if _, err := a.store.PutExemption(t.Context(), operator, e[0], store.Anything(), store.Exemption{UserID: e[1]}); err != nil {
			t.Fatal(err)
		}
	}
	a.live(t, a.save(t, "g1", `{"actions": {"like": {"min_interval_ms": 3000}}}`))
	exempt := func(group string) []string { return at.rdb.ZRange(t.Context(), at.keys.Exempt(group), 0, -1).Val() }
	eventually(t, "all are exempt", func() bool { return len(exempt("g1")) == 2 && len(exempt("g2")) == 1 })

	withSQL(t, at, func(db *sql.DB) error {
		for _, statement := range []string{
			"UPDATE groups SET document = '{}', version = 0, exemptions_version = 1, exemptions_count = 1 WHERE id = 'g1'",
			"UPDATE groups SET exemptions_version = 0, exemptions_count = 0 WHERE id = 'g2'",
			"DELETE FROM exemptions WHERE user_id = 'late'", "DELETE FROM exemption_changes WHERE user_id = 'late'",
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				return err
			}
		}
		return nil
	})
	actor := operator
	actor.Reason = "restored"
	if _, _, err := a.store.BumpGeneration(t.Context(), actor, 0); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the late policy is withdrawn", func() bool { return at.field(t, at.keys.Policy("like", "g1"), "deleted") == "1" })
	eventually(t, "the late exemptions are gone", func() bool {
		return cmp.Equal(exempt("g1"), []string{"early"}) && len(exempt("g2")) == 0
	})
}

// TestLanesTellOfTheEnd kills the database of an instance that has nothing to do: when it is back no lane says otherwise.
func TestLanesTellOfTheEnd(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	at := real(t)
	at.url = server.Database(t)
	a := prepare(t, at, nil, func(c *policysync.Config) { c.FleetEvery = 10 * time.Millisecond }).run(t).ready(t)
	failing := func() (lanes []string) {
		for _, lane := range a.Status().Lanes {
			if lane.Error != "" {
				lanes = append(lanes, lane.Name)
			}
		}
		return lanes
	}
	server.Kill(t)
	eventually(t, "the fleet's lane tells", func() bool { return slices.Contains(failing(), "fleet") })
	server.Restart(t)
	eventually(t, "all lanes work", func() bool { return len(failing()) == 0 })
}
