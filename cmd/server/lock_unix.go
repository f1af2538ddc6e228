//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ownAndClosed fails unless dir is a folder, no link, of this user and of nobody else's reach.
func ownAndClosed(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder of this user's alone", dir)
	}
	return nil
}

// lockDir keeps a second server from the same data folder: each has an in-process Redis of its own, and one would not
// see what the other saves. The lock ends with the process, however it ends.
func lockDir(dir string) (release func() error, err error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator's own folder
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another server runs on the data folder %s: stop it, or set PACEKEEPER_DATA_DIR", dir), file.Close())
	}
	return file.Close, nil
}
