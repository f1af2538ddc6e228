package policy

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

const auditColumns = "id seq at actor role channel action target group_id before after reason request_id address erased " +
	"who_salt what_salt who_digest what_digest mac prev_hash hash"

// AuditColumns names the cells of a row of an export as CSV.
func AuditColumns() []string { return strings.Fields(auditColumns) }

// Cells is the record as a row of an export as CSV, in the order of AuditColumns, harmless to spreadsheets.
func (r AuditRecord) Cells() []string {
	return harmless([]string{
		r.ID, strconv.FormatInt(r.Seq, 10), r.At(), r.Actor, r.Role, r.Channel, r.Action, r.Target, r.GroupID, r.Before, r.After,
		r.Reason, r.RequestID, r.Address, strings.Join(r.Erased(), " "),
		hex.EncodeToString(r.Who.Salt), hex.EncodeToString(r.What.Salt), r.Who.Proof(), r.What.Proof(), hex.EncodeToString(r.MAC),
		r.PrevHash, r.Hash,
	})
}

// Cells is the end of an export as a row, whose first cell says so.
func (f AuditFooter) Cells() []string {
	row := make([]string, len(AuditColumns()))
	copy(row, []string{
		"footer", "count=" + strconv.FormatInt(f.Count, 10), "head=" + f.Head.String(), "head_mac=" + f.MAC,
		fmt.Sprintf("filtered=%t", f.Filtered),
	})
	return harmless(row)
}

// harmless keeps spreadsheets from taking cells for formulas: an apostrophe before one makes it text. Cells that begin
// with one get another, so that taking one off gives back what was there.
func harmless(row []string) []string {
	const blank, signs = " \t\r\n\v\f\u00a0\u3000\ufeff", "=+-@'＝＋－＠"
	for i, cell := range row {
		if strings.IndexAny(strings.TrimLeft(cell, blank), signs) == 0 || strings.IndexAny(cell, "\t\r\n") == 0 {
			row[i] = "'" + cell
		}
	}
	return row
}
