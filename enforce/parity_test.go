package enforce_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

const (
	lanes      = 100
	farTTL     = 1_000_000_000 // seconds; set by the test, so whatever is left of it was not set by a script
	wrap       = int64(1) << 32
	parityReal = 100_000 // decisions; PARITY in the environment sets another number
	parityMini = 20      // one of so many on the embedded server, which is so much slower
)

// TestParity holds policy.Decide and check.lua together, cell by cell: reply, state, member record, event, list of muted
// members and times to live; over random policies and traces whose clock steps onto every bound and 1 ms beside it, also
// backwards and across 2^32 ms, with mutes and bans put and lifted in between.
func TestParity(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		parity(t, redistest.Real(t), parityDecisions(t))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		parity(t, redistest.Embedded(t), parityDecisions(t)/parityMini)
	})
}

func parityDecisions(t *testing.T) int {
	t.Helper()
	text := os.Getenv("PARITY")
	if text == "" {
		return parityReal
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < lanes*parityMini {
		t.Fatalf("PARITY is %q, want a number of decisions, at least %d", text, lanes*parityMini)
	}
	return n
}

func parity(t *testing.T, rdb redis.UniversalClient, decisions int) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	shas := map[string]string{}
	for name, source := range enforce.Sources() {
		sha, err := rdb.ScriptLoad(t.Context(), source).Result()
		if err != nil {
			t.Fatalf("load %s: %v", name, err)
		}
		shas[name] = sha
	}
	all := make([]*lane, lanes)
	for i := range all {
		all[i] = newLane(r, i, shas)
	}
	seen, met := map[policy.DecisionCode]int{}, map[byte]map[policy.DecisionCode]int{}
	for range (decisions + lanes - 1) / lanes {
		pipe := rdb.Pipeline()
		for _, l := range all {
			l.step(t.Context(), pipe)
		}
		if _, err := pipe.Exec(t.Context()); err != nil && !strings.Contains(err.Error(), "nil") {
			t.Fatal(err)
		}
		for _, l := range all {
			if diff := l.compare(); diff != "" {
				t.Fatalf("lane %d: %s\n%s", l.id, l.describe(), diff)
			}
			seen[l.want.Code]++
			l.note(met)
		}
	}
	t.Logf("codes: %v", seen)
	for _, code := range []policy.DecisionCode{0, 1, 2, 3, 10, 11, 12, 13, 14, 15} {
		if seen[code] == 0 {
			t.Errorf("no decision with code %d was made: %v", code, seen)
		}
	}
	for program := byte(1); program <= 7; program++ {
		if met[program][policy.Allowed] == 0 || met[program][policy.RefusedLimit] == 0 {
			t.Errorf("algorithm %d hardly decided: %v", program, met[program])
		}
	}
}

// note counts what the algorithms decided.
func (l *lane) note(met map[byte]map[policy.DecisionCode]int) {
	program := enforce.EncodeProgram(l.policy())[0]
	if met[program] == nil {
		met[program] = map[policy.DecisionCode]int{}
	}
	met[program][l.want.Code]++
}

// lane is one member of one group with keys of its own, so that the lanes of one pipeline do not meet.
type lane struct {
	id   int
	r    *rand.Rand
	shas map[string]string
	keys []string // KEYS of check.lua

	now         int64
	own, def    []byte       // programs; nil = missing
	rooms       [2][]byte    // their group programs
	zones       [2][3]string // their utc_offset_ms, next_offset_at and next_offset_ms; "" = missing
	ownRoles    string
	exemptUntil int64
	st, all     policy.ActionState // of the member, of the whole group
	m           policy.MemberRecord
	lastWait    int64

	dirty   bool // policy or exemptions changed
	bare    bool // seeded without times to live
	attempt policy.Attempt
	before  [3]any
	want    policy.Decision
	event   *policy.Event
	op      string
	opWant  int64

	reply, opReply           *redis.Cmd
	state, member, whole     *redis.StringCmd
	stateTTL, memberTTL, tmu *redis.DurationCmd
	wholeTTL                 *redis.DurationCmd
	events                   *redis.XMessageSliceCmd
	muted                    *redis.ZSliceCmd
}

func newLane(r *rand.Rand, id int, shas map[string]string) *lane {
	k := enforce.NewKeys("p" + strconv.Itoa(id))
	const action, group = "message", "g1"
	user := "u" + strconv.Itoa(id)
	shard := enforce.Shard(group)
	l := &lane{id: id, r: r, shas: shas, keys: []string{
		k.Policy(action, group), k.Default(shard, action), k.State(action, group, user), k.Member(group, user),
		k.Exempt(group), k.Muted(group), k.Events(shard), k.GroupState(action, group),
	}}
	l.now = 1_764_000_000_000 + r.Int64N(1e9)
	if id%2 == 0 {
		l.now = 411*wrap - r.Int64N(60_000)
	}
	l.own, l.rooms[0] = encoded(r)
	l.ownRoles, l.dirty = "admin,bot,owner", true
	l.zones[0] = randomZone(r, l.now)
	return l
}

