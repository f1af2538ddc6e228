package ui

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/store"
)

// base is what every page has; page structs embed it.
type base struct {
	Title string
	Path  string // of the page, escaped, without query
	Back  string // of the page, escaped, with query: where a change of language leads
	User  string // the name of whoever is signed in
	Role  string // of whoever is signed in
	Lang  string
	words catalogue
}

func (u *UI) base(r *http.Request, titleKey string) base {
	lang, p := language(r), principalOf(r)
	back := r.URL.EscapedPath()
	if r.Method == http.MethodGet {
		back = r.URL.RequestURI()
	}
	return base{
		Title: u.words.say(lang, titleKey), Path: r.URL.EscapedPath(), Back: back, User: p.Name, Role: p.Role, Lang: lang, words: u.words,
	}
}

// Say returns a text of the catalogue in the page's language.
func (b base) Say(key string, args ...any) string { return b.words.say(b.Lang, key, args...) }

// person is a name as people read it: of one that was erased, the word for that.
func (b base) person(name string) string {
	if name == store.ErasedName {
		return b.Say("erased")
	}
	return name
}

// area is one entry of the navigation.
type area struct {
	Text, Href string
	Current    bool
}

// Areas is the navigation of whoever is signed in: what his role may see.
func (b base) Areas() []area {
	groups := "my_groups"
	if b.Role != store.RoleGroupAdmin {
		groups = "groups"
	}
	ops := b.Path == "/ops" || strings.HasPrefix(b.Path, "/ops/")
	areas := []area{{b.Say(groups), "/groups", !ops}}
	if watches(b.Role) {
		areas = append(areas, area{b.Say("operations"), "/ops", ops})
	}
	return areas
}

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

const languageCookie = "pk_lang"

// chooseLanguage remembers the language in a cookie of its own, so that it works before sign-in too.
func (u *UI) chooseLanguage(c echo.Context) error {
	lang := c.FormValue("lang")
	if lang != chinese {
		lang = english
	}
	c.SetCookie(u.languageCookie(lang))
	return c.Redirect(http.StatusSeeOther, localPath(c.FormValue("to")))
}

func (u *UI) languageCookie(lang string) *http.Cookie {
	cookie := &http.Cookie{ //nolint:gosec // a language is no secret, and plain http has to work
		Name: languageCookie, Value: lang, Path: "/", MaxAge: 365 * 24 * 3600,
		HttpOnly: true, Secure: u.cfg.Secure, SameSite: http.SameSiteLaxMode,
	}
	if len(u.cfg.FrameAncestors) > 0 {
		cookie.SameSite, cookie.Partitioned = http.SameSiteNoneMode, true
	}
	return cookie
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
