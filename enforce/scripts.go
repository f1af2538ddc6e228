package enforce

import (
	_ "embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed check.lua
	checkSource string
	//go:embed check_all.lua
	checkAllSource string
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
	//go:embed lasting.lua
	lastingSource string
)

// CheckScript is the text of check.lua, for services in other languages.
func CheckScript() string { return checkSource }

// packedLen is the length of a packed reply: code 1, wait 4, remaining 2, limit 2, strikes 1, step 1, version 5.
const packedLen = 16

const versionBytes = "(((v1 * 256 + v2) * 256 + v3) * 256 + v4) * 256 + v5"

// packedReplies are the places of check.lua that the Go client's form of it has otherwise: one text of 16 bytes instead of
// a table of seven integers costs Redis a tenth of the call less. Each stands once in the script. What is rare, and waits of
// 2^32 ms or more, stay tables.
func packedReplies() []string {
	return []string{
		"      version = " + versionBytes + "\n", "",
		"return {0, 0, limit - used, limit, strikes, 0, version}",
		"used = limit - used\n" +
			"  return char(0, 0, 0, 0, 0, (used - used % 256) / 256, used % 256, l1, l2, strikes, 0, v1, v2, v3, v4, v5)",
		"return {0, 0, used, limit, strikes, 0, version}",
		"return char(0, 0, 0, 0, 0, (used - used % 256) / 256, used % 256, l1, l2, strikes, 0, v1, v2, v3, v4, v5)",
		"return {code, wait, used, limit, strikes, 0, version}",
		"if wait >= 4294967296 then return {code, wait, used, limit, strikes, 0, " + versionBytes + "} end\n" +
			"local l = wait % 65536\nlocal h = (wait - l) / 65536\n" +
			"return char(code, (h - h % 256) / 256, h % 256, (l - l % 256) / 256, l % 256, (used - used % 256) / 256," +
			" used % 256, l1, l2, strikes, 0, v1, v2, v3, v4, v5)",
		"return {1, 0, 0, 0, 0, 0, version}", "return char(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, v1, v2, v3, v4, v5)",
		"return {1, 0, 0, 0, strikes, 0, version}", "return char(1, 0, 0, 0, 0, 0, 0, 0, 0, strikes, 0, v1, v2, v3, v4, v5)",
		"return {12, muted, 0, 0, strikes, 0, version}", "return {12, muted, 0, 0, strikes, 0, " + versionBytes + "}",
		"return {delay > 0 and 3 or 0, delay, used, limit, strikes, 0, version}",
		"return {delay > 0 and 3 or 0, delay, used, limit, strikes, 0, " + versionBytes + "}",
		"return {code, wait, remaining, limit, strikes, step, version}",
		"if wait >= 4294967296 then return {code, wait, remaining, limit, strikes, step, " + versionBytes + "} end\n" +
			"local l = wait % 65536\nlocal h = (wait - l) / 65536\n" +
			"return char(code, (h - h % 256) / 256, h % 256, (l - l % 256) / 256, l % 256, (remaining - remaining % 256) / 256," +
			" remaining % 256, (limit - limit % 256) / 256, limit % 256, strikes, step, v1, v2, v3, v4, v5)",
	}
}

// packedCheckScript is check.lua with packed replies.
func packedCheckScript() string { return strings.NewReplacer(packedReplies()...).Replace(checkSource) }

// packedCheckAllScript is check_all.lua, with the packed check.lua that it calls.
func packedCheckAllScript() string {
	return "local function check(KEYS, ARGV)\n" + packedCheckScript() + "\nend\n" + checkAllSource
}

// publisherScripts are the scripts of the control plane.
type publisherScripts struct {
	publish, exempt, exemptDelta, mute, ban, epoch, lasting *redis.Script
}

func newPublisherScripts() publisherScripts {
	return publisherScripts{
		publish:     redis.NewScript(publishSource),
		exempt:      redis.NewScript(exemptSource),
		exemptDelta: redis.NewScript(exemptDeltaSource),
		mute:        redis.NewScript(muteSource),
		ban:         redis.NewScript(banSource),
		epoch:       redis.NewScript(epochSource),
		lasting:     redis.NewScript(lastingSource),
	}
}
