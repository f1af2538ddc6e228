// Package client is the Go client of the REST API, generated from openapi.yaml. For checks in the path of a message use
// package enforce, which asks Redis itself.
//
//	c, err := client.NewClientWithResponses("http://127.0.0.1:8080", client.WithRequestEditorFn(bearer))
//
// typescript/pacekeeper.d.ts holds the same shapes for TypeScript.
package client

//go:generate go tool oapi-codegen -config oapi-codegen.yaml ../openapi.yaml
