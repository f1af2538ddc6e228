package main

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	tests := []struct {
		name, remote, forwarded, want string
	}{
		{"no proxy", "192.0.2.7:4000", "", "192.0.2.7"},
		{"a stranger's header is not believed", "192.0.2.7:4000", "203.0.113.1", "192.0.2.7"},
		{"one proxy", "10.0.0.1:4000", "203.0.113.1", "203.0.113.1"},
		{"two proxies", "10.0.0.1:4000", "203.0.113.1, 10.0.0.2", "203.0.113.1"},
		{"what the client put in front is not believed", "10.0.0.1:4000", "198.51.100.9, 203.0.113.1", "203.0.113.1"},
		{"a broken hop", "10.0.0.1:4000", "unknown", "10.0.0.1"},
		{"IPv6", "[2001:db8::1]:4000", "", "2001:db8::1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{RemoteAddr: test.remote, Header: http.Header{}}
			if test.forwarded != "" {
				r.Header.Set("X-Forwarded-For", test.forwarded)
			}
			if got := clientAddress(proxies)(r); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
