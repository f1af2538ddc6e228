package e2e_test

import (
	"net/http"
	"strings"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// Each of these brings a server to a step, kills it there and returns its number.

// beforeStatement: the save is one statement, which waits for our lock. The database may go on with it once the lock is
// gone, though nobody is left to hear the answer; then it is a save like any other.
func (s *steps) beforeStatement() int {
	release := s.lock("policy_versions", "SHARE")
	s.put(0, stepGroup(0), 3001)
	s.waiting("policy_versions")
	s.kill(0)
	release()
	return 0
}

// beforeCommit: the last statement of a transaction waits. Its commit never comes, and nothing of it stays.
func (s *steps) beforeCommit() int {
	entries := s.number("SELECT count(*) FROM audit_entries")
	release := s.lock("exemptions", "SHARE")
	s.ask(0, http.MethodPut, "/v1/groups/"+stepGroup(0)+"/exemptions/lost", `{}`)
	s.waiting("INSERT INTO exemptions")
	s.kill(0)
	release()
	s.gone(0)
	if n := s.number("SELECT count(*) FROM exemptions"); n != 0 {
		s.Errorf("%d exemptions of a transaction that never ended", n)
	}
	if n := s.number("SELECT count(*) FROM audit_entries"); n != entries {
		s.Errorf("%d audit entries of it", n-entries)
	}
	return 0
}

// gone waits until the database has noticed that a server died.
func (s *steps) gone(n int) {
	s.Helper()
	eventually(s, machine, "the database has noticed", func() bool {
		return s.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", serverName(n)) == 0
	})
}

// beforePublishing: the save is committed, and its write stands in the gate. Both servers' do, for the other one has heard
// of it; the killed one's is lost.
func (s *steps) beforePublishing() int {
	trap := setTrap(s, s.keys.Policy("message", stepGroup(1)), s.gates[:]...)
	before := s.version(stepGroup(1))
	s.put(0, stepGroup(1), 3002)
	mine := trap.first(s, s.gates[0])
	if got := s.version(stepGroup(1)); got != before+1 {
		s.Errorf("version %d before publishing, want %d", got, before+1)
	}
	s.kill(0)
	mine.goOn <- false
	trap.release(s.gates[0])
	return 0
}

// betweenReadAndWrite: a server has read version n and writes it after the other one has published n+1 (C50).
func (s *steps) betweenReadAndWrite() int {
	group := stepGroup(2)
	trap := setTrap(s, s.keys.Policy("message", group), s.gates[0])
	s.put(0, group, 3003)
	late := trap.first(s, s.gates[0])
	newer := s.lives[1].save(s, group, `{"actions":{"message":{"min_interval_ms":4000}}}`)
	if newer.at("pending") != false || s.inRedis(group, "min_interval_ms") != "4000" {
		s.Fatalf("the newer one is not live: %v", newer.body)
	}
	s.kill(0)
	late.arrive(s)
	trap.release(s.gates[0])
	if got := s.inRedis(group, "min_interval_ms"); got != "4000" {
		s.Errorf("the late write went through: %s", got)
	}
	return 0
}

// inOutboxClaim: nobody published the rows, a poll leased them.
func (s *steps) inOutboxClaim() int {
	trap := setTrap(s, s.keys.Policy("message", stepGroup(3)), s.gates[:]...)
	for n := range stepGroups {
		s.save(stepGroup(n), 3004)
	}
	mine := trap.first(s, s.gates[:]...)
	dead := s.gateOf(mine.gate)
	if n := s.number("SELECT count(*) FROM outbox WHERE claimed_until > extract(epoch FROM clock_timestamp() + interval '5 s') * 1000000"); n == 0 {
		s.Error("no row is leased")
	}
	s.kill(dead)
	mine.goOn <- false
	trap.release(mine.gate)
	return dead
}

const askingForAJob = "FROM fleet_job WHERE id = 1 FOR UPDATE"

// beforeAsking: the server that changed the bounds dies before it asks for the job.
func (s *steps) beforeAsking() int {
	release := s.lock("fleet_job", "EXCLUSIVE")
	s.putBounds(0)
	dead := s.waiting(askingForAJob)
	s.kill(dead)
	release()
	return dead
}

// claimedBeforeAsking: the one that changed them is dead already, and so is soon the one that claimed the row.
func (s *steps) claimedBeforeAsking() int {
	release := s.lock("fleet_job", "EXCLUSIVE")
	if _, _, err := s.editor.UpdateBounds(s.Context(), someEditor, store.Anything(), s.raised()); err != nil {
		s.Fatal(err)
	}
	dead := s.waiting(askingForAJob)
	s.kill(dead)
	release()
	return dead
}

// inFleetClaim: the hashes of a claimed shard stand in the gate.
func (s *steps) inFleetClaim() int {
	trap := setTrap(s, s.keys.Policy("message", stepGroup(4)), s.gates[:]...)
	s.putBounds(0)
	mine := trap.first(s, s.gates[:]...)
	dead := s.gateOf(mine.gate)
	if n := s.number("SELECT count(*) FROM fleet_shards WHERE ended < asked"); n == 0 {
		s.Error("no shard is left")
	}
	s.kill(dead)
	mine.goOn <- false
	trap.release(mine.gate)
	return dead
}

// beforeDefaults: the group of a shard has the new bounds, the shard's default hashes have not.
func (s *steps) beforeDefaults() int {
	key := s.keys.Default(enforce.Shard(stepGroup(4)), "message")
	trap := setTrap(s, key, s.gates[:]...)
	s.putBounds(0)
	mine := trap.first(s, s.gates[:]...)
	dead := s.gateOf(mine.gate)
	system := s.number("SELECT generation * 1099511627776 + bounds_version + defaults_version FROM system")
	if got, _ := s.redis.HGet(s.Context(), s.keys.Policy("message", stepGroup(4)), "order").Int64(); got < system {
		s.Errorf("%s is not clamped yet: order %d", stepGroup(4), got)
	}
	if got, _ := s.redis.HGet(s.Context(), key, "order").Int64(); got >= system {
		s.Errorf("the default hashes came first: order %d", got)
	}
	s.kill(dead)
	mine.goOn <- false
	trap.release(mine.gate)
	return dead
}

// inImport: an import dies in its transaction. The same request to the other server then does it, once.
func (s *steps) inImport() int {
	items := make([]string, 50)
	for n := range items {
		items[n] = `{"user_id":"imported-` + string(rune('a'+n/26)) + string(rune('a'+n%26)) + `"}`
	}
	body, path := `{"items":[`+strings.Join(items, ",")+`]}`, "/v1/groups/"+stepGroup(5)+"/exemptions/import"
	release := s.lock("audit_entries", "SHARE")
	s.ask(0, http.MethodPost, path, body, "Idempotency-Key", "import-1")
	s.waiting("INSERT INTO audit_entries")
	s.kill(0)
	release()
	s.gone(0)
	if n := s.number("SELECT exemptions_count FROM groups WHERE id = $1", stepGroup(5)); n != 0 {
		s.Errorf("%d exemptions of an import that never ended", n)
	}
	got := s.lives[1].call(s, http.MethodPost, path, body, "Idempotency-Key", "import-1").want(s, http.StatusOK)
	if got.at("added") != 50.0 {
		s.Errorf("the import on the other server: %v", got.body)
	}
	return 0
}

// inSealing: entries are numbered, the head is not moved, and the transaction ends with its server.
func (s *steps) inSealing() int {
	release := s.lock("audit_head", "SHARE")
	s.save(stepGroup(0), 3005)
	dead := s.waiting("UPDATE audit_head")
	s.kill(dead)
	release()
	return dead
}

// inRebuild: Redis is empty, and the first groups of the rebuild stand in the gate.
func (s *steps) inRebuild() int {
	trap := setTrap(s, s.keys.Policy("message", stepGroup(1)), s.gates[:]...)
	s.flush()
	mine := trap.first(s, s.gates[:]...)
	dead := s.gateOf(mine.gate)
	s.kill(dead)
	mine.goOn <- false
	trap.release(mine.gate)
	return dead
}

// beforeAskingRebuild: the shards are declared half built, and who did so dies before it asks for the job.
func (s *steps) beforeAskingRebuild() int {
	release := s.lock("fleet_job", "EXCLUSIVE")
	s.flush()
	dead := s.waiting(askingForAJob)
	s.kill(dead)
	release()
	return dead
}

func (s *steps) flush() {
	s.Helper()
	if err := s.redis.FlushAll(s.Context()).Err(); err != nil {
		s.Fatal(err)
	}
}
