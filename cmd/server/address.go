package main

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientAddress tells where a request comes from: the connection's address, or, where that is a trusted proxy, the last
// one in X-Forwarded-For that is not.
func clientAddress(proxies []netip.Prefix) func(*http.Request) string {
	trusted := func(addr netip.Addr) bool {
		for _, p := range proxies {
			if p.Contains(addr.Unmap()) {
				return true
			}
		}
		return false
	}
	return func(r *http.Request) string {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			host = r.RemoteAddr
		}
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			addr, err := netip.ParseAddr(host)
			if err != nil || !trusted(addr) {
				return host
			}
			hop = strings.TrimSpace(hop)
			if _, err := netip.ParseAddr(hop); err != nil {
				return host
			}
			host = hop
		}
		return host
	}
}
