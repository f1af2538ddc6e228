package enforce

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Stored is one hash as Redis has it.
type Stored struct {
	Fields    map[string]string // empty = there is no such key
	WrongType bool              // the key holds something else than a hash
}

// StoredExemptions is a group's named exemptions as Redis has them.
type StoredExemptions struct {
	Order     int64              // of exemptv; 0 = none that can be read
	Versioned bool               // exemptv is there and can be read
	Scores    map[string]float64 // user → expiry in ms, +Inf = never
	WrongType bool               // one of the two keys holds something of another type
}

// ReadHashes reads whole hashes of any shards in one pipeline. An error means that nothing of the answer may be used.
func (p *Publisher) ReadHashes(ctx context.Context, keys []string) ([]Stored, error) {
	replies, stored := make([]*redis.MapStringStringCmd, len(keys)), make([]Stored, len(keys))
	err := p.pipelined(ctx, len(keys), func(pipe redis.Pipeliner, i int) redis.Cmder {
		replies[i] = pipe.HGetAll(ctx, keys[i])
		return replies[i]
	})
	if err != nil {
		return nil, fmt.Errorf("read hashes: %w", err)
	}
	for i, reply := range replies {
		stored[i] = Stored{Fields: reply.Val(), WrongType: isWrongType(reply.Err())}
	}
	return stored, nil
}

// ReadExemptions reads the whole exemptions of groups of any shards in one pipeline; errors as ReadHashes.
func (p *Publisher) ReadExemptions(ctx context.Context, groups []string) ([]StoredExemptions, error) {
	versions, sets := make([]*redis.StringCmd, len(groups)), make([]*redis.ZSliceCmd, len(groups))
	err := p.pipelined(ctx, 2*len(groups), func(pipe redis.Pipeliner, i int) redis.Cmder {
		if i < len(groups) {
			versions[i] = pipe.Get(ctx, p.keys.ExemptV(groups[i]))
			return versions[i]
		}
		i -= len(groups)
		sets[i] = pipe.ZRangeWithScores(ctx, p.keys.Exempt(groups[i]), 0, -1)
		return sets[i]
	})
	if err != nil {
		return nil, fmt.Errorf("read exemptions: %w", err)
	}
	stored := make([]StoredExemptions, len(groups))
	for i := range groups {
		st := StoredExemptions{WrongType: isWrongType(versions[i].Err()) || isWrongType(sets[i].Err())}
		st.Order, st.Versioned = ParseOrder(versions[i].Val())
		st.Scores = make(map[string]float64, len(sets[i].Val()))
		for _, z := range sets[i].Val() {
			user, _ := z.Member.(string)
			st.Scores[user] = z.Score
		}
		stored[i] = st
	}
	return stored, nil
}

// Holds says whether the stored exemptions are exactly the entries; the order is not looked at.
func (st StoredExemptions) Holds(entries []ExemptEntry) bool {
	if st.WrongType || len(st.Scores) != len(entries) {
		return false
	}
	for _, e := range entries {
		want := math.Inf(1)
		if e.ExpiresMS > 0 {
			want = float64(e.ExpiresMS)
		}
		if got, ok := st.Scores[e.User]; !ok || got != want {
			return false
		}
	}
	return true
}

// HoldRef names a member's mute, or with an Action the member's ban from it.
type HoldRef struct{ Action, Group, User string }

// ReadMembers reads the records of many members in one pipeline; zero where there is none; errors as ReadHashes.
func (p *Publisher) ReadMembers(ctx context.Context, refs []HoldRef) ([]policy.MemberRecord, error) {
	raw, err := p.readRaw(ctx, refs, func(r HoldRef) string { return p.keys.Member(r.Group, r.User) })
	records := make([]policy.MemberRecord, len(raw))
	for i := range raw {
		records[i] = DecodeMember(raw[i])
	}
	return records, err
}

// ReadStates reads the states of many members in one pipeline; zero where there is none; errors as ReadHashes.
func (p *Publisher) ReadStates(ctx context.Context, refs []HoldRef) ([]policy.ActionState, error) {
	raw, err := p.readRaw(ctx, refs, func(r HoldRef) string { return p.keys.State(r.Action, r.Group, r.User) })
	states := make([]policy.ActionState, len(raw))
	for i := range raw {
		states[i] = DecodeState(raw[i])
	}
	return states, err
}

func (p *Publisher) readRaw(ctx context.Context, refs []HoldRef, key func(HoldRef) string) ([][]byte, error) {
	replies, raw := make([]*redis.StringCmd, len(refs)), make([][]byte, len(refs))
	err := p.pipelined(ctx, len(refs), func(pipe redis.Pipeliner, i int) redis.Cmder {
		replies[i] = pipe.Get(ctx, key(refs[i]))
		return replies[i]
	})
	if err != nil {
		return nil, fmt.Errorf("read holds: %w", err)
	}
	for i, reply := range replies {
		raw[i] = []byte(reply.Val())
	}
	return raw, nil
}

// pipelined sends n commands and answers the first error that is more than a missing key or one of another type.
func (p *Publisher) pipelined(ctx context.Context, n int, add func(redis.Pipeliner, int) redis.Cmder) error {
	if n == 0 {
		return nil
	}
	pipe, replies := p.rdb.Pipeline(), make([]redis.Cmder, n)
	for i := range n {
		replies[i] = add(pipe, i)
	}
	if _, err := pipe.Exec(ctx); err != nil && !isMissing(err) {
		return err
	}
	for _, reply := range replies {
		if err := reply.Err(); err != nil && !isMissing(err) {
			return err
		}
	}
	return nil
}

func isWrongType(err error) bool {
	return err != nil && !errors.Is(err, redis.Nil) && redis.HasErrorPrefix(err, "WRONGTYPE")
}

// ParseOrder reads an order as the scripts do; false where they take it for none.
func ParseOrder(text string) (int64, bool) {
	if len(text) > 16 {
		return 0, false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	return parseInt(text)
}

// Equal says whether fields, as HGETALL answers them, are exactly the hash.
func (h Hash) Equal(fields map[string]string) bool {
	if len(fields) != len(h)/2 {
		return false
	}
	for i := 0; i+1 < len(h); i += 2 {
		if value, ok := fields[h[i]]; !ok || value != h[i+1] {
			return false
		}
	}
	return true
}