func (l *lane) user() string { return "u" + strconv.Itoa(l.id) }

// policy is what the script must find: the group's program, else the defaults', else the factory's.
func (l *lane) policy() policy.Compiled {
	for i, b := range [][]byte{l.own, l.def} {
		if p, ok := enforce.DecodeProgram(b, l.rooms[i]); ok {
			p.Offsets = offsetsOf(l.zones[i])
			return l.withRoles(p)
		}
	}
	return l.withRoles(policy.FactoryPolicy("message"))
}

func (l *lane) withRoles(p policy.Compiled) policy.Compiled {
	roles := l.ownRoles
	if roles == "" {
		roles = "admin,bot,owner"
	}
	p.ExemptRoles = strings.Split(roles, ",")
	return p
}

// step changes the world a little and decides once, in Go now and in Redis when the pipeline runs.
func (l *lane) step(ctx context.Context, pipe redis.Pipeliner) {
	r := l.r
	l.changePolicy()
	l.tick()
	if r.IntN(30) == 0 {
		l.dirty = true
		l.exemptUntil = pick(r, 0, math.MaxInt64, l.now+r.Int64N(20_000), l.now, l.now+1)
	}
	l.seed(ctx, pipe)
	l.hold(ctx, pipe)

	p := l.policy()
	cost := pick[int64](r, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2, 3, p.Limit, p.Limit+1, p.Group.Limit)
	roles := pick(r, nil, nil, nil, nil, nil, nil, []string{"member"}, []string{"vip", "bot"}, []string{"admin"})
	l.attempt = policy.Attempt{NowMS: l.now, Cost: cost, Roles: roles, ExemptUntilMS: l.exemptUntil}
	l.before = [3]any{l.st, l.m, l.all}
	l.want, l.st, l.all, l.m, l.event = policy.DecideInGroup(p, l.st, l.all, l.m, l.attempt)
	l.lastWait = l.want.WaitMS
	l.reply = pipe.EvalSha(ctx, l.shas[pick(r, "check", "packed")], l.keys[:pick(r, 4, 7, 8)],
		pick(r, "", l.user()), strings.Join(roles, ","), cost, l.now)
	l.read(ctx, pipe)
}

func (l *lane) changePolicy() {
	r := l.r
	k := r.IntN(60)
	l.dirty = l.dirty || k <= 7 || l.event != nil
	switch k {
	case 0, 1, 2:
		l.own, l.rooms[0] = encoded(r)
	case 3:
		l.own = nil
	case 4:
		l.own = randomBytes(r)
	case 5:
		l.def, l.rooms[1] = encoded(r)
		l.def = pick(r, nil, randomBytes(r), l.def)
	case 7:
		l.zones = [2][3]string{randomZone(r, l.now), randomZone(r, l.now)}
	case 6:
		l.ownRoles = pick(r, "", "owner", "admin,bot,owner", "bot,owner,vip")
	}
}

// tick moves the clock: onto a bound and 1 ms beside it, by chance, or back.
func (l *lane) tick() {
	r, p := l.r, l.policy()
	beside := pick[int64](r, -1, 0, 1)
	bounds := []int64{
		l.now, l.all.LastMS, l.st.LastMS + p.MinIntervalMS, l.now + l.lastWait, l.m.LastStrikeMS + policy.StrikeGapMS, l.m.MuteEndMS,
		l.st.BanEndMS, l.m.HeldUntilMS + p.ForgiveOneEveryMS*r.Int64N(4),
	}
	bounds = append(bounds, l.countBounds(p, l.st)...)
	bounds = append(bounds, l.countBounds(groupOf(p), l.all)...)
	next := l.now
	switch k := r.IntN(100); {
	case k < 30:
		next += r.Int64N(40)
	case k < 45:
		next += r.Int64N(3000)
	case k < 85:
		next = pick(r, bounds...) + beside
	case k < 88:
		next -= r.Int64N(5000)
	case k < 89:
		next -= pick[int64](r, 3_600_000, 86_400_000, wrap-enforce.FutureStep-1, wrap-enforce.FutureStep, 2*wrap)
	case k < 90:
		next += pick[int64](r, 3_600_000, 86_400_000, 40*86_400_000, enforce.FutureStep-1, enforce.FutureStep, wrap)
	default:
		next += r.Int64N(60_000)
	}
	if next < 400*wrap || next > 440*wrap {
		return
	}
	l.now = next
}

