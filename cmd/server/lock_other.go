//go:build !unix

package main

// lockDir does nothing where there is no flock.
func lockDir(string) (release func() error, err error) { return func() error { return nil }, nil }

// ownAndClosed holds: folders for temporary files are each user's own there.
func ownAndClosed(string) error { return nil }
