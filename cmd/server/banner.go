package main

import (
	"fmt"
	"net"
	"strings"
)

// welcome is what people read once the server answers.
type welcome struct {
	base      string // where people reach it
	token     string // the operator token just made, "" = none was
	given     bool   // the operator token is the one from the settings
	dataDir   string // "" = not embedded
	redisAddr string
}

// String tells where the pages are, the operator token if it was made just now, and three lines to paste.
func (w welcome) String() string {
	var out strings.Builder
	out.WriteString("\nPacekeeper is running.\n\n")
	fmt.Fprintf(&out, "  pages   %s\n  API     %s/docs\n", w.base, w.base)
	if w.dataDir != "" {
		fmt.Fprintf(&out, "  data    %s\n  Redis   redis-cli -p %s\n", w.dataDir, portOf(w.redisAddr))
	}
	token := w.token
	switch {
	case w.given:
		out.WriteString("  token   the one in PACEKEEPER_BOOTSTRAP_TOKEN\n")
		token = "$PACEKEEPER_BOOTSTRAP_TOKEN"
	case token != "":
		fmt.Fprintf(&out, "  token   %s\n          operator's, shown this once: keep it\n", token)
	default:
		out.WriteString("  token   made at an earlier start; `server token` makes another (go run ./cmd/server token)\n")
		token = "$TOKEN"
	}
	out.WriteString("\nRegister a group, slow it down, and ask whether a member may speak:\n\n")
	for _, line := range w.lines(token) {
		out.WriteString(line + "\n")
	}
	out.WriteString("\n")
	return out.String()
}

func (w welcome) lines(token string) []string {
	call := func(verb, path, headers, body string) string {
		return fmt.Sprintf(`curl -sX %s %s/v1/groups/tea%s -H "Authorization: Bearer %s" -H 'Content-Type: application/json'%s -d '%s'`,
			verb, w.base, path, token, headers, body)
	}
	return []string{
		call("PUT", "", "", `{"name":"Tea house","locale":"en"}`),
		call("PUT", "/policy", ` -H 'If-Match: *'`, `{"actions":{"message":{"min_interval_ms":5000}}}`),
		call("POST", "/check", "", `{"user_id":"lin","action":"message"}`),
	}
}

func portOf(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return port
}
