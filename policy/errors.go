package policy

import (
	"fmt"
	"strings"
)

// Code is the stable, machine-readable kind of an Error. Each face maps it to its own status at one edge.
type Code string

// The codes of errors. The comment behind each is the HTTP status of the REST face.
const (
	CodeMalformed       Code = "malformed"       // 400: not JSON, bad UTF-8, duplicate key
	CodeUnauthenticated Code = "unauthenticated" // 401
	CodeForbidden       Code = "forbidden"       // 403
	CodeNotFound        Code = "not_found"       // 404
	CodeConflict        Code = "conflict"        // 409
	CodeArchived        Code = "archived"        // 409: writes to an archived group
	CodeStale           Code = "stale"           // 412: If-Match names an older version
	CodeInvalid         Code = "invalid"         // 422: Fields name each fault
	CodeUnavailable     Code = "unavailable"     // 503: database or Redis away
	// CodeKeyReused is 422: the Idempotency-Key was sent with another request before.
	CodeKeyReused Code = "idempotency_key_reused"
)

// Error is the one error type that crosses package borders. Message is safe to show to the caller; Fields, where
// present, name every fault of the input at once.
type Error struct {
	Code    Code
	Message string
	Fields  []FieldError
}

// FieldError is one fault of an input. Pointer is an RFC 6901 JSON pointer into the body ("" is the whole body);
// Code is stable (type, range, required, unknown, duplicate, order, format, not_available, forbidden); Detail is a
// sentence that names field, unit and range.
type FieldError struct {
	Pointer string
	Code    string
	Detail  string
}

// AboutKey says whether the fault is one of the key that Pointer names, not of the value behind it.
func (f FieldError) AboutKey() bool {
	return f.Code == "unknown" && strings.HasPrefix(f.Detail, "the key ")
}

// Error implements the error interface.
func (e *Error) Error() string {
	if len(e.Fields) == 0 {
		return string(e.Code) + ": " + e.Message
	}
	details := make([]string, 0, len(e.Fields))
	for _, f := range e.Fields {
		details = append(details, f.Pointer+": "+f.Detail)
	}
	return string(e.Code) + ": " + e.Message + " (" + strings.Join(details, "; ") + ")"
}

// Errorf makes an Error without fields.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
