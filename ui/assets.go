package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
)

//go:embed static
var staticFiles embed.FS

// asset is one file that pages load. Its name carries the hash of its content, so that browsers may keep it for good.
type asset struct {
	kind         string // Content-Type
	plain, small []byte // small is plain, gzipped; nil where that does not pay
}

// assets are all files, by their hashed names; names leads from the plain name to the hashed one. Read-only.
type assets struct {
	byName map[string]asset
	names  map[string]string
}

func loadAssets() (*assets, error) {
	a := &assets{byName: map[string]asset{}, names: map[string]string{}}
	err := fs.WalkDir(staticFiles, "static", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) == "" {
			return err
		}
		data, err := staticFiles.ReadFile(file)
		if err != nil {
			return err
		}
		a.add(path.Base(file), data)
		return nil
	})
	return a, err
}

func (a *assets) add(name string, data []byte) {
	sum, ext := sha256.Sum256(data), path.Ext(name)
	hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:4]) + ext
	a.names[name] = hashed
	a.byName[hashed] = asset{kind: mime.TypeByExtension(ext), plain: data, small: zipped(data)}
}

// zipped is the data, gzipped; nil where that is not smaller.
func zipped(data []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil
	}
	_, writeErr := w.Write(data)
	if err := w.Close(); err != nil || writeErr != nil || out.Len() >= len(data) {
		return nil
	}
	return out.Bytes()
}

// href is the address of a file by its plain name; "" for none.
func (a *assets) href(name string) string {
	if hashed, ok := a.names[name]; ok {
		return "/static/" + hashed
	}
	return ""
}

// serve answers GET /static/*.
func (a *assets) serve(c echo.Context) error {
	file, ok := a.byName[c.Param("*")]
	if !ok {
		return echo.ErrNotFound
	}
	header, body := c.Response().Header(), file.plain
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("Vary", "Accept-Encoding")
	if file.small != nil && strings.Contains(c.Request().Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		body = file.small
	}
	return c.Blob(http.StatusOK, file.kind, body)
}
