package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pacekeeper/pacekeeper"
	"github.com/pacekeeper/pacekeeper/policy"
)

// mountService mounts what stands outside /v1 and needs no token.
func (a *API) mountService() {
	metrics := promhttp.HandlerFor(a.cfg.Registry, promhttp.HandlerOpts{})
	a.echo.GET("/livez", func(c echo.Context) error { return c.JSON(http.StatusOK, Health{Status: "ok"}) })
	a.echo.GET("/readyz", a.readyz)
	a.echo.GET("/metrics", echo.WrapHandler(metrics))
	a.echo.GET("/openapi.yaml", func(c echo.Context) error {
		return c.Blob(http.StatusOK, "application/yaml", pacekeeper.OpenAPI)
	})
	a.echo.GET("/schema/policy-config.json", a.policyConfigSchema)
	a.mountDocs()
}

// policyConfigSchema serves the schema of files, which anyone's editor may ask for.
func (a *API) policyConfigSchema(c echo.Context) error {
	schema, err := a.schema()
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "application/schema+json", schema)
}

// readyz says whether traffic may come here.
func (a *API) readyz(c echo.Context) error {
	if a.cfg.Ready != nil {
		if err := a.cfg.Ready(c.Request().Context()); err != nil {
			return notReady(err)
		}
	}
	return c.JSON(http.StatusOK, Health{Status: "ok"})
}

// notReady makes every reason a 503; its words are shown only if they are meant to be.
func notReady(err error) error {
	if hasCode(err, policy.CodeUnavailable) {
		return err
	}
	return &unreadyError{public: policy.Errorf(policy.CodeUnavailable, "not ready"), cause: err}
}

// unreadyError shows "not ready" and logs the cause.
type unreadyError struct {
	public *policy.Error
	cause  error
}

// Error names both.
func (e *unreadyError) Error() string { return e.public.Error() + ": " + e.cause.Error() }

// Unwrap leads to both.
func (e *unreadyError) Unwrap() []error { return []error{e.public, e.cause} }
