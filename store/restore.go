package store

import (
	"context"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// RestoreEdit turns the document that stands and the one to restore into the one to save. It must be pure, as an Edit.
type RestoreEdit func(system *policy.System, before, restored policy.Document) (policy.Document, error)

// RestorePolicy saves the document of an earlier version anew, as a version of its own; fn may change it (nil = as it was).
// What newer bounds hold back, a role that operators removed since among it, is clamped, not refused. Restoring what is in
// force already changes nothing. Codes as for UpdatePolicy, and CodeNotFound for a version that is not there.
func (s *Store) RestorePolicy(ctx context.Context, a Actor, groupID string, m Match, version int64, fn RestoreEdit,
) (PolicyRecord, bool, error) {
	old, err := s.Version(ctx, groupID, version)
	if err != nil {
		return PolicyRecord{}, false, err
	}
	return s.editPolicy(ctx, a, groupID, m, restoring(old, fn))
}

// restored is what is kept of a restore to answer it again.
type restored struct{ Version int64 }

// RestoreOnce is RestorePolicy for a request with an Idempotency-Key: sent again, it changes nothing and is answered with
// the version that it made, whatever was saved since. CodeKeyReused besides.
func (s *Store) RestoreOnce(ctx context.Context, o Once, a Actor, groupID string, m Match, version int64, fn RestoreEdit,
) (r PolicyRecord, changed bool, err error) {
	old, err := s.Version(ctx, groupID, version)
	if err != nil {
		return r, false, err
	}
	var done restored
	err = s.write(ctx, func(t *tx) error {
		done, err = once(t, o, func() (restored, error) {
			r, changed, err = t.editPolicy(a, groupID, m, restoring(old, fn), s.dialect.forUpdate("g"))
			return restored{r.Version}, err
		})
		return err
	})
	if err != nil || r.System != nil {
		return r, changed && err == nil, err
	}
	if r, err = s.Policy(ctx, groupID); err != nil || r.Version == done.Version {
		return r, false, err
	}
	r.Version = done.Version
	r.Document, err = s.documentOf(ctx, groupID, done.Version)
	return r, false, err
}

func restoring(old Version, fn RestoreEdit) policyEdit {
	return policyEdit{
		kind: "restore", action: "policy.restore", valid: &old.Document,
		fn: func(system *policy.System, before policy.Document) (policy.Document, error) {
			if fn == nil {
				return old.Document, nil
			}
			return fn(system, before, old.Document)
		},
	}
}

// DiffVersions tells what differs between the documents of two versions of a group. Version 0 is the document that states
// nothing, before the first save. CodeNotFound.
func (s *Store) DiffVersions(ctx context.Context, groupID string, from, to int64) ([]policy.Change, error) {
	before, err := s.documentOf(ctx, groupID, from)
	if err != nil {
		return nil, err
	}
	after, err := s.documentOf(ctx, groupID, to)
	if err != nil {
		return nil, err
	}
	return policy.Diff(before, after), nil
}

func (s *Store) documentOf(ctx context.Context, groupID string, version int64) (policy.Document, error) {
	if version == 0 {
		return policy.Document{}, s.read(ctx, func(db *gorm.DB) error { return groupExists(db, groupID) })
	}
	v, err := s.Version(ctx, groupID, version)
	return v.Document, err
}
