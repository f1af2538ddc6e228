package ui

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

//go:embed templates
var templateFiles embed.FS

// pages holds the parsed templates. It is read-only.
type pages struct{ byName map[string]*template.Template }

// pageNames are the templates that are pages; those of templates/shared are parsed with each.
func pageNames() []string {
	return []string{
		"sign_in", "portal", "groups", "group", "members", "history", "restore", "problem",
		"ops", "ops_bounds", "ops_defaults", "ops_tokens", "ops_revoke", "ops_audit", "ops_entry",
	}
}

func parsePages(a *assets) (*pages, error) {
	p := &pages{byName: map[string]*template.Template{}}
	shared, err := template.New("shared").Option("missingkey=error").Funcs(template.FuncMap{"asset": a.href}).
		ParseFS(templateFiles, "templates/shared/*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range pageNames() {
		page, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		if p.byName[name], err = page.ParseFS(templateFiles, filesOf(name)...); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// filesOf are the files of a page: its own, and the settings page's where the page has parts of it.
func filesOf(name string) []string {
	own := "templates/" + name + ".html"
	if name == "ops_bounds" || name == "ops_defaults" {
		return []string{"templates/group.html", own}
	}
	return []string{own}
}

// render writes a page from a buffer, so that a template's fault never leaves half a page.
func (u *UI) render(w http.ResponseWriter, status int, name string, page any) error {
	return u.execute(w, status, name, name+".html", page)
}

// fragment writes one part of a page, named page/part, for htmx to put in place.
func (u *UI) fragment(w http.ResponseWriter, part string, view any) error {
	page, _, _ := strings.Cut(part, "/")
	return u.execute(w, http.StatusOK, page, part, view)
}

func (u *UI) execute(w http.ResponseWriter, status int, page, part string, view any) error {
	var out bytes.Buffer
	if err := u.pages.byName[page].ExecuteTemplate(&out, part, view); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, err := w.Write(out.Bytes())
	return err
}

// wantsFragment says whether htmx asks, which puts a part in place, rather than the browser, which shows a page.
func wantsFragment(c echo.Context) bool { return c.Request().Header.Get("HX-Request") == "true" }
