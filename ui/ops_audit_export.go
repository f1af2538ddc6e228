package ui

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"io"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// exportAudit streams what the filters select, as the REST face does, for somebody who is signed in here. The first page
// is read before the answer begins, so that a database that is away is still an error.
func (u *UI) exportAudit(c echo.Context) error {
	var v auditView
	v.base = u.base(c.Request(), "audit")
	v.filters(c.QueryParams())
	query, faults := v.auditQuery(v.Filter)
	if len(faults) > 0 {
		return worded{policy.Errorf(policy.CodeMalformed, "the filters cannot be read"), faults[0].Text}
	}
	ctx := c.Request().Context()
	export, err := u.cfg.Store.ExportAudit(ctx, query)
	if err != nil {
		return err
	}
	var first []policy.AuditRecord
	if !export.Done() {
		if first, err = export.Next(ctx); err != nil {
			return err
		}
	}
	w, name, media := c.Response(), "audit.jsonl", "application/jsonl"
	if c.QueryParam("format") == "csv" {
		name, media = "audit.csv", "text/csv; charset=utf-8"
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.WriteHeader(http.StatusOK)
	if err := writeExport(ctx, w, export, first, name == "audit.csv"); err != nil {
		u.cfg.Log.WarnContext(ctx, "export broken off", slog.Any("error", err))
		panic(http.ErrAbortHandler) // an answer that looked whole would be taken for the whole log
	}
	return nil
}

func writeExport(ctx context.Context, w io.Writer, x *store.AuditExport, page []policy.AuditRecord, asCSV bool) (err error) {
	const buffered = 64 << 10
	out := bufio.NewWriterSize(w, buffered)
	table := csv.NewWriter(out)
	if asCSV {
		_ = table.Write(policy.AuditColumns()) // the writer keeps its error until it is flushed
	}
	for {
		for _, r := range page {
			if asCSV {
				err = table.Write(r.Cells())
			} else {
				_, err = out.Write(append(r.JSON(), '\n'))
			}
			if err != nil {
				return err
			}
		}
		if x.Done() {
			break
		}
		if page, err = x.Next(ctx); err != nil {
			return err
		}
	}
	if asCSV {
		_ = table.Write(x.Footer().Cells())
		table.Flush()
		return cmp.Or(table.Error(), out.Flush())
	}
	_, err = out.Write(append(x.Footer().JSON(), '\n'))
	return cmp.Or(err, out.Flush())
}
