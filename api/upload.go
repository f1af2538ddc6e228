package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/config"
	"github.com/pacekeeper/pacekeeper/policy"
)

type uploadKey struct{}

// uploads hands the request itself to handlers that read files, which may be larger than other bodies and of two types.
func uploads(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), uploadKey{}, c)))
		return next(c)
	}
}

// yamlTypes are the media types of YAML (RFC 9512), and those from before there was one.
func yamlTypes() []string {
	return []string{"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}
}

// upload reads the file of a request, and gives it a name by its type.
func (a *API) upload(ctx context.Context) (name string, data []byte, err error) {
	c, found := ctx.Value(uploadKey{}).(echo.Context)
	if !found {
		return "", nil, errors.New("api: no request to read a file from")
	}
	r := c.Request()
	switch {
	case isType(r.Header, echo.MIMEApplicationJSON):
		name = "body.json"
	case slices.ContainsFunc(yamlTypes(), func(t string) bool { return isType(r.Header, t) }):
		name = "body.yaml"
	default:
		return "", nil, policy.Errorf(codeMediaType, "the content type must be application/yaml or application/json, in UTF-8 and not compressed")
	}
	data, err = io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, config.MaxBytes))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return "", nil, policy.Errorf(codeTooLarge, "the file must be at most %d bytes (20 MiB)", config.MaxBytes)
	}
	if err != nil {
		return "", nil, fmt.Errorf("%w", policy.Errorf(policy.CodeMalformed, "the body could not be read to its end"))
	}
	return name, data, nil
}
