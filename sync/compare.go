package sync

import (
	"strconv"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// The kinds of drift, as the metric and the log name them.
const (
	driftMissing    = "missing"    // a hash is not there
	driftType       = "type"       // a key holds something of another type
	driftFields     = "fields"     // a hash has its order, but not its fields
	driftBehind     = "behind"     // older than the database, and nobody is about to publish it
	driftAhead      = "ahead"      // newer than the database
	driftStray      = "stray"      // a hash that the document does not publish
	driftExemptions = "exemptions" // the named exemptions differ
	driftMute       = "mute"
	driftBan        = "ban"

	// offsetsMoved is no drift, and counted as none: a time zone's offset has changed since a hash was compiled. The check
	// script knows the change; what comes after it is due within weeks.
	offsetsMoved = "offsets"
)

func driftKinds() []string {
	return []string{
		driftMissing, driftType, driftFields, driftBehind, driftAhead, driftStray, driftExemptions, driftMute, driftBan,
	}
}

// drift is one key, or a group's two of exemptions, that is not as the database says.
type drift struct {
	kind   string
	group  string // "" = a default hash
	shard  uint8
	key    string
	pub    enforce.Publication // that mends it; unused with exempt
	exempt *store.ExemptionSet // that mends it
	mark   mark
}

// mark is how far a key is behind.
type mark struct{ seen, order int64 }

// mayBeOnItsWay says that the difference may be a change that was committed and not published yet.
func (d drift) mayBeOnItsWay() bool {
	return d.mark.seen < d.mark.order &&
		(d.kind == driftMissing || d.kind == driftBehind || d.kind == driftStray || d.kind == driftExemptions)
}

// compareHash holds what Redis has against what it shall have, "" = as it should be. seen is the order that Redis has.
// A hash of a newer format that is whole belongs to a newer version of this program and is left to it.
func compareHash(pub enforce.Publication, st enforce.Stored) (kind string, seen int64) {
	if st.WrongType {
		return driftType, 0
	}
	if len(st.Fields) == 0 {
		if pub.Delete {
			return "", 0
		}
		return driftMissing, 0
	}
	seen, ordered := enforce.ParseOrder(st.Fields["order"])
	switch {
	case seen > pub.Order:
		return driftAhead, seen
	case pub.Delete && ordered && len(st.Fields) == 2 && st.Fields["deleted"] == "1":
		return "", seen
	case pub.Delete:
		return driftStray, seen
	case pub.Hash.Equal(st.Fields):
		return "", seen
	case ordered && seen < pub.Order:
		return driftBehind, seen
	case newerFormat(pub.Hash, st.Fields):
		return "", seen
	}
	if kept, moved := comparedOffsets(pub.Hash, st.Fields); kept {
		return "", seen
	} else if moved {
		return offsetsMoved, seen
	}
	return driftFields, seen
}

// comparedOffsets compares the offsets of two hashes that differ in nothing else: those that reach further are the ones
// to keep, whichever clock they were compiled by.
func comparedOffsets(h enforce.Hash, fields map[string]string) (kept, moved bool) {
	ours, stored := h.Get("next_offset_at"), fields["next_offset_at"]
	if ours == "" || stored == "" || ours == stored {
		return false, false
	}
	want := h.Map()
	for field, value := range fields {
		switch field {
		case "digest", "utc_offset_ms", "next_offset_at", "next_offset_ms":
		default:
			if want[field] != value {
				return false, false
			}
		}
	}
	ourAt, _ := strconv.ParseInt(ours, 10, 64)
	storedAt, err := strconv.ParseInt(stored, 10, 64)
	if err != nil || len(fields) != len(want) {
		return false, false
	}
	return storedAt > ourAt, storedAt < ourAt
}

func newerFormat(h enforce.Hash, fields map[string]string) bool {
	format, err := strconv.Atoi(fields["format"])
	return err == nil && format > enforce.HashFormat && fields["digest"] != h.Get("digest")
}

// compareExemptions is compareHash for the named exemptions. A group that never had any needs no order.
func compareExemptions(set store.ExemptionSet, st enforce.StoredExemptions) string {
	switch {
	case st.WrongType:
		return driftType
	case st.Order > set.Order:
		return driftAhead
	case !st.Holds(exemptEntries(set.Entries)), set.Version > 0 && (!st.Versioned || st.Order != set.Order):
		return driftExemptions
	}
	return ""
}

// holdsMute says whether the record in Redis is at least what the database knows of the mute.
func holdsMute(m store.Mute, r policy.MemberRecord, nowMS int64) bool {
	switch {
	case r.MuteStartMS > m.StartMS || m.EndMS <= nowMS:
		return true
	case !m.LiftedAt.IsZero():
		return r.Cause == policy.CauseLifted || r.MuteEndMS <= nowMS
	}
	return r.MuteStartMS == m.StartMS && (r.Cause == policy.CauseLifted || r.MuteEndMS >= min(m.EndMS, policy.MaxMomentMS))
}

// holdsBan is holdsMute for a ban.
func holdsBan(b store.Ban, st policy.ActionState, nowMS int64) bool {
	switch {
	case st.BanStartMS > b.StartMS || b.EndMS <= nowMS:
		return true
	case !b.LiftedAt.IsZero():
		return st.BanEndMS <= nowMS
	}
	return st.BanStartMS == b.StartMS && (st.BanEndMS == 0 || st.BanEndMS >= min(b.EndMS, policy.MaxMomentMS))
}
