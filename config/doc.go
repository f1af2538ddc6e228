// Package config reads and writes the files of policy as config: YAML or JSON, one shape, one grammar. YAML becomes JSON
// with a note of where each value stood, and policy's own parser reads that; so whatever is wrong is named with file, line
// and column, and YAML cannot say what JSON cannot. Values in, values out: no file is opened here.
package config
