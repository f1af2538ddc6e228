package enforce

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed check.lua
	checkSource string
	//go:embed publish.lua
	publishSource string
	//go:embed exempt.lua
	exemptSource string
	//go:embed mute.lua
	muteSource string
	//go:embed ban.lua
	banSource string
	//go:embed epoch.lua
	epochSource string
)

// CheckScript is the text of check.lua, for services in other languages.
func CheckScript() string { return checkSource }

// publisherScripts are the scripts of the control plane.
type publisherScripts struct {
	publish, exempt, mute, ban, epoch *redis.Script
}

func newPublisherScripts() publisherScripts {
	return publisherScripts{
		publish: redis.NewScript(publishSource),
		exempt:  redis.NewScript(exemptSource),
		mute:    redis.NewScript(muteSource),
		ban:     redis.NewScript(banSource),
		epoch:   redis.NewScript(epochSource),
	}
}
