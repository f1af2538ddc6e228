package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pacekeeper/pacekeeper/config"
	"github.com/pacekeeper/pacekeeper/policy"
)

// fileFlags say which files of policy as config a command reads.
type fileFlags struct {
	Files []string `name:"file" short:"f" required:"" sep:"none" placeholder:"PATH" help:"A file (YAML or JSON), a folder (all .yaml, .yml and .json files in it, hidden ones left out) or - for standard input. Again for each; together they are one plan."`
}

// read reads all files, and tells the faults of all at once.
func (f fileFlags) read() (config.Files, error) {
	paths, err := f.paths()
	if err != nil {
		return nil, err
	}
	var files config.Files
	var faults []error
	size := 0
	for _, path := range paths {
		data, err := readFile(path)
		if err != nil {
			return nil, err
		}
		if size += len(data); size > config.MaxBytes && len(data) <= config.MaxBytes {
			return nil, fmt.Errorf("%s: with it the files have more than %d bytes (20 MiB) together", path, config.MaxBytes)
		}
		file, err := config.Read(path, data)
		files, faults = append(files, file), append(faults, err)
	}
	return files, errors.Join(faults...)
}

// paths are the files to read: those named, and those in the folders named, by name.
func (f fileFlags) paths() (paths []string, err error) {
	for _, path := range f.Files {
		info, err := os.Stat(path)
		switch {
		case path == "-":
			paths = append(paths, path)
		case err != nil:
			return nil, err
		case info.IsDir():
			inside, err := filesIn(path)
			if err != nil {
				return nil, err
			}
			paths = append(paths, inside...)
		default:
			paths = append(paths, path)
		}
	}
	return paths, nil
}

func filesIn(folder string) (paths []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(entry.Name(), ".") && path != folder
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return fs.SkipDir
		case hidden || entry.IsDir():
			return nil
		}
		switch strings.ToLower(filepath.Ext(path)) {
		case ".yaml", ".yml", ".json":
			paths = append(paths, path)
		}
		return nil
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: there is no .yaml, .yml or .json file in this folder", folder)
	}
	return paths, err
}

// readFile reads no more of a file than says that it is too large.
func readFile(path string) (data []byte, err error) {
	in := io.Reader(os.Stdin)
	if path != "-" {
		file, err := os.Open(path) //nolint:gosec // the path is what the operator asks to read
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	if data, err = io.ReadAll(io.LimitReader(in, config.MaxBytes+1)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

// stated is what was read.
type stated struct {
	files  config.Files
	config policy.Config
	err    error
}

// state reads the files and what they state together. It ends with ctx, even where a terminal or a pipe never does: what it
// leaves behind then ends with the program.
func (f fileFlags) state(ctx context.Context, allowed *policy.Bounds) (config.Files, policy.Config, error) {
	done := make(chan stated, 1)
	go func() { done <- f.stated(allowed) }()
	select {
	case <-ctx.Done():
		return nil, policy.Config{}, errors.New("interrupted while the files were read")
	case s := <-done:
		return s.files, s.config, s.err
	}
}

func (f fileFlags) stated(allowed *policy.Bounds) (s stated) {
	if s.files, s.err = f.read(); s.err == nil {
		s.config, s.err = s.files.Config(allowed)
	}
	return s
}
