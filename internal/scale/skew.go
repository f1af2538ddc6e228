package scale

import (
	"math"
	"slices"
	"strconv"

	"github.com/pacekeeper/pacekeeper/enforce"
)

const (
	shards = 256
	slots  = 16384 // of a Redis cluster
	exact  = 1_000_000
)

// Skew is how checks spread when the i-th busiest group gets a share of them in proportion to 1/i^S.
type Skew struct {
	S       float64
	Hottest float64         // share of the busiest group
	Shard   [shards]float64 // share of each shard
}

// Zipf spreads the checks of so many groups over the shards by the ids g0, g1, …: the busiest million group by group, the
// rest evenly, for none of it matters by itself. Deterministic.
func Zipf(groups int, s float64) Skew {
	k := Skew{S: s}
	total := 0.0
	for i := range min(groups, exact) {
		weight := math.Pow(float64(i+1), -s)
		k.Shard[enforce.Shard("g"+strconv.Itoa(i))] += weight
		total += weight
	}
	tail := tailWeight(groups, s)
	total += tail
	for i := range k.Shard {
		k.Shard[i] = (k.Shard[i] + tail/shards) / total
	}
	k.Hottest = 1 / total
	return k
}

// tailWeight is the sum of 1/i^s from exact + 1 to groups, by its integral; the error is below 1/exact^s.
func tailWeight(groups int, s float64) float64 {
	if groups <= exact {
		return 0
	}
	from, to := float64(exact)+0.5, float64(groups)+0.5
	if s == 1 {
		return math.Log(to / from)
	}
	return (math.Pow(to, 1-s) - math.Pow(from, 1-s)) / (1 - s)
}

// Created is the share of each master when slots are dealt in equal ranges, as redis-cli --cluster create does.
func (k Skew) Created(masters int) []float64 {
	load := make([]float64, masters)
	for shard, share := range k.Shard {
		slot := int(crc16(enforce.ShardTag(uint8(shard)))) % slots
		load[slot*masters/slots] += share
	}
	return load
}

// Moved is the share of each master after slots were moved by hand: the busiest shard first, each to the least busy master.
func (k Skew) Moved(masters int) []float64 {
	load, shares := make([]float64, masters), slices.Clone(k.Shard[:])
	slices.Sort(shares)
	for _, share := range slices.Backward(shares) {
		least := 0
		for i := range load {
			if load[i] < load[least] {
				least = i
			}
		}
		load[least] += share
	}
	return load
}

// MaxOverMean says how much busier than the average the busiest one is.
func MaxOverMean(load []float64) float64 {
	sum := 0.0
	for _, share := range load {
		sum += share
	}
	return slices.Max(load) * float64(len(load)) / sum
}

// crc16 is the checksum that Redis Cluster takes of what stands between { and } (CRC-16/XMODEM; Redis Cluster
// specification, appendix A).
func crc16(tag string) uint16 {
	if n := len(tag); n > 2 && tag[0] == '{' {
		tag = tag[1 : n-1]
	}
	var crc uint16
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
