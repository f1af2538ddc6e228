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

// parsePages parses each page together with the layout.
func parsePages() (*pages, error) {
	p := &pages{byName: map[string]*template.Template{}}
	for _, name := range []string{"sign_in", "groups", "group", "problem"} {
		t, err := template.New(name+".html").Option("missingkey=error").
			ParseFS(templateFiles, "templates/layout.html", "templates/"+name+".html")
		if err != nil {
			return nil, err
		}
		p.byName[name] = t
	}
	return p, nil
}

// base is what every page has; page structs embed it.
type base struct {
	Title string
	Path  string // of the page, escaped, without query
	User  string // the name of whoever is signed in
	Lang  string
	words catalogue
}

func (u *UI) base(r *http.Request, titleKey string) base {
	lang := language(r)
	return base{
		Title: u.words.say(lang, titleKey), Path: r.URL.EscapedPath(), User: principalOf(r).Name, Lang: lang, words: u.words,
	}
}

// Say returns a text of the catalogue in the page's language.
func (b base) Say(key string, args ...any) string { return b.words.say(b.Lang, key, args...) }

// HTMLLang is the page's language as HTML wants it.
func (b base) HTMLLang() string { return htmlLang(b.Lang) }

// OtherLang is the language that the page offers instead.
func (b base) OtherLang() string {
	if b.Lang == chinese {
		return english
	}
	return chinese
}

// OtherHTMLLang is OtherLang as HTML wants it.
func (b base) OtherHTMLLang() string { return htmlLang(b.OtherLang()) }

func htmlLang(lang string) string {
	if lang == chinese {
		return "zh-CN"
	}
	return lang
}

// render writes a page from a buffer, so that a template's fault never leaves half a page.
func (u *UI) render(w http.ResponseWriter, status int, name string, page any) error {
	var out bytes.Buffer
	if err := u.pages.byName[name].Execute(&out, page); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, err := w.Write(out.Bytes())
	return err
}

const languageCookie = "pk_lang"

// chooseLanguage remembers the language in a cookie of its own, so that it works before sign-in too.
func (u *UI) chooseLanguage(c echo.Context) error {
	lang := c.FormValue("lang")
	if lang != chinese {
		lang = english
	}
	c.SetCookie(&http.Cookie{ //nolint:gosec // a language is no secret, and plain http has to work
		Name: languageCookie, Value: lang, Path: "/", MaxAge: 365 * 24 * 3600,
		HttpOnly: true, Secure: u.cfg.Secure, SameSite: http.SameSiteLaxMode,
	})
	return c.Redirect(http.StatusSeeOther, localPath(c.FormValue("to")))
}

// localPath keeps a redirect on this server: a path, never another host. Browsers drop tabs and line breaks from an
// address and read "\" as "/", so an address with any such byte is none of ours.
func localPath(to string) string {
	foreign := func(c rune) bool { return c <= ' ' || c == '\\' || c == 0x7f }
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsFunc(to, foreign) {
		return "/groups"
	}
	return to
}
