package api

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"io"
	"log/slog"
	"net/http"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// ExportAuditEvents implements GET /v1/audit-events/export. The first page is read before the answer begins, so that a
// database that is away is still an error.
func (a *API) ExportAuditEvents(ctx context.Context, r ExportAuditEventsRequestObject) (ExportAuditEventsResponseObject, error) {
	p := r.Params
	query, err := auditFilter(ListAuditEventsParams{
		GroupId: p.GroupId, Actor: p.Actor, Role: p.Role, Channel: p.Channel, Action: p.Action, Changed: p.Changed, RequestId: p.RequestId,
		From: p.From, To: p.To,
	})
	if err != nil {
		return nil, err
	}
	format, err := exportFormatOf(p.Format)
	if err != nil {
		return nil, err
	}
	export, err := a.cfg.Store.ExportAudit(ctx, query)
	if err != nil {
		return nil, err
	}
	var first []policy.AuditRecord
	if !export.Done() {
		if first, err = export.Next(ctx); err != nil {
			return nil, err
		}
	}
	return &auditExport{ctx: ctx, api: a, export: export, first: first, format: format}, nil
}

// exportFormat is one form of an export.
type exportFormat struct {
	media, name string
	begin       func(w io.Writer) exportWriter
}

// exportWriter prints an export.
type exportWriter interface {
	record(r policy.AuditRecord) error
	end(f policy.AuditFooter) error
}

func exportFormatOf(asked *ExportAuditEventsParamsFormat) (exportFormat, error) {
	switch deref(asked) {
	case "", ExportAuditEventsParamsFormatJsonl:
		return exportFormat{"application/jsonl", "audit.jsonl", func(w io.Writer) exportWriter { return lines{w} }}, nil
	case ExportAuditEventsParamsFormatCsv:
		return exportFormat{"text/csv; charset=utf-8", "audit.csv", func(w io.Writer) exportWriter { return newTable(w) }}, nil
	default:
		return exportFormat{}, policy.Errorf(policy.CodeMalformed, "the query parameter format is csv or jsonl")
	}
}

// auditExport is the answer, under way.
type auditExport struct {
	ctx    context.Context //nolint:containedctx // the generated interface hands none to the writing of an answer
	api    *API
	export *store.AuditExport
	first  []policy.AuditRecord
	format exportFormat
}

const exportBuffer = 64 << 10 // bytes

// VisitExportAuditEventsResponse streams. What fails after the beginning breaks the connection off: an answer that looked
// whole would be taken for the whole log.
func (e *auditExport) VisitExportAuditEventsResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", e.format.media)
	w.Header().Set("Content-Disposition", `attachment; filename="`+e.format.name+`"`)
	w.WriteHeader(http.StatusOK)
	buffer := bufio.NewWriterSize(w, exportBuffer)
	err := e.write(e.format.begin(buffer))
	if err = cmp.Or(err, buffer.Flush()); err != nil {
		e.api.cfg.Logger.LogAttrs(e.ctx, slog.LevelWarn, "export broken off", slog.Any("error", err),
			slog.String("request_id", callerOf(e.ctx).requestID))
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (e *auditExport) write(w exportWriter) (err error) {
	for page := e.first; ; {
		for _, r := range page {
			if err := w.record(r); err != nil {
				return err
			}
		}
		if e.export.Done() {
			return w.end(e.export.Footer())
		}
		if page, err = e.export.Next(e.ctx); err != nil {
			return err
		}
	}
}

// lines prints JSONL.
type lines struct{ w io.Writer }

func (l lines) record(r policy.AuditRecord) error { return l.print(r.JSON()) }

func (l lines) end(f policy.AuditFooter) error { return l.print(f.JSON()) }

func (l lines) print(line []byte) error {
	_, err := l.w.Write(append(line, '\n'))
	return err
}

// table prints CSV by RFC 4180 with line feeds; every row has the columns of the first.
type table struct{ w *csv.Writer }

func newTable(w io.Writer) table {
	t := table{csv.NewWriter(w)}
	_ = t.w.Write(policy.AuditColumns()) // the writer keeps its error until it is flushed
	return t
}

func (t table) record(r policy.AuditRecord) error { return t.w.Write(r.Cells()) }

// end prints the footer as a row whose first cell says so.
func (t table) end(f policy.AuditFooter) error {
	if err := t.w.Write(f.Cells()); err != nil {
		return err
	}
	t.w.Flush()
	return t.w.Error()
}
