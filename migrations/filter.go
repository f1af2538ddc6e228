package migrations

import (
	"bytes"
	"io"
	"io/fs"
	"strings"
)

// filtered shows the folder's SQL as one dialect reads it.
type filtered struct {
	files   fs.FS
	dialect Dialect
}

// Open implements fs.FS. Folders pass as they are; SQL files are rewritten in memory.
func (f filtered) Open(name string) (fs.File, error) {
	file, err := f.files.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	defer func() { _ = file.Close() }()
	source, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	text := []byte(rewrite(string(source), f.dialect))
	return &memFile{Reader: bytes.NewReader(text), info: sized{info, int64(len(text))}}, nil
}

// rewrite keeps the "+only" blocks of the dialect and replaces the tokens.
func rewrite(source string, d Dialect) string {
	var out []string
	keep := true
	for line := range strings.SplitSeq(source, "\n") {
		if rest, ok := strings.CutPrefix(line, "-- +only "); ok {
			keep = strings.TrimSpace(rest) == string(d)
			continue
		}
		if strings.HasPrefix(line, "-- +end") {
			keep = true
			continue
		}
		if keep {
			out = append(out, line)
		}
	}
	return d.tokens().Replace(strings.Join(out, "\n"))
}

type memFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *memFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (*memFile) Close() error                 { return nil }

type sized struct {
	fs.FileInfo
	size int64
}

func (s sized) Size() int64 { return s.size }
