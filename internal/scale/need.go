package scale

import (
	"math"
	"slices"
)

// Demand is what a fleet asks.
type Demand struct {
	Groups int
	Checks float64 // a second
}

// Need is what a fleet needs. Bytes are of data, without copies and headroom, unless they say otherwise.
type Need struct {
	Demand
	HashData, StateData, RecordData, ExemptData, EventData float64
	MastersByMemory                                        int
	MastersByLoad                                          int // 0 = no number is enough: one shard asks more than a core has
	RedisBytes                                             float64
	Postgres                                               float64 // bytes
	Saves                                                  float64 // a second
	WAL                                                    float64 // bytes a day
	Servers                                                int
	FleetSeconds                                           float64 // of a job over every group, unpaced, at least
}

// Data is all that Redis keeps once.
func (n Need) Data() float64 {
	return n.HashData + n.StateData + n.RecordData + n.ExemptData + n.EventData
}

// Masters are enough for memory and load; 0 = none are.
func (n Need) Masters() int {
	if n.MastersByLoad == 0 {
		return 0
	}
	return max(n.MastersByMemory, n.MastersByLoad)
}

const (
	streamLength = 10_000 // events that a shard's stream keeps (enforce, check.lua)
	leastMasters = 3      // of a Redis cluster
	leastServers = 2      // so that one may fail
)

// Plan computes a Need under a skew of the same groups.
func Plan(d Demand, k Skew, c Costs, a Assumptions) Need {
	groups := float64(d.Groups)
	n := Need{
		Demand:     d,
		HashData:   groups * a.Hashes.Value * c.HashBytes.Value,
		StateData:  d.Checks * a.StateTTL.Value * c.StateBytes.Value,
		RecordData: d.Checks * a.Strikes.Value * a.RecordTTL.Value * c.RecordBytes.Value,
		ExemptData: groups * a.Exempt.Value * c.ExemptBytes.Value,
		EventData:  shards * streamLength * c.EventBytes.Value,
		Postgres:   groups * (c.GroupBytes.Value + a.Versions.Value*c.VersionBytes.Value + (a.Versions.Value+1)*c.EntryBytes.Value),
		Saves:      groups / a.Month.Value,
	}
	n.MastersByMemory = max(1, int(math.Ceil(n.Data()/(a.NodeBytes.Value*a.Fill.Value))))
	n.MastersByLoad = mastersFor(d.Checks, k, c, a)
	n.RedisBytes = n.Data() / a.Fill.Value * a.Copies.Value
	n.WAL = n.Saves * c.SaveWAL.Value * 86_400
	n.Servers = max(leastServers, int(math.Ceil(n.Saves/(c.Put.Value*a.Busy.Value))))
	n.FleetSeconds = fleetSeconds(n, c, a)
	return n
}

// mastersFor is the least number of masters of which the busiest stays within the part u of its core, slots moved by hand.
func mastersFor(checks float64, k Skew, c Costs, a Assumptions) int {
	most := a.Busy.Value * 1e6 / c.Check.Value // checks a second that one master is planned to take
	if checks <= most {
		return 1
	}
	for masters := leastMasters; masters <= shards; masters++ {
		if slices.Max(k.Moved(masters))*checks <= most {
			return masters
		}
	}
	return 0
}

// fleetSeconds is the longer of what Redis and the servers work on a job; they work side by side.
func fleetSeconds(n Need, c Costs, a Assumptions) float64 {
	hashes := float64(n.Groups) * a.Hashes.Value
	redis := hashes * c.Hash.Value / 1e6 / float64(max(n.MastersByMemory, n.MastersByLoad))
	servers := float64(n.Groups) * c.Read.Value / 1e6 / (float64(n.Servers) * a.Cores.Value)
	return max(redis, servers)
}
