package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

type auditCmd struct {
	Verify struct {
		File string `arg:"" help:"A JSONL export of the audit log, whole or filtered."`
	} `cmd:"" help:"Prove an export offline: recompute its chain, and with $$PACEKEEPER_AUDIT_KEY the signatures too."`
}

// verifyExport is the command `audit verify`: it needs neither database nor network. The error names the first bad place.
func verifyExport(s Settings, out io.Writer, path string) error {
	file, err := os.Open(path) //nolint:gosec // the path is what the operator asks to read
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	var key []byte
	if s.AuditKey != "" {
		if key, err = base64.StdEncoding.DecodeString(s.AuditKey); err != nil {
			return err
		}
	}
	footer, chain, err := checkExport(bufio.NewReaderSize(file, 1<<20), key)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(out, report(footer, chain))
	return err
}

// checkExport reads line by line and keeps one. The footer is the last line, so whether entries may be missing is known
// only then: gaps are let pass and counted.
func checkExport(in *bufio.Reader, key []byte) (footer policy.AuditFooter, chain *policy.AuditChain, err error) {
	chain = &policy.AuditChain{Key: key, Filtered: true}
	var last int64
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return footer, nil, fmt.Errorf("line %d: the export ends without its footer: it is not whole", n)
		}
		if err != nil {
			return footer, nil, err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		if f, ok := policy.ParseAuditFooter(line); ok {
			return f, chain, endExport(in, f, chain, last)
		}
		if n == 1 && isTable(line) {
			return footer, nil, errors.New("this is CSV, which is for people to read: export as jsonl, which can be verified")
		}
		r, err := policy.ParseAuditRecord(line)
		if err != nil {
			return footer, nil, fmt.Errorf("line %d: %w", n, err)
		}
		if bad := chain.Next(r); bad != nil {
			return footer, nil, fmt.Errorf("line %d: entry %d: %s", n, bad.Seq, bad.Why)
		}
		last = r.Seq
	}
}

// isTable says whether the first line is that of a table, as an export or a spreadsheet writes it.
func isTable(line []byte) bool {
	cells := bytes.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("\"\ufeff,;\t\r", r) })
	return slices.EqualFunc(policy.AuditColumns(), cells, func(name string, cell []byte) bool { return name == string(cell) })
}

// endExport holds the entries against the footer.
func endExport(in *bufio.Reader, f policy.AuditFooter, chain *policy.AuditChain, last int64) error {
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind the footer")
	}
	if f.Count != chain.Entries {
		return fmt.Errorf("the footer says %d entries, there are %d", f.Count, chain.Entries)
	}
	if last > f.Head.Seq {
		return fmt.Errorf("entry %d stands behind the head %s", last, f.Head)
	}
	chain.Filtered = f.Filtered
	if !f.Filtered && f.Count != f.Head.Seq {
		return fmt.Errorf("entries are missing: %d of %d, and no filter was used", f.Count, f.Head.Seq)
	}
	if bad := chain.End(f.Head, f.MAC); bad != nil {
		return fmt.Errorf("entry %d: %s", bad.Seq, bad.Why)
	}
	return nil
}

// report says what was found good, and what was not looked at.
func report(f policy.AuditFooter, chain *policy.AuditChain) string {
	text := fmt.Sprintf("ok: %d entries, of %d a part was erased, head %s\n", chain.Entries, chain.Erased, f.Head)
	if len(chain.ErasedSeqs) > 0 {
		text += fmt.Sprintf("erased: %s\n", numbers(chain.ErasedSeqs))
	}
	if chain.Key == nil {
		text += "not checked, needs PACEKEEPER_AUDIT_KEY: that a server signed the entries, the erasures and the head; whoever wrote this " +
			"file could have made it up\n"
	}
	if f.Filtered {
		text += "not checked, filters left entries out: that none is missing, and that the head is that of these entries\n"
	}
	return text + "not checked, needs a head that was kept elsewhere: that this is the newest state of the log\n"
}

// numbers lists the first numbers of entries.
func numbers(seqs []int64) string {
	const shown = 50
	texts := make([]string, 0, shown)
	for _, seq := range seqs[:min(len(seqs), shown)] {
		texts = append(texts, strconv.FormatInt(seq, 10))
	}
	if len(seqs) > shown {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}
