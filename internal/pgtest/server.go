// Package pgtest gives tests a database of their own: a private PostgreSQL, started once per test binary, of which each
// test gets a cloned, migrated database; or a SQLite file. A missing PostgreSQL fails the test, with the install line.
package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/pacekeeper/pacekeeper/migrations"
)

// Options of a server. The zero Options are what tests want: a unix socket, in memory where possible, without fsync.
type Options struct {
	Fsync bool // on disk, as in production: for benchmarks
	TCP   bool // listen on a loopback port instead of a unix socket: for other processes
	// Settings are more of Postgres' own, as name=value; they come last.
	Settings []string
}

// Server is a private PostgreSQL. Its methods are safe for concurrent use, but for Freeze, Thaw, Kill and Restart.
type Server struct {
	dir   string
	bin   string
	host  string
	port  int
	opts  Options
	guard *exec.Cmd
	alive io.Closer // our end of the guard's stdin: closing it ends the server and removes dir

	mu       sync.Mutex
	template string
	clones   int
}

const startTimeout = 20 * time.Second

// guardScript runs the server and ends it when our end of stdin closes, which even a kill -9 of the test does.
// $1 = directory to remove, the rest = the server's command.
const guardScript = `dir=$1; shift
"$@" </dev/null >>"$dir/log" 2>&1 &
cat >/dev/null
pid=$(head -1 "$dir/data/postmaster.pid" 2>/dev/null)
[ -n "$pid" ] && kill -CONT $(cat /proc/$pid/task/$pid/children 2>/dev/null) $pid 2>/dev/null
[ -n "$pid" ] && kill -QUIT $pid 2>/dev/null
wait
rm -rf "$dir"`

// Start runs a server of the test's own and ends it with the test.
func Start(tb testing.TB, opts Options) *Server {
	tb.Helper()
	s, err := start(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.stop)
	return s
}

func start(opts Options) (*Server, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	dir, err := makeDir(opts)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, host: dir, port: 5432, opts: opts}
	if opts.TCP {
		s.host = "127.0.0.1"
		s.port, err = freePort()
	}
	if err == nil {
		err = s.initdb()
	}
	if err == nil {
		err = s.launch()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// findBinaries prefers the newest of Debian's folders, then the PATH.
func findBinaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	best, newest := "", -1
	for _, f := range found {
		if v, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(f)))); err == nil && v > newest {
			best, newest = filepath.Dir(f), v
		}
	}
	if best != "" {
		return best, nil
	}
	if f, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(f), nil
	}
	return "", errors.New("PostgreSQL is missing: apt-get install -y --no-install-recommends postgresql")
}

// makeDir makes a 0700 directory of the server's user, in memory unless fsync is to mean something.
func makeDir(opts Options) (string, error) {
	parent := "/dev/shm"
	if info, err := os.Stat(parent); opts.Fsync || err != nil || !info.IsDir() {
		parent = os.TempDir()
	}
	dir, err := os.MkdirTemp(parent, "pgtest-")
	if err != nil {
		return "", err
	}
	if cred := serverUser(); cred != nil {
		return dir, os.Chown(dir, int(cred.Uid), int(cred.Gid))
	}
	return dir, nil
}

func freePort() (int, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.Join(errors.New("pgtest: not a TCP address"), l.Close())
	}
	return addr.Port, l.Close()
}

func (s *Server) initdb() error {
	cmd := s.command("initdb", "-D", filepath.Join(s.dir, "data"), "-U", "pacekeeper", "-A", "trust", "-E", "UTF8",
		"--locale=C.UTF-8", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w\n%s", err, out)
	}
	return nil
}

// launch starts the server under its guard and waits until it answers.
func (s *Server) launch() error {
	onOff := map[bool]string{true: "on", false: "off"}
	args := []string{
		"-c", guardScript, "sh", s.dir, filepath.Join(s.bin, "postgres"), "-D", filepath.Join(s.dir, "data"),
		"-c", "unix_socket_directories=" + s.dir, "-c", "port=" + strconv.Itoa(s.port),
		"-c", "fsync=" + onOff[s.opts.Fsync],
		"-c", "full_page_writes=" + onOff[s.opts.Fsync], "-c", "max_connections=300", "-c", "shared_buffers=128MB",
	}
	if s.opts.TCP {
		args = append(args, "-c", "listen_addresses=127.0.0.1")
	} else {
		args = append(args, "-c", "listen_addresses=")
	}
	for _, setting := range s.opts.Settings {
		args = append(args, "-c", setting)
	}
	cmd := s.command("/bin/sh", args...)
	alive, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.guard, s.alive = cmd, alive
	if err := s.await(); err != nil {
		return errors.Join(err, s.log(), alive.Close(), cmd.Wait())
	}
	return nil
}

// command runs a program of the server's folder (or an absolute one) as the server's user: Postgres refuses root.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.bin, name)
	}
	cmd := exec.CommandContext(context.Background(), name, args...) //nolint:gosec // our own arguments
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC"}
	if cred := serverUser(); cred != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	}
	return cmd
}

// await polls until the server answers.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("pgtest: the server does not answer: %w", err)
		case <-tick.C:
		}
	}
}

func (s *Server) log() error {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	return errors.New(string(text))
}

func (s *Server) stop() {
	_ = s.alive.Close()
	_ = s.guard.Wait()
}

// url is the address of one database of the server.
func (s *Server) url(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("pacekeeper"), Path: "/" + database}
	if s.opts.TCP {
		u.Host = net.JoinHostPort(s.host, strconv.Itoa(s.port))
	} else {
		u.RawQuery = url.Values{"host": {s.host}, "port": {strconv.Itoa(s.port)}}.Encode()
	}
	return u.String()
}

// Database makes a migrated database of the test's own and returns its URL. It is dropped with the test.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name, err := s.clone()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)") })
	return s.url(name)
}

// clone copies the template, which the first call makes. It is named by the hash of the migrations.
func (s *Server) clone() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.template == "" {
		if err := s.makeTemplate(); err != nil {
			return "", err
		}
	}
	s.clones++
	name := "test_" + strconv.Itoa(s.clones)
	return name, s.exec("CREATE DATABASE " + name + " TEMPLATE " + s.template + " STRATEGY file_copy")
}

func (s *Server) makeTemplate() error {
	hash, err := migrations.Hash(migrations.Postgres)
	if err != nil {
		return err
	}
	name := "template_" + hash
	if err := s.exec("CREATE DATABASE " + name); err != nil {
		return err
	}
	db, err := sql.Open("pgx", s.url(name))
	if err != nil {
		return err
	}
	if err := migrations.Up(context.Background(), db, migrations.Postgres); err != nil {
		return errors.Join(err, db.Close())
	}
	s.template = name
	return db.Close()
}

func (s *Server) exec(statement string) error {
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(context.Background(), statement)
	return errors.Join(err, db.Close())
}

var _ = stdlib.GetDefaultDriver // registers "pgx"

// serverUser is the user to run as when we are root; nil = ourselves.
func serverUser() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if cred := credential(name); cred != nil {
			return cred
		}
	}
	return nil
}

// credential reads /etc/passwd: os/user would need cgo for the same.
func credential(name string) *syscall.Credential {
	text, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return nil
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		f := strings.Split(line, ":")
		if len(f) < 4 || f[0] != name {
			continue
		}
		uid, err1 := strconv.ParseUint(f[2], 10, 32)
		gid, err2 := strconv.ParseUint(f[3], 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
}
