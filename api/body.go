package api

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
)

const maxBody = 1 << 20 // bytes

// Body is a request's body, read but not judged: its faults come last in the order of answers.
type Body struct {
	data []byte
	kind string // its content type, one that the operation takes
	err  error
}

// binder reads bodies for the generated layer; ids come from the path alone.
type binder struct{}

// Bind implements echo.Binder for *Body. A fault of the body stays in it until a handler asks.
func (binder) Bind(target any, c echo.Context) error {
	body, ok := target.(*Body)
	if !ok {
		return errors.New("api: the generated layer asks for a body that is not lazy")
	}
	body.data, body.kind, body.err = readBody(c)
	return nil
}

const (
	mimeMergePatch = "application/merge-patch+json"
	mimeCSV        = "text/csv"
)

// bodyKinds are the content types that an operation takes.
func bodyKinds(method, path string) []string {
	switch {
	case method == http.MethodPatch:
		return []string{mimeMergePatch}
	case path == importPath:
		return []string{echo.MIMEApplicationJSON, mimeCSV}
	}
	return []string{echo.MIMEApplicationJSON}
}

func readBody(c echo.Context) (data []byte, kind string, err error) {
	kinds := bodyKinds(c.Request().Method, c.Path())
	at := slices.IndexFunc(kinds, func(kind string) bool { return isType(c.Request().Header, kind) })
	if at < 0 {
		c.Response().Header().Set("Accept-Patch", mimeMergePatch)
		return nil, "", policy.Errorf(codeMediaType, "the content type must be %s, in UTF-8 and not compressed", strings.Join(kinds, " or "))
	}
	data, err = readAll(c)
	return data, kinds[at], err
}

func readAll(c echo.Context) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, policy.Errorf(codeTooLarge, "the body must be at most %d bytes", maxBody)
	}
	if err != nil {
		return nil, policy.Errorf(policy.CodeMalformed, "the body could not be read to its end")
	}
	return data, nil
}

func isType(header http.Header, want string) bool {
	got, parameters, err := mime.ParseMediaType(header.Get(echo.HeaderContentType))
	encoding := header.Get(echo.HeaderContentEncoding)
	charset := parameters["charset"]
	return err == nil && got == want && (charset == "" || strings.EqualFold(charset, "utf-8")) &&
		(encoding == "" || strings.EqualFold(encoding, "identity"))
}

// raw is the body as it was sent.
func (b *Body) raw() ([]byte, error) { return b.data, b.err }

// decode reads a body into a generated struct: exact names, no unknown ones, null only for moments. It returns every
// fault at once, those of the struct's validate tags included.
func decode[T any](a *API, b *Body) (T, error) {
	var into T
	data, err := b.raw()
	if err != nil {
		return into, err
	}
	if err := policy.CheckJSON(data); err != nil {
		return into, err
	}
	if faults := readObject(a, data, &into, "the body"); len(faults) > 0 {
		return into, invalid(faults...)
	}
	return into, nil
}

// readObject reads a JSON object, called what in its faults, into a generated struct.
func readObject[T any](a *API, data []byte, into *T, what string) []policy.FieldError {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return []policy.FieldError{{Code: "type", Detail: what + " must be a JSON object"}}
	}
	if faults := fill(reflect.ValueOf(into).Elem(), members); len(faults) > 0 {
		return faults
	}
	return a.tagFaults(*into)
}

// invalid is a body with these faults.
func invalid(faults ...policy.FieldError) error {
	return &policy.Error{Code: policy.CodeInvalid, Message: "the body is not valid", Fields: faults}
}

const maxFaults = 100 // unknown names in one answer; a body with more is not worth naming them

// fill sets the fields of a struct by their JSON names, and takes from members what it knows.
func fill(target reflect.Value, members map[string]json.RawMessage) []policy.FieldError {
	var faults []policy.FieldError
	var known []string
	for i := range target.NumField() {
		name, options, _ := strings.Cut(target.Type().Field(i).Tag.Get("json"), ",")
		known = append(known, name)
		value, present := members[name]
		delete(members, name)
		switch {
		case !present && !strings.Contains(options, "omitempty"):
			faults = append(faults, policy.FieldError{Pointer: pointer(name), Code: "required", Detail: name + " is required"})
		case present:
			faults = append(faults, set(target.Field(i), name, value)...)
		}
	}
	unknown := make([]string, 0, len(members))
	for name := range members {
		unknown = append(unknown, name)
	}
	slices.Sort(unknown)
	for _, name := range unknown[:min(len(unknown), maxFaults)] {
		faults = append(faults, policy.FieldError{
			Pointer: pointer(shorten(name)), Code: "unknown",
			Detail: shorten(name) + " is not known here; known are " + strings.Join(known, ", "),
		})
	}
	return faults
}

func set(field reflect.Value, name string, value json.RawMessage) []policy.FieldError {
	if read(field.Addr().Interface(), value) {
		return nil
	}
	return []policy.FieldError{{Pointer: pointer(name), Code: "type", Detail: name + " must be " + kindOf(field.Type())}}
}

// read reads a member. encoding/json alone would take null for any text of a list, half of RFC 3339 for a moment, and
// 5.0, which is a whole number, for none.
func read(into any, value json.RawMessage) bool {
	if string(value) == "null" {
		_, isMoment := into.(**time.Time)
		return isMoment
	}
	switch into := into.(type) {
	case **time.Time:
		var text string
		err := json.Unmarshal(value, &text)
		t, ok := parseMoment(text)
		*into = &t
		return err == nil && ok
	case **int64:
		n, whole := policy.WholeNumber(value)
		*into = &n
		return whole
	case **[]string:
		var texts []*string
		if json.Unmarshal(value, &texts) != nil || slices.Contains(texts, nil) {
			return false
		}
	}
	return json.Unmarshal(value, into) == nil
}

// kindOf names a Go type in the words of JSON.
func kindOf(t reflect.Type) string {
	if t == reflect.TypeFor[*time.Time]() {
		return aMoment
	}
	switch t.Kind() { //nolint:exhaustive // the kinds that bodies have
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		if t.Elem().Kind() != reflect.String {
			return "a list"
		}
		return "a list of texts"
	default:
		return "a text"
	}
}

// pointer is the RFC 6901 pointer of a member of the body.
func pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
