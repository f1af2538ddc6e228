package client

// The Go client of the REST API, generated from openapi.yaml:
//
//	c, err := client.NewClientWithResponses("http://127.0.0.1:8080", client.WithRequestEditorFn(bearer))
//
// For checks in the path of a message use package enforce, which asks Redis itself. typescript/pacekeeper.d.ts holds the
// same shapes for TypeScript.

//go:generate go tool oapi-codegen -config oapi-codegen.yaml ../openapi.yaml
