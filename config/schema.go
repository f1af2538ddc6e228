package config

import (
	"encoding/json"
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"
)

const (
	rootSchema = "PolicyConfig"
	refPrefix  = "#/components/schemas/"
)

// Schema is the JSON Schema (2020-12) of a file, for editors: the part of an OpenAPI 3.1 description that its schema
// PolicyConfig reaches. The same description makes the same bytes.
func Schema(openapi []byte) ([]byte, error) {
	var description struct {
		Components struct {
			Schemas map[string]any `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(openapi, &description); err != nil {
		return nil, err
	}
	x := extractor{from: description.Components.Schemas, defs: map[string]any{}}
	root, isSchema := x.from[rootSchema].(map[string]any)
	if !isSchema {
		return nil, errors.New("config: the description has no schema " + rootSchema)
	}
	schema, _ := x.copy(root).(map[string]any)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Pacekeeper: policy as config"
	schema["$defs"] = x.defs
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// extractor copies schemas, and those that they refer to into defs.
type extractor struct {
	from map[string]any
	defs map[string]any
}

func (x *extractor) copy(node any) any {
	switch node := node.(type) {
	case map[string]any:
		copied := make(map[string]any, len(node))
		for key, value := range node {
			name, isRef := strings.CutPrefix(asText(value), refPrefix)
			switch {
			case key == "$ref" && isRef:
				copied[key] = "#/$defs/" + name
				x.define(name)
			case strings.HasPrefix(key, "x-"):
			default:
				copied[key] = x.copy(value)
			}
		}
		return copied
	case []any:
		copied := make([]any, 0, len(node))
		for _, value := range node {
			copied = append(copied, x.copy(value))
		}
		return copied
	}
	return node
}

func (x *extractor) define(name string) {
	if _, known := x.defs[name]; known {
		return
	}
	x.defs[name] = nil // for schemas that refer to themselves
	x.defs[name] = x.copy(x.from[name])
}

func asText(value any) string {
	text, _ := value.(string)
	return text
}
