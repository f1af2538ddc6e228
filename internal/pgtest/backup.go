package pgtest

import (
	"bytes"
	"strconv"
	"testing"
)

// Dump makes a backup of a database of the server, by pg_dump.
func (s *Server) Dump(tb testing.TB, url string) []byte {
	tb.Helper()
	var dump, faults bytes.Buffer
	cmd := s.command("pg_dump", "--dbname", url)
	cmd.Stdout, cmd.Stderr = &dump, &faults
	if err := cmd.Run(); err != nil {
		tb.Fatalf("pg_dump: %v: %s", err, faults.String())
	}
	return dump.Bytes()
}

// Restore makes a database from a backup and returns its URL. It is dropped with the test.
func (s *Server) Restore(tb testing.TB, dump []byte) string {
	tb.Helper()
	s.mu.Lock()
	s.clones++
	name := "restored_" + strconv.Itoa(s.clones)
	s.mu.Unlock()
	if err := s.exec("CREATE DATABASE " + name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)") })
	cmd := s.command("psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", s.url(name))
	cmd.Stdin = bytes.NewReader(dump)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("psql: %v: %s", err, out)
	}
	return s.url(name)
}
