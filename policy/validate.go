package policy

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const unknownZone = `time_zone must be an IANA time zone, such as "UTC" or "Asia/Shanghai"`

// knownZone asks the zone database, which programs embed by importing time/tzdata. What only a host's files know beside
// IANA's names (its own zone; the copies that count leap seconds) is none: other hosts do not have it.
func knownZone(name string) bool {
	switch area, _, _ := strings.Cut(name, "/"); area {
	case "", "Local", "localtime", "posixrules", "posix", "right":
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// Validate says whether a document may be saved: all that ParseDocument asks, and that its actions are registered, its
// roles known and its time zone in the zone database. The error is CodeInvalid with every fault and its pointer.
func (s *System) Validate(d Document) error { return s.ValidateChange(Document{}, d) }

// ValidateChange says whether a document may take the place of another. As Validate, but a role that the other states
// already may stay after operators have removed it: whoever saves something else is not to blame.
func (s *System) ValidateChange(before, d Document) error {
	if _, err := s.ParseDocument(d.JSON()); err != nil {
		return err
	}
	return s.known(before, d)
}

// ValidateDefaults says whether a document may become the defaults, in the place of another. As ValidateChange, and it may
// state scopes.
func (s *System) ValidateDefaults(before, d Document) error {
	if _, err := ParseDefaults(d.JSON()); err != nil {
		return err
	}
	return s.known(before, d)
}

// known asks whether what a document names is known.
func (s *System) known(before, d Document) error {
	var fields []FieldError
	if d.TimeZone.Set && !knownZone(d.TimeZone.Value) {
		fields = append(fields, FieldError{"/time_zone", "unknown", unknownZone})
	}
	fields = append(fields, unknownActions(s, "/actions/", d.Actions)...)
	for _, scope := range SystemScopes() {
		fields = append(fields, unknownActions(s, "/scopes/"+string(scope)+"/", d.Scopes[scope])...)
	}
	fields = append(fields, s.unknownRoles(d.ExemptRoles.Value, before.ExemptRoles.Value)...)
	if len(fields) == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: "the document is not valid", Fields: fields}
}

// ValidateBounds says whether bounds name registered actions alone. The error is CodeInvalid with every fault and its
// pointer.
func (s *System) ValidateBounds(b Bounds) error {
	fields := unknownActions(s, "/actions/", b.Actions)
	if len(fields) == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: "the bounds are not valid", Fields: fields}
}

// unknownActions reports keys below path that are not registered, "*" aside; the first 100 of them.
func unknownActions[T any](s *System, path string, stated map[string]T) (fields []FieldError) {
	known := listed(s.ActionNames())
	for _, name := range slices.Sorted(maps.Keys(stated)) {
		if name != anyAction && !s.Registered(name) && len(fields) < maxFaults {
			fields = append(fields, FieldError{
				path + escapePointer(name), "unknown", "the action " + name + " is unknown; known are " + known,
			})
		}
	}
	return fields
}

// Roles are the roles that exempt_roles may name: those every system knows, then the operator's own.
// The slice is the System's own: read only.
func (s *System) Roles() []string { return s.roles }

func (s *System) unknownRoles(stated, before []string) (fields []FieldError) {
	known := s.roles
	for i, role := range stated {
		if !slices.Contains(known, role) && !slices.Contains(before, role) {
			fields = append(fields, FieldError{
				"/exempt_roles/" + strconv.Itoa(i), "unknown",
				"the role " + role + " is unknown; known are " + listed(known),
			})
		}
	}
	return fields
}
