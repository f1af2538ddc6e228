package ui

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
)

// legible refuses, before anything reads it, what no page can have sent: NUL and other control characters, and bytes that
// are no UTF-8. The databases differ in what they take of it, and none of it can be shown.
func legible(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if !isText(r.URL.Path) {
			return policy.Errorf(policy.CodeNotFound, "no such page")
		}
		if !allText(r.URL.Query()) {
			return policy.Errorf(policy.CodeMalformed, "the address holds what is no text")
		}
		if r.Method != http.MethodPost {
			return next(c)
		}
		form, err := c.FormParams()
		if err != nil {
			return policy.Errorf(policy.CodeMalformed, "the form cannot be read")
		}
		if !allText(form) {
			return policy.Errorf(policy.CodeMalformed, "the form holds what is no text")
		}
		return next(c)
	}
}

func allText(values url.Values) bool {
	for name, all := range values {
		if !isText(name) {
			return false
		}
		for _, value := range all {
			if !isText(value) {
				return false
			}
		}
	}
	return true
}

func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	})
}
