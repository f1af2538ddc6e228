//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package enforce_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the test's zones are IANA's, whatever the host has

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// scene is a preset in force in Shanghai.
type scene struct {
	t    *testing.T
	rdb  redis.UniversalClient
	keys []string
}

func newScene(t *testing.T, rdb redis.UniversalClient, name string, at int64) *scene {
	t.Helper()
	sys, err := policy.NewSystem(policy.SystemConfig{
		Generation: 1, Bounds: policy.ShippedBounds(), Defaults: policy.ShippedDefaults(), Actions: policy.ShippedActions(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, preset := range policy.Presets() {
		if preset.Name != name {
			continue
		}
		d := preset.Document()
		d.TimeZone = policy.State("Asia/Shanghai")
		e, clamps := sys.Resolve(d)
		if len(clamps) > 0 || sys.Validate(d) != nil {
			t.Fatalf("the shipped bounds hold it back: %+v", clamps)
		}
		c := sys.At(sys.Compile(e, preset.Action, 1, sys.Order(1)), at)
		k := enforce.NewKeys("")
		key := k.Policy(preset.Action, group)
		_, err := enforce.NewPublisher(rdb, k).Publish(t.Context(), enforce.Shard(group), []enforce.Publication{
			{Key: key, Order: c.Order, Hash: enforce.PolicyHash(c)},
		})
		if err != nil {
			t.Fatal(err)
		}
		return &scene{t, rdb, []string{
			key, k.Default(enforce.Shard(group), preset.Action), k.State(preset.Action, group, user), k.Member(group, user),
		}}
	}
	t.Fatalf("no preset %s", name)
	return nil
}

// want tries at a moment, so often, and wants the same answer each time.
func (s *scene) want(at int64, times int, code policy.DecisionCode, wait int64) {
	s.t.Helper()
	for i := range times {
		d, err := enforce.DecodeReply(s.rdb.Eval(s.t.Context(), enforce.CheckScript(), s.keys, user, "", 1, at))
		if err != nil || d.Code != code || d.WaitMS != wait {
			s.t.Fatalf("try %d at %d: %+v, %v; want %v, wait %d", i+1, at-base, d, err, code, wait)
		}
	}
}

func TestR7_ReferenceScenes(t *testing.T) {
	t.Parallel()
	const minute, hour = int64(60_000), int64(3_600_000)
	evening := time.Date(2026, 11, 30, 22, 30, 0, 0, time.FixedZone("", 8*3600)).UnixMilli() // 90 minutes to midnight
	scenes := map[string]func(*scene){
		"comment_10_per_30s": func(s *scene) {
			s.want(base, 10, policy.Allowed, 0)
			s.want(base+29_999, 1, policy.RefusedLimit, 1)
			s.want(base+30_000, 10, policy.Allowed, 0)
		},
		"like_10_per_10s_ban_1h": func(s *scene) {
			s.want(base, 10, policy.Allowed, 0)
			s.want(base+1000, 1, policy.RefusedLimit, hour)
			s.want(base+hour, 1, policy.RefusedBanned, 1000)
			s.want(base+hour+1000, 10, policy.Allowed, 0)
		},
		"upload_100_per_day": func(s *scene) {
			s.want(evening, 100, policy.Allowed, 0)
			s.want(evening+minute, 1, policy.RefusedLimit, 89*minute)
			s.want(evening+90*minute-1, 1, policy.RefusedBanned, 1)
			s.want(evening+90*minute, 100, policy.Allowed, 0)
			s.want(evening+90*minute, 1, policy.RefusedLimit, 24*hour)
		},
		"sms_3_per_5min": func(s *scene) {
			s.want(base, 3, policy.Allowed, 0)
			s.want(base+minute, 2, policy.RefusedLimit, 4*minute)
			s.want(base+5*minute, 3, policy.Allowed, 0)
		},
		"login_5_per_10min": func(s *scene) {
			s.want(base, 5, policy.Allowed, 0)
			s.want(base+1, 1, policy.RefusedLimit, 10*minute-1)
		},
		"coupon_2_per_min": func(s *scene) {
			s.want(base, 2, policy.Allowed, 0)
			s.want(base, 1, policy.RefusedLimit, minute)
		},
		"message_2s_8_per_30s": func(s *scene) {
			for i := range int64(8) {
				s.want(base+i*2000, 1, policy.Allowed, 0)
			}
			s.want(base+15_999, 1, policy.RefusedLimit, 14_001)
		},
	}
	for _, preset := range policy.Presets() {
		run := scenes[preset.Name]
		if run == nil {
			t.Errorf("no test of %s", preset.Name)
			continue
		}
		t.Run(strings.ReplaceAll(preset.Name, "_", " "), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
				run(newScene(t, rdb, preset.Name, evening-hour))
			})
		})
	}
}
