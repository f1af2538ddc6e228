package sync

import (
	"context"
	"fmt"
	"slices"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// notices stands for the group's notice hash among the names of actions; no action is called so.
const notices = ""

// compile makes what Redis shall hold of a group: a hash of each action that its document binds, and its notices. The
// system is the one at the counters that were read with the row, so contents and order belong together. An archived
// group, and one without a document, has none.
func (s *Sync) compile(ctx context.Context, row store.PublishRow) ([]enforce.Publication, int64, error) {
	if row.Err != nil {
		return nil, 0, fmt.Errorf("read document: %w", row.Err)
	}
	sys, err := s.store.SystemAt(ctx, row.Counters)
	if err != nil {
		return nil, 0, fmt.Errorf("read system: %w", err)
	}
	order := sys.Order(row.Version)
	if row.Archived {
		return nil, order, nil
	}
	names := published(sys, row.Document)
	if len(names) == 0 {
		return nil, order, nil
	}
	compiler := sys.Compiler(row.Document)
	pubs := make([]enforce.Publication, 0, len(names))
	for _, name := range names {
		pub := enforce.Publication{Key: s.key(name, row.GroupID), Order: order}
		if name == notices {
			pub.Hash = enforce.NoticeHash(order, compiler.Notices())
		} else {
			pub.Hash = enforce.PolicyHash(sys.At(compiler.Compile(name, row.Version, order), s.cfg.Now().UnixMilli()))
		}
		pubs = append(pubs, pub)
	}
	return pubs, order, nil
}

// compileWithWithdrawals is compile and a tombstone for all that an earlier version of the document published and this
// one does not.
func (s *Sync) compileWithWithdrawals(ctx context.Context, row store.PublishRow) ([]enforce.Publication, int64, error) {
	pubs, order, err := s.compile(ctx, row)
	if err != nil {
		return nil, 0, err
	}
	ever, err := s.everPublished(ctx, row)
	if err != nil {
		return nil, 0, err
	}
	kept := map[string]bool{}
	for _, pub := range pubs {
		kept[pub.Key] = true
	}
	for _, name := range ever {
		if key := s.key(name, row.GroupID); !kept[key] {
			pubs = append(pubs, enforce.Publication{Key: key, Order: order, Delete: true})
		}
	}
	return pubs, order, nil
}

func (s *Sync) key(name, group string) string {
	if name == notices {
		return s.keys.Notice(group)
	}
	return s.keys.Policy(name, group)
}

// published names what is published for a document. It depends on the document and the registry alone.
func published(sys *policy.System, d policy.Document) []string {
	names := sys.Published(d)
	if len(d.Notices) > 0 {
		return append(slices.Clone(names), notices)
	}
	return names
}

// compileDefaults makes the hashes of the defaults for one shard, and what it shall have of the system's scopes.
func (s *Sync) compileDefaults(sys *policy.System, shard uint8) []enforce.Publication {
	pubs := make([]enforce.Publication, 0, len(sys.Actions)*(1+len(policy.SystemScopes())))
	for _, spec := range sys.Actions {
		c := sys.At(sys.CompileDefault(spec.Name), s.cfg.Now().UnixMilli())
		pubs = append(pubs, enforce.Publication{Key: s.keys.Default(shard, spec.Name), Order: c.Order, Hash: enforce.PolicyHash(c)})
	}
	return s.appendScopes(pubs, sys, shard)
}
