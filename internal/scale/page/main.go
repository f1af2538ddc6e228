// Command page writes docs/scale.md and its chart into the folder that it is given.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pacekeeper/pacekeeper/internal/scale"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/scale/page FOLDER")
		return 2
	}
	for name, text := range map[string]string{"scale.md": scale.Page(), "scale-skew.svg": scale.Chart(scale.Skews())} {
		if err := os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil { //nolint:gosec // a page for all
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}