// seed writes what the script will find, so that the trace does not depend on how fast it runs.
func (l *lane) seed(ctx context.Context, pipe redis.Pipeliner) {
	l.bare = l.r.IntN(6) == 0
	if l.dirty {
		l.dirty = false
		l.seedPolicy(ctx, pipe)
	}
	if !cmp.Equal(l.st, policy.ActionState{}, cmpopts.EquateEmpty()) {
		l.set(ctx, pipe, l.keys[2], enforce.EncodeState(l.st))
	}
	if !cmp.Equal(l.all, policy.ActionState{}, cmpopts.EquateEmpty()) {
		l.set(ctx, pipe, l.keys[7], enforce.EncodeState(l.all))
	}
	if l.m != (policy.MemberRecord{}) {
		l.set(ctx, pipe, l.keys[3], enforce.EncodeMember(l.m))
	}
}

func (l *lane) seedPolicy(ctx context.Context, pipe redis.Pipeliner) {
	pipe.Del(ctx, l.keys...)
	for i, program := range [][]byte{l.own, l.def} {
		if program != nil {
			pipe.HSet(ctx, l.keys[i], "program", program)
			if l.rooms[i] != nil {
				pipe.HSet(ctx, l.keys[i], "group_program", l.rooms[i])
			}
			for at, field := range zoneFields() {
				if text := l.zones[i][at]; text != "" {
					pipe.HSet(ctx, l.keys[i], field, text)
				}
			}
		}
	}
	if l.ownRoles != "" {
		pipe.HSet(ctx, l.keys[0], "exempt_roles", l.ownRoles)
	}
	if l.exemptUntil > 0 {
		until := float64(l.exemptUntil)
		if l.exemptUntil == math.MaxInt64 {
			until = math.Inf(1)
		}
		pipe.ZAdd(ctx, l.keys[4], redis.Z{Score: until, Member: l.user()})
	}
}

func (l *lane) set(ctx context.Context, pipe redis.Pipeliner, key string, value []byte) {
	args := []any{"SET", key, value, "EX", farTTL}
	if l.bare {
		args = args[:3]
	}
	pipe.Do(ctx, args...)
}

// hold puts or lifts a mute or a ban now and then.
func (l *lane) hold(ctx context.Context, pipe redis.Pipeliner) {
	r, p := l.r, l.policy()
	start := l.now - pick[int64](r, 0, 0, 1, 5000)
	end := l.now + pick[int64](r, 1, 3000, 3_600_000)
	l.op, l.opReply = "", nil
	mute := []string{l.keys[3], l.keys[5], l.keys[0], l.keys[1]}
	ban := []string{l.keys[2], l.keys[3], l.keys[0], l.keys[1]}
	switch r.IntN(60) {
	case 0, 1:
		cause := pick(r, policy.CauseModerator, policy.CauseModerator, policy.CauseLadder, policy.CauseReview)
		l.op = fmt.Sprintf("put mute %d-%d %s", start, end, cause)
		m, ok := l.m.Put(policy.MuteRecord{StartMS: start, EndMS: end, Cause: cause, Step: 2}, p.ForgiveOneEveryMS, l.now)
		l.m, l.opWant = m, one(ok)
		l.opReply = pipe.EvalSha(ctx, l.shas["mute"], mute, "put", l.user(), start, end, string(enforce.CauseByte(cause)), 2, l.now)
	case 2, 3:
		start = pick(r, start, l.m.MuteStartMS, l.m.MuteStartMS-1)
		l.op = fmt.Sprintf("lift mute %d", start)
		l.m, l.opWant = l.m.Lift(max(start, 0), p.ForgiveOneEveryMS, l.now)
		l.opReply = pipe.EvalSha(ctx, l.shas["mute"], mute, "lift", l.user(), max(start, 0), "", "", "", l.now)
	case 4:
		l.op = fmt.Sprintf("put ban %d-%d", start, end)
		st, ok := l.st.PutBan(start, end)
		l.st, l.opWant = st, one(ok)
		l.opReply = pipe.EvalSha(ctx, l.shas["ban"], ban, "put", start, end, l.now)
	case 5, 6:
		start = pick(r, start, l.st.BanStartMS)
		l.op = fmt.Sprintf("lift ban %d", start)
		held := l.m.AfterBanLift(l.st, start, l.now)
		l.st, l.opWant = l.st.LiftBan(start)
		l.m = held
		l.opReply = pipe.EvalSha(ctx, l.shas["ban"], ban, "lift", start, "", l.now)
	}
}

func one(ok bool) int64 {
	if ok {
		return 1
	}
	return 0
}
