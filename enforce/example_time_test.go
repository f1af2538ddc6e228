package enforce_test

import "time"

// What the examples share: a moment at which their clock stands, and patience with a busy machine.
var exampleTime = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const exampleTimeout = 10 * time.Second
