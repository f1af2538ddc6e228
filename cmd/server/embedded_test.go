package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A folder for temporary files is everybody's: what somebody else could have put there is not taken.
func TestWithoutHomeNoFolderOfOthersIsTaken(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	dir := filepath.Join(temp, fmt.Sprintf("pacekeeper-%d", os.Getuid()))
	nothing := func(string) string { return "" }
	for name, plant := range map[string]func() error{
		"open to others": func() error { return os.Mkdir(dir, 0o777) },
		"a link":         func() error { return os.Symlink(t.TempDir(), dir) },
		"a file":         func() error { return os.WriteFile(dir, nil, 0o600) },
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); name == "open to others" && err != nil { // whatever the umask
			t.Fatal(err)
		}
		if got, err := dataDir("", nothing); err == nil {
			t.Errorf("%s: took %s", name, got)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the first start makes it, the second finds it
		if got, err := dataDir("", nothing); err != nil || got != dir {
			t.Errorf("got %s, %v", got, err)
		}
	}
}
