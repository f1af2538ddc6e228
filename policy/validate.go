package policy

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

const unknownZone = `time_zone must be an IANA time zone, such as "UTC" or "Asia/Shanghai"`

// knownZone asks the zone database, which programs embed by importing time/tzdata.
func knownZone(name string) bool {
	if name == "" || name == "Local" {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// Validate says whether a document may be saved: all that ParseDocument asks, and that its actions are registered, its
// roles known and its time zone in the zone database. The error is CodeInvalid with every fault and its pointer.
func (s *System) Validate(d Document) error {
	if _, err := s.ParseDocument(d.JSON()); err != nil {
		return err
	}
	var fields []FieldError
	if d.TimeZone.Set && !knownZone(d.TimeZone.Value) {
		fields = append(fields, FieldError{"/time_zone", "unknown", unknownZone})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Actions)) {
		if !s.Registered(name) {
			fields = append(fields, FieldError{
				"/actions/" + escapePointer(name), "unknown",
				"the action " + name + " is unknown; known are " + listed(s.ActionNames()),
			})
		}
	}
	fields = append(fields, s.unknownRoles(d.ExemptRoles.Value)...)
	if len(fields) == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: "the document is not valid", Fields: fields}
}

// Roles are the roles that exempt_roles may name: those every system knows, then the operator's own.
func (s *System) Roles() []string { return append(shippedRoles(), s.Bounds.Roles...) }

func (s *System) unknownRoles(stated []string) (fields []FieldError) {
	known := s.Roles()
	for i, role := range stated {
		if !slices.Contains(known, role) {
			fields = append(fields, FieldError{
				"/exempt_roles/" + strconv.Itoa(i), "unknown",
				"the role " + role + " is unknown; known are " + listed(known),
			})
		}
	}
	return fields
}
