// Package api is the REST face: HTTP in, one call of the store, problem+json or JSON out. openapi.yaml is its source;
// openapi.gen.go is made of it.
package api

//go:generate go tool oapi-codegen -config oapi-codegen.yaml ../openapi.yaml
