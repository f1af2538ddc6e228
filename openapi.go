// Package pacekeeper holds the contract of the REST face, openapi.yaml, as the program serves it.
package pacekeeper

import _ "embed" // for OpenAPI

// OpenAPI is openapi.yaml, the source of the REST face. Do not modify.
//
//go:embed openapi.yaml
var OpenAPI []byte
