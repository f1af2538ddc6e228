package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

const importPath = "/v1/groups/:group_id/exemptions/import"

// ImportExemptions implements POST /v1/groups/{group_id}/exemptions/import.
func (a *API) ImportExemptions(ctx context.Context, r ImportExemptionsRequestObject) (ImportExemptionsResponseObject, error) {
	match, err := optional(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	strict := parsePrefer(r.Params.Prefer).strict
	key, err := once(ctx, r.Params.IdempotencyKey, "import "+r.GroupId,
		strconv.AppendBool(nil, strict), []byte(r.Body.kind), r.Body.data)
	if err != nil {
		return nil, err
	}
	result, err := a.cfg.Store.ImportExemptions(ctx, w.Actor, r.GroupId, store.ExemptionImport{
		Match: w.match, Once: key, Strict: strict,
		Read: func() ([]store.Exemption, []policy.FieldError, error) { return a.readImport(r.Body) },
	})
	if err != nil {
		return nil, a.staleExemptions(ctx, r.GroupId, err)
	}
	a.settle(ctx, r.GroupId, r.Params.Prefer)
	return ImportExemptions200JSONResponse{
		Body: ExemptionImportResult{
			Added: result.Added, Updated: result.Updated, Unchanged: result.Unchanged, Errors: problemErrors(result.Faults),
		},
		Headers: ImportExemptions200ResponseHeaders{ETag: etag(result.Version)},
	}, nil
}

// readImport reads the items of an import: those that can be put, and the faults of the others. An error is one of the
// whole body.
func (a *API) readImport(body *Body) (entries []store.Exemption, faults []policy.FieldError, err error) {
	items, err := a.importItems(body)
	if err != nil {
		return nil, nil, err
	}
	places := make(map[string]int, len(items))
	for i, item := range items {
		found := item.faults
		if len(found) == 0 {
			found = a.importFaults(item.value, places)
		}
		if len(found) > 0 {
			faults = append(faults, under(i, found)...)
			continue
		}
		places[item.value.UserId] = i
		entries = append(entries, store.Exemption{
			UserID: item.value.UserId, ExpiresAt: deref(item.value.ExpiresAt).UTC(), Note: deref(item.value.Note),
		})
	}
	return entries, faults, nil
}

// under puts the faults of an item under its place in the body.
func under(item int, faults []policy.FieldError) []policy.FieldError {
	for i := range faults {
		faults[i].Pointer = "/items/" + strconv.Itoa(item) + faults[i].Pointer
	}
	return faults
}

// importFaults judges an item that is well formed. places are those of the users before it.
func (a *API) importFaults(item ExemptionImportItem, places map[string]int) []policy.FieldError {
	var faults []policy.FieldError
	known, isKnown := errors.AsType[*policy.Error](policy.CheckID("/user_id", item.UserId))
	if isKnown {
		faults = append(faults, known.Fields...)
	}
	late, isLate := errors.AsType[*policy.Error](a.inFuture("/expires_at", item.ExpiresAt))
	if isLate {
		faults = append(faults, late.Fields...)
	}
	if first, twice := places[item.UserId]; twice && len(faults) == 0 {
		faults = append(faults, policy.FieldError{
			Pointer: "/user_id", Code: "duplicate", Detail: fmt.Sprintf("/items/%d names the same user, and counts", first),
		})
	}
	return faults
}

// importItem is an item as it was read.
type importItem struct {
	value  ExemptionImportItem
	faults []policy.FieldError
}

func (a *API) importItems(body *Body) ([]importItem, error) {
	if body.err == nil && body.kind == mimeCSV {
		return a.importRecords(body.data)
	}
	in, err := decode[struct {
		Items []json.RawMessage `json:"items"`
	}](a, body)
	if err != nil {
		return nil, err
	}
	items := make([]importItem, len(in.Items))
	for i, data := range in.Items {
		items[i].faults = readObject(a, data, &items[i].value, "an item")
	}
	return items, nil
}

// importRecords reads CSV with a header.
func (a *API) importRecords(data []byte) ([]importItem, error) {
	if !clean(string(data)) {
		return nil, policy.Errorf(policy.CodeMalformed, "the body is not valid UTF-8 text")
	}
	lines := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF")))) // which spreadsheets put there
	lines.ReuseRecord = true
	header, err := lines.Read()
	if err != nil {
		return nil, policy.Errorf(policy.CodeMalformed, "the body must begin with a header: user_id,expires_at,note")
	}
	columns := slices.Clone(header)
	if err := checkColumns(columns); err != nil {
		return nil, err
	}
	var items []importItem
	for {
		record, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return nil, policy.Errorf(policy.CodeMalformed, "the body is not CSV as RFC 4180 has it: %s", err.Error())
		}
		items = append(items, a.recordItem(columns, record))
	}
}

func checkColumns(columns []string) error {
	var faults []policy.FieldError
	for i, name := range columns {
		switch {
		case name != "user_id" && name != "expires_at" && name != "note":
			faults = append(faults, policy.FieldError{
				Code: "unknown", Detail: "the column " + shorten(name) + " is not known here; known are user_id, expires_at, note",
			})
		case slices.Contains(columns[:i], name):
			faults = append(faults, policy.FieldError{Code: "duplicate", Detail: "the column " + name + " stands there twice"})
		}
	}
	if !slices.Contains(columns, "user_id") {
		faults = append(faults, policy.FieldError{Code: "required", Detail: "the column user_id is required"})
	}
	if len(faults) > 0 {
		return invalid(faults...)
	}
	return nil
}

// recordItem is a record under the header's columns.
func (a *API) recordItem(columns, record []string) (item importItem) {
	for i, cell := range record {
		switch {
		case columns[i] == "user_id":
			item.value.UserId = cell
		case cell == "":
		case columns[i] == "note":
			item.value.Note = &cell
		default:
			moment, ok := parseMoment(cell)
			if !ok {
				item.faults = append(item.faults, policy.FieldError{Pointer: "/expires_at", Code: "type", Detail: "expires_at must be " + aMoment})
			}
			item.value.ExpiresAt = &moment
		}
	}
	if len(item.faults) == 0 {
		item.faults = a.tagFaults(item.value)
	}
	return item
}
