package api

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"

	"github.com/labstack/echo/v4"
)

// docsFiles is swagger-ui-dist 5.35.0 with a page of our own.
//
//go:embed docs
var docsFiles embed.FS

// docsPolicy lets the page load what this server serves, and nothing else.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func (a *API) mountDocs() {
	a.echo.GET("/docs", func(c echo.Context) error { return docsFile(c, "index.html") })
	a.echo.GET("/docs/:file", func(c echo.Context) error { return docsFile(c, c.Param("file")) })
}

func docsFile(c echo.Context, name string) error {
	data, err := docsFiles.ReadFile("docs/" + name)
	if err != nil || !fs.ValidPath(name) {
		return echo.ErrNotFound
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "text/plain; charset=utf-8"
	}
	header := c.Response().Header()
	header.Set("Content-Security-Policy", docsPolicy)
	header.Set("Referrer-Policy", "no-referrer")
	return c.Blob(http.StatusOK, kind, data)
}
