// Command vectors writes vectors.json: what the check script must answer, computed by the evaluator (policy.Decide), for
// clients in any language to be held against. `go generate ./examples/...` writes it anew.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

//go:generate go run . ../vectors.json

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: vectors FILE")
		os.Exit(2)
	}
	file, err := os.Create(os.Args[1]) //nolint:gosec // the file that the caller names
	if err == nil {
		err = write(file)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vectors:", err)
		os.Exit(1)
	}
}

// write writes one line for each policy and call, so that a change reads well in a diff.
func write(w io.Writer) error {
	var failed error
	line := func(value any, end string) {
		text, err := json.Marshal(value)
		if err != nil {
			failed = err
		}
		fmt.Fprintf(w, "%s%s\n", text, end)
	}
	list := func(name string, n int, at func(int) any, end string) {
		fmt.Fprintf(w, "%q: [\n", name)
		for i := range n {
			line(at(i), map[bool]string{true: ",", false: ""}[i < n-1])
		}
		fmt.Fprintf(w, "]%s\n", end)
	}
	v := compute()
	fmt.Fprintln(w, `{"about": "made by examples/vectors; policies are hashes to write, values in base64; calls in this order",`)
	list("policies", len(v.policies), func(i int) any { return v.policies[i] }, ",")
	list("exemptions", len(v.exemptions), func(i int) any { return v.exemptions[i] }, ",")
	list("calls", len(v.calls), func(i int) any { return v.calls[i] }, "")
	fmt.Fprintln(w, "}")
	return failed
}
