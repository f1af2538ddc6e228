package store

import (
	"cmp"
	"hash/crc32"
	"strings"

	"gorm.io/gorm"
)

// one scans exactly one row; gorm.ErrRecordNotFound without one. gorm's own Scan prints every statement with its values
// for a logger that nobody reads: a tenth of a save's time.
func one(query *gorm.DB, row any) error {
	rows, err := query.Rows()
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return cmp.Or(rows.Err(), gorm.ErrRecordNotFound)
	}
	if err := query.ScanRows(rows, row); err != nil {
		return err
	}
	rows.Next() // reads the end of the answer, which may be an error
	return rows.Err()
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
