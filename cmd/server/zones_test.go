package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Without it a bare container would refuse every time zone but UTC.
func TestZonesAreEmbedded(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "\ntime/tzdata\n") {
		t.Error("the program does not hold the zone database")
	}
}
