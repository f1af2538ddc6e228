package store

import (
	"context"

	"gorm.io/gorm"
)

// ExemptionsCount is how many entries a group's collection has, expired ones too. CodeNotFound.
func (s *Store) ExemptionsCount(ctx context.Context, groupID string) (count int64, err error) {
	err = s.read(ctx, func(db *gorm.DB) error {
		return noGroup(one(db.Raw("SELECT exemptions_count FROM groups WHERE id = ?", groupID), &count))
	})
	return count, err
}
