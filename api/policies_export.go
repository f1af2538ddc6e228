package api

import (
	"bufio"
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"

	"github.com/pacekeeper/pacekeeper/config"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// exportKinds are what an export can write, in its order.
func exportKinds() []string {
	return []string{"bounds", "defaults", "actions", "groups", "policies", "exemptions"}
}

// ExportPolicies implements GET /v1/policies/export. All of it is of one moment. The first page is read before the answer begins, so that a database
// that is away, or a group that is not there, is still an error.
func (a *API) ExportPolicies(ctx context.Context, r ExportPoliciesRequestObject) (ExportPoliciesResponseObject, error) {
	q := store.ConfigQuery{Groups: deref(r.Params.GroupId)}
	kinds := texts(r.Params.Kind)
	for _, kind := range kinds {
		if !slices.Contains(exportKinds(), kind) {
			return nil, policy.Errorf(policy.CodeMalformed, "the query parameter kind is one of bounds, defaults, actions, groups, policies, exemptions")
		}
	}
	asked := func(kind string) bool { return len(kinds) == 0 || slices.Contains(kinds, kind) }
	q.Names, q.Policies, q.Exemptions = asked("groups"), asked("policies"), asked("exemptions")
	format := config.Format(cmp.Or(deref(r.Params.Format), ExportPoliciesParamsFormatYaml))
	if format != config.YAML && format != config.JSON {
		return nil, policy.Errorf(policy.CodeMalformed, "the query parameter format is yaml or json")
	}
	x := &policyExport{ctx: ctx, api: a, format: format, asked: asked, alone: len(q.Groups) > 0 && len(kinds) == 0}
	var err error
	if x.export, err = a.cfg.Store.ExportConfig(ctx, q); err != nil {
		return nil, err
	}
	if x.first, err = x.export.Next(ctx); err != nil {
		x.export.Close()
		return nil, err
	}
	return x, nil
}

// policyExport is the answer, under way.
type policyExport struct {
	ctx    context.Context //nolint:containedctx // the generated interface hands none to the writing of an answer
	api    *API
	format config.Format
	export *store.ConfigExport
	first  []policy.GroupConfig
	asked  func(kind string) bool
	alone  bool // groups were named and kinds were not: of the system there is nothing
}

// VisitExportPoliciesResponse streams. What fails after the beginning breaks the connection off.
func (x *policyExport) VisitExportPoliciesResponse(w http.ResponseWriter) error {
	defer x.export.Close()
	media := "application/yaml"
	if x.format == config.JSON {
		media = "application/json"
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Disposition", `attachment; filename="pacekeeper.`+string(x.format)+`"`)
	w.WriteHeader(http.StatusOK)
	buffer := bufio.NewWriterSize(w, exportBuffer)
	err := x.write(config.NewWriter(buffer, x.format))
	if err = cmp.Or(err, buffer.Flush()); err != nil {
		x.api.cfg.Logger.LogAttrs(x.ctx, slog.LevelWarn, "export broken off", slog.Any("error", err),
			slog.String("request_id", callerOf(x.ctx).requestID))
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (x *policyExport) write(w *config.Writer) (err error) {
	if x.asked("bounds") && !x.alone {
		err = w.Bounds(x.export.System.Bounds, x.export.System.ActionNames())
	}
	if x.asked("defaults") && !x.alone {
		err = cmp.Or(err, w.Defaults(x.export.System.Defaults))
	}
	if x.asked("actions") && !x.alone {
		err = cmp.Or(err, w.Actions(x.export.System.Actions))
	}
	for page := x.first; err == nil; {
		for _, g := range page {
			if err := w.Group(g); err != nil {
				return err
			}
		}
		if x.export.Done() {
			return w.Close()
		}
		page, err = x.export.Next(x.ctx)
	}
	return err
}
