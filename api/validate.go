package api

import (
	"errors"
	"reflect"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/pacekeeper/pacekeeper/policy"
)

// newValidator reads the validate tags that overlay.yaml gives to the generated structs.
func newValidator() (*validator.Validate, error) {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	line := func(f validator.FieldLevel) bool { return policy.IsLine(f.Field().String()) }
	return v, v.RegisterValidation("line", line)
}

// tagFaults runs the validate tags of a struct.
func (a *API) tagFaults(value any) []policy.FieldError {
	var found validator.ValidationErrors
	if !errors.As(a.validate.Struct(value), &found) {
		return nil
	}
	faults := make([]policy.FieldError, 0, len(found))
	for _, f := range found {
		code, rule := tagWords(f)
		faults = append(faults, policy.FieldError{Pointer: namespacePointer(f.Namespace()), Code: code, Detail: f.Field() + " " + rule})
	}
	return faults
}

// tagWords puts a tag into our code and words.
func tagWords(f validator.FieldError) (code, words string) {
	unit := " characters long"
	switch f.Kind() { //nolint:exhaustive // the kinds that bodies have
	case reflect.Int64:
		unit = ""
	case reflect.Slice:
		unit = " entries long"
	}
	switch f.Tag() {
	case "min":
		return "range", "must be at least " + f.Param() + unit
	case "max":
		return "range", "must be at most " + f.Param() + unit
	case "oneof":
		return "format", "must be one of " + strings.ReplaceAll(f.Param(), " ", ", ")
	case "bcp47_language_tag":
		return "format", "must be a language tag, such as en or zh-CN"
	case "line":
		return "format", policy.LineRule
	case "unique":
		return "duplicate", "must not name one thing twice"
	default:
		return "format", "is not well formed"
	}
}

// namespacePointer turns TokenInput.groups[3] into /groups/3.
func namespacePointer(namespace string) string {
	_, path, _ := strings.Cut(namespace, ".")
	path = strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(path)
	return "/" + path
}
