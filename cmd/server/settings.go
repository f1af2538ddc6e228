package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
)

// Settings are what the environment and the flags say; a flag beats the environment. The zero value of each is its
// default, which is empty unless the tag says otherwise. Fields tagged secret are never printed.
type Settings struct {
	Addr           string     `setting:"PACEKEEPER_ADDR" default:"127.0.0.1:8080" help:"Address to listen on, host:port. Port 0 takes a free one."`
	DatabaseURL    string     `setting:"PACEKEEPER_DATABASE_URL" secret:"" placeholder:"URL" help:"PostgreSQL (14 or newer), as postgres://user:password@host:5432/name. Empty together with the Redis URL: embedded mode."`
	RedisURL       string     `setting:"PACEKEEPER_REDIS_URL" secret:"" placeholder:"URL" help:"Redis 6.2 or newer. One server: redis://user:password@host:6379/0 (rediss for TLS). A cluster: several, separated by commas, or one with ?cluster=true. Sentinels: theirs, with ?master_name=NAME, and &sentinel_username= &sentinel_password= where they want one."`
	RedisPrefix    string     `setting:"PACEKEEPER_REDIS_PREFIX" default:"pk" help:"First part of every key in Redis: lower-case letters and digits."`
	BootstrapToken string     `setting:"PACEKEEPER_BOOTSTRAP_TOKEN" secret:"" placeholder:"TOKEN" help:"Becomes the operator token if there never was one: 32 to 128 printable ASCII bytes. Empty: one is made and printed once."`
	PublicURL      string     `setting:"PACEKEEPER_PUBLIC_URL" placeholder:"URL" help:"Where people reach this server, as https://pace.example.org. Empty: http://ADDR."`
	TrustedProxies []string   `setting:"PACEKEEPER_TRUSTED_PROXIES" placeholder:"CIDR,..." help:"Networks of proxies whose X-Forwarded-For is believed, separated by commas. Empty: none."`
	FrameAncestors []string   `setting:"PACEKEEPER_FRAME_ANCESTORS" placeholder:"ORIGIN,..." help:"Origins that may show the pages in a frame, separated by commas; needs an https public URL. Empty: none."`
	AuditKey       string     `setting:"PACEKEEPER_AUDIT_KEY" secret:"" placeholder:"BASE64" help:"Key of the audit log's head: base64 of at least 32 bytes. Needed with PostgreSQL; embedded mode makes one."`
	DataDir        string     `setting:"PACEKEEPER_DATA_DIR" placeholder:"DIR" help:"Folder of the embedded database. Empty: $XDG_DATA_HOME/pacekeeper or ~/.local/share/pacekeeper."`
	LogLevel       slog.Level `setting:"PACEKEEPER_LOG_LEVEL" default:"INFO" help:"Least level to log: DEBUG, INFO, WARN or ERROR. Logs go to standard error."`
	Demo           bool       `setting:"PACEKEEPER_DEMO" help:"Add sample groups and a trickle of traffic to them. Embedded mode only."`
}

// Embedded says whether the server runs on SQLite and an in-process Redis.
func (s *Settings) Embedded() bool { return s.DatabaseURL == "" && s.RedisURL == "" }

// Validate tells every fault of the settings at once, each by the setting's name. kong calls it after parsing.
func (s *Settings) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if (s.DatabaseURL == "") != (s.RedisURL == "") {
		fault("set both PACEKEEPER_DATABASE_URL and PACEKEEPER_REDIS_URL, or neither for the embedded mode")
	}
	if _, _, err := net.SplitHostPort(s.Addr); err != nil {
		fault("PACEKEEPER_ADDR: want host:port, as 127.0.0.1:8080")
	}
	if s.RedisPrefix == "" || strings.Trim(s.RedisPrefix, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		fault("PACEKEEPER_REDIS_PREFIX: want lower-case letters and digits")
	}
	if s.BootstrapToken != "" && !printable(s.BootstrapToken, 32, 128) {
		fault("PACEKEEPER_BOOTSTRAP_TOKEN: want 32 to 128 printable ASCII bytes without spaces")
	}
	if s.Demo && !s.Embedded() {
		fault("PACEKEEPER_DEMO: sample groups are for the embedded mode only")
	}
	faults = append(faults, s.validateKey(), s.validateURLs(), s.validateProxies())
	return errors.Join(faults...)
}

