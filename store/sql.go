package store

import (
	"hash/crc32"
	"strings"

	"gorm.io/gorm"
)

// one scans exactly one row; gorm.ErrRecordNotFound without one.
func one(query *gorm.DB, row any) error {
	done := query.Scan(row)
	if done.Error == nil && done.RowsAffected == 0 {
		return gorm.ErrRecordNotFound
	}
	return done.Error
}

// places writes the parameters of rows × columns values: (?, ?), (?, ?).
func places(rows, columns int) string {
	row := "(" + strings.Repeat("?, ", columns-1) + "?)"
	return strings.Repeat(row+", ", rows-1) + row
}

// shardOf is crc32-IEEE(id) mod 256 (design §5).
func shardOf(id string) uint8 { return uint8(crc32.ChecksumIEEE([]byte(id)) & 0xff) }

// shardList is a list of shards as parameters: a []uint8 would be taken for bytes. Nil = all.
func shardList(shards []uint8) []int {
	if shards == nil {
		all := make([]int, 256)
		for i := range all {
			all[i] = i
		}
		return all
	}
	out := make([]int, 0, len(shards))
	for _, s := range shards {
		out = append(out, int(s))
	}
	return out
}
