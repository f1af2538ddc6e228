//go:build !unix

package main

// lockDir does nothing where there is no flock.
func lockDir(string) (release func() error, err error) { return func() error { return nil }, nil }