func (s *Settings) validateKey() error {
	if s.AuditKey == "" {
		if s.DatabaseURL != "" {
			return errors.New("PACEKEEPER_AUDIT_KEY: needed with PostgreSQL: base64 of at least 32 bytes, as printed by: openssl rand -base64 32")
		}
		return nil
	}
	key, err := base64.StdEncoding.DecodeString(s.AuditKey)
	if err != nil || len(key) < 32 {
		return errors.New("PACEKEEPER_AUDIT_KEY: want base64 of at least 32 bytes, as printed by: openssl rand -base64 32")
	}
	return nil
}

func (s *Settings) validateURLs() error {
	if s.DatabaseURL != "" {
		u, err := url.Parse(s.DatabaseURL)
		if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
			return errors.New("PACEKEEPER_DATABASE_URL: want a URL as postgres://user:password@host:5432/name")
		}
	}
	if s.RedisURL != "" {
		if _, err := parseRedisURL(s.RedisURL); err != nil {
			return err
		}
	}
	if s.PublicURL != "" {
		u, err := url.Parse(s.PublicURL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			return errors.New("PACEKEEPER_PUBLIC_URL: want scheme and host alone, as https://pace.example.org")
		}
	}
	if len(s.FrameAncestors) > 0 && !strings.HasPrefix(s.PublicURL, "https://") {
		return errors.New("PACEKEEPER_FRAME_ANCESTORS: frames need an https PACEKEEPER_PUBLIC_URL: browsers keep no cookie otherwise")
	}
	for _, origin := range s.FrameAncestors {
		if u, err := url.Parse(origin); err != nil || u.Scheme != "https" || u.Host == "" || u.Path != "" || strings.ContainsAny(origin, "; \t") {
			return fmt.Errorf("PACEKEEPER_FRAME_ANCESTORS: want origins as https://chat.example.org, not %q", origin)
		}
	}
	return nil
}

func (s *Settings) validateProxies() error {
	_, err := s.proxies()
	return err
}

func (s *Settings) proxies() ([]netip.Prefix, error) {
	prefixes := make([]netip.Prefix, 0, len(s.TrustedProxies))
	for _, text := range s.TrustedProxies {
		prefix, err := netip.ParsePrefix(text)
		if addr, addrErr := netip.ParseAddr(text); err != nil && addrErr == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("PACEKEEPER_TRUSTED_PROXIES: want networks as 10.0.0.0/8, not %q", text)
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

// Print writes one line per setting, NAME=value, with secrets hidden, and what the Redis URL was understood as.
func (s *Settings) Print(w io.Writer) {
	for _, row := range describe(s) {
		value := row.value
		if row.secret && value != "" {
			value = "(hidden)"
		}
		fmt.Fprintf(w, "%s=%s\n", row.name, value)
	}
	if target, err := parseRedisURL(s.RedisURL); err == nil {
		fmt.Fprintf(w, "# Redis: %s\n", target)
	}
}

type setting struct {
	name, preset, help, value string
	secret                    bool
}

// describe lists the settings in the order of the struct. The README's table is held against it by a test.
func describe(s *Settings) []setting {
	v := reflect.ValueOf(s).Elem()
	rows := make([]setting, 0, v.NumField())
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		_, secret := tag.Lookup("secret")
		value := fmt.Sprint(v.Field(i).Interface())
		if list, ok := reflect.TypeAssert[[]string](v.Field(i)); ok {
			value = strings.Join(list, ",")
		}
		rows = append(rows, setting{tag.Get("setting"), tag.Get("default"), tag.Get("help"), value, secret})
	}
	return rows
}

func printable(s string, shortest, longest int) bool {
	if len(s) < shortest || len(s) > longest {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
