package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// How long a verified token is believed (design §8).
const (
	tokenFresh    = 4 * time.Second        // without asking the database: revoked everywhere within 5 s, the question included
	tokenTrusted  = 10 * time.Minute       // while the database is away
	tokenPatience = 200 * time.Millisecond // no answer within counts as away
	tokenAway     = time.Second            // so long nobody else waits to find that out
	tokensKept    = 10_000
)

// tokenCache remembers verified tokens by their hash, for all faces of the process.
type tokenCache struct {
	mu      *sync.Mutex
	known   map[string]verified
	running map[string]*refresh
	away    time.Time // when the database last left a question without an answer, zero = it answered since
}

type verified struct {
	principal Principal
	expiresAt time.Time // zero = never
	at        time.Time
}

// refresh is one question to the database that all requests with the same token share. done is closed after err is set.
type refresh struct {
	done chan struct{}
	err  error
}

func newTokenCache() tokenCache {
	return tokenCache{mu: new(sync.Mutex), known: map[string]verified{}, running: map[string]*refresh{}}
}

func (c *tokenCache) get(hash string) (verified, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.known[hash]
	return v, ok
}

// put keeps a token; a full cache first forgets those that it would not trust any more, then any.
func (c *tokenCache) put(hash string, v verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= tokensKept {
		for h, old := range c.known {
			if v.at.Sub(old.at) > tokenTrusted || len(c.known) >= tokensKept {
				delete(c.known, h)
			}
		}
	}
	c.known[hash] = v
}

// answered notes whether the database answers.
func (c *tokenCache) answered(yes bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away = now; yes {
		c.away = time.Time{}
	}
}

// isAway reports whether somebody found the database away a moment ago.
func (c *tokenCache) isAway(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := now.Sub(c.away)
	return since >= 0 && since < tokenAway
}

func (c *tokenCache) drop(hash string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, hash)
}

func (v verified) expired(now time.Time) bool {
	return !v.expiresAt.IsZero() && !now.Before(v.expiresAt)
}

// Authenticate tells who stands behind a token. An answer of the database holds for 4 s; while the database does not
// answer within 200 ms, a token that was verified in the last 10 minutes is trusted; one request a second waits to find
// out. CodeUnauthenticated for unknown, revoked and expired tokens alike; CodeUnavailable.
func (s *Store) Authenticate(ctx context.Context, secret string) (Principal, error) {
	hash, now := hashSecret(secret), s.now()
	v, known := s.tokens.get(hash)
	if known && v.expired(now) {
		return Principal{}, errUnauthenticated()
	}
	if known && now.Sub(v.at) < tokenFresh {
		return v.principal, nil
	}
	trusted := known && now.Sub(v.at) < tokenTrusted
	r := s.refresh(ctx, hash)
	if trusted && s.tokens.isAway(now) {
		return v.principal, nil
	}
	err := s.await(ctx, r, trusted)
	if trusted && errorIs(err, policy.CodeUnavailable) {
		return v.principal, nil
	}
	if err != nil {
		return Principal{}, err
	}
	if v, known = s.tokens.get(hash); !known {
		return Principal{}, errUnauthenticated() // revoked this very moment
	}
	return v.principal, nil
}

// await waits for the database's answer: briefly if the token is trusted anyway, else as long as the caller does.
func (s *Store) await(ctx context.Context, r *refresh, trusted bool) error {
	var late <-chan time.Time
	if trusted {
		timer := time.NewTimer(tokenPatience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-r.done:
		return r.err
	case <-late:
		s.tokens.answered(false, s.now())
		return policy.Errorf(policy.CodeUnavailable, "the database does not answer")
	case <-ctx.Done():
		return translate(ctx.Err())
	}
}

// refresh starts the question beside the request, or joins the one under way; it outlives a request that has gone on.
func (s *Store) refresh(ctx context.Context, hash string) *refresh {
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	if r := s.tokens.running[hash]; r != nil {
		return r
	}
	r := &refresh{done: make(chan struct{})}
	s.tokens.running[hash] = r
	s.work.Go(func() {
		r.err = s.verify(context.WithoutCancel(ctx), hash)
		s.tokens.answered(!errorIs(r.err, policy.CodeUnavailable), s.now())
		s.tokens.mu.Lock()
		delete(s.tokens.running, hash)
		s.tokens.mu.Unlock()
		close(r.done)
	})
	return r
}

// verify asks the database and keeps what it says.
func (s *Store) verify(ctx context.Context, hash string) error {
	now := s.now()
	var row tokenRow
	err := s.read(ctx, func(db *gorm.DB) error {
		err := one(db.Raw("SELECT * FROM tokens WHERE secret_hash = ?", hash), &row)
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return errUnauthenticated()
		}
		return err
	})
	v := verified{
		principal: Principal{TokenID: row.ID, Name: row.Name, Role: row.Role, Groups: row.groups()},
		expiresAt: fromMicros(row.ExpiresAt), at: now,
	}
	if err == nil && (row.RevokedAt != nil || v.expired(now)) {
		err = errUnauthenticated()
	}
	if errorIs(err, policy.CodeUnauthenticated) {
		s.tokens.drop(hash)
	}
	if err == nil {
		s.tokens.put(hash, v)
	}
	return err
}

func errUnauthenticated() error {
	return policy.Errorf(policy.CodeUnauthenticated, "the token is unknown, revoked or expired")
}

// errorIs reports whether an error carries the code.
func errorIs(err error, code policy.Code) bool {
	var known *policy.Error
	return errors.As(err, &known) && known.Code == code
}
