package enforce

import (
	_ "embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed check.lua
	checkSource string
	//go:embed publish.lua
	publishSource string
	//go:embed exempt.lua
	exemptSource string
	//go:embed exempt_delta.lua
	exemptDeltaSource string
	//go:embed mute.lua
	muteSource string
	//go:embed ban.lua
	banSource string
	//go:embed epoch.lua
	epochSource string
)

// CheckScript is the text of check.lua, for services in other languages.
func CheckScript() string { return checkSource }

// The reply of a plain allow in check.lua, and what the Go client puts in its place: a table of seven costs Redis a
// fifteenth of the call more than a text of ten bytes (strikes 1, remaining 2, limit 2, version 5).
const (
	tupleAllow  = "return {0, 0, limit - used, limit, strikes, 0, version}"
	packedAllow = "used = limit - used return char(strikes, (used - used % 256) / 256, used % 256)" +
		" .. sub(program, 7, 8) .. sub(program, 13, 17)"
	packedLen = 10
)

// packedCheckScript is check.lua with the packed reply to a plain allow.
func packedCheckScript() string { return strings.Replace(checkSource, tupleAllow, packedAllow, 1) }

// publisherScripts are the scripts of the control plane.
type publisherScripts struct {
	publish, exempt, exemptDelta, mute, ban, epoch *redis.Script
}

func newPublisherScripts() publisherScripts {
	return publisherScripts{
		publish:     redis.NewScript(publishSource),
		exempt:      redis.NewScript(exemptSource),
		exemptDelta: redis.NewScript(exemptDeltaSource),
		mute:        redis.NewScript(muteSource),
		ban:         redis.NewScript(banSource),
		epoch:       redis.NewScript(epochSource),
	}
}
