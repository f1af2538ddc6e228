// Package scale computes docs/scale.md: what a fleet of groups needs, from measured costs, written-out formulas and named
// assumptions. It measures nothing itself. Pure: the same figures give the same page.
package scale

// Cost is one measured figure. Quote stands word for word in docs/benchmarks.md, beside the command that measures it.
type Cost struct {
	Symbol string
	Value  float64
	Unit   string
	What   string
	Quote  string
}

// Costs are what the formulas use.
type Costs struct {
	Check, Hash, HashBytes, StateBytes, RecordBytes, ExemptBytes, EventBytes Cost // of Redis
	Read, Put                                                                Cost // of a server instance
	GroupBytes, VersionBytes, EntryBytes, SaveWAL                            Cost // of PostgreSQL
}

// Measured are the costs of docs/benchmarks.md. Change both together.
func Measured() Costs {
	return Costs{
		Check:        Cost{"c", 20.5, "µs", "CPU of the Redis thread for a check that is allowed, default policy", "(19.5 and 20.5 µs here)"},
		Hash:         Cost{"p", 12.78, "µs", "CPU of the Redis thread to publish one hash, 25 groups a call", "| publishing a hash, 25 groups a call | 12.01, 12.78, 13.56 µs |"},
		HashBytes:    Cost{"B_hash", 428.5, "B", "Redis memory of a policy hash, key included", "| a policy hash | 428.5 B |"},
		StateBytes:   Cost{"B_state", 198, "B", "Redis memory of a member with 8 messages in the window", "| ≤ 200 B | 198 B |"},
		RecordBytes:  Cost{"B_record", 165.0, "B", "Redis memory of a member's strikes and mute", "| a member's record | 165.0 B |"},
		ExemptBytes:  Cost{"B_exempt", 132.1, "B", "Redis memory of an exemption", "| an exemption, of 10,000 | 132.1 B |"},
		EventBytes:   Cost{"B_event", 108.8, "B", "Redis memory of an event in a shard's stream", "| an event, of 10,000 in a stream | 108.8 B |"},
		Read:         Cost{"g", 12.19, "µs", "CPU of a server instance to read and parse a group for publishing", "| reading a group for publishing | 11.74, 12.19 µs |"},
		Put:          Cost{"w", 796, "/s", "policies saved a second over REST by 2 cores that hold server, PostgreSQL, Redis and the load", "| 893, 796 |"},
		GroupBytes:   Cost{"B_group", 712.3, "B", "PostgreSQL: a group with a document of two actions, indexes included", "| a group | 712.3 B |"},
		VersionBytes: Cost{"B_version", 585.7, "B", "PostgreSQL: a version", "| a version | 585.7 B |"},
		EntryBytes:   Cost{"B_entry", 2974, "B", "PostgreSQL: an audit entry, sealed, before vacuum", "| an audit entry | 2,974 B |"},
		SaveWAL:      Cost{"B_wal", 5370, "B", "PostgreSQL: WAL of a save with its version, entry and outbox row", "| a save's WAL | 5,370 B |"},
	}
}

// All lists the costs in the order of the page.
func (c Costs) All() []Cost {
	return []Cost{
		c.Check, c.Hash, c.HashBytes, c.StateBytes, c.RecordBytes, c.ExemptBytes, c.EventBytes, c.Read, c.Put, c.GroupBytes,
		c.VersionBytes, c.EntryBytes, c.SaveWAL,
	}
}

// Assumption is a figure that nobody measured: a choice of who plans, to be replaced by his own.
type Assumption struct {
	Symbol string
	Value  float64
	Unit   string
	Why    string
}

// Assumptions are the choices that the formulas use.
type Assumptions struct {
	Busy, Fill, NodeBytes, Copies, Hashes, Exempt, StateTTL, Strikes, RecordTTL, Versions, Month, Cores Assumption
}

// Assumed are the choices of the page.
func Assumed() Assumptions {
	return Assumptions{
		Busy:      Assumption{"u", 0.6, "", "a Redis thread, and a server instance, is planned to be busy for at most this part of the time"},
		Fill:      Assumption{"f", 0.6, "", "part of a node's memory that data may fill; the rest is for fragmentation and the copy a fork makes"},
		NodeBytes: Assumption{"m", 16 * 1024 * 1024 * 1024, "B", "memory of a Redis node, 16 GiB"},
		Copies:    Assumption{"k", 2, "", "a master and one replica"},
		Hashes:    Assumption{"h", 1, "", "hashes that a group's document publishes; it states one action. 0 for a group without a document"},
		Exempt:    Assumption{"e", 1, "", "named exemptions, on average of all groups"},
		StateTTL:  Assumption{"t", 72, "s", "a state of 8 per 30 s lives for at most 2.4 × 30 s after its last message (contract, Redis)"},
		Strikes:   Assumption{"v", 0.001, "", "part of the checks that gives a member his first strike"},
		RecordTTL: Assumption{"t_record", 4320, "s", "three strikes are forgiven in 30 min; the record lives for at most 2.4 × that"},
		Versions:  Assumption{"n", 3, "", "versions that are kept of a group, each with its audit entry; and one entry for its registration"},
		Month:     Assumption{"y", 2_592_000, "s", "a group's document is changed once in 30 days"},
		Cores:     Assumption{"q", 2, "", "cores of a server instance"},
	}
}

// All lists the assumptions in the order of the page.
func (a Assumptions) All() []Assumption {
	return []Assumption{
		a.Busy, a.Fill, a.NodeBytes, a.Copies, a.Hashes, a.Exempt, a.StateTTL, a.Strikes, a.RecordTTL, a.Versions, a.Month, a.Cores,
	}
}
