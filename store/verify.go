package store

import (
	"cmp"
	"context"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// AuditVerdict says whether the audit log is what the servers wrote.
type AuditVerdict struct {
	OK       bool
	Entries  int64              // found good, all of them when OK
	Erased   int64              // of them, those of which a part was erased
	Erasures []int64            // their numbers, the first 1,000
	FirstBad *policy.AuditFault // nil when OK
	Head     policy.AuditHead   // as it stands
}

// VerifyAudit holds every entry against the chain, the chain against its head, the head against the key, against the
// furthest head that this process saw, and against expectHead (seq:hash; "" = none). It seals first, reads in pages, and
// keeps one of them. CodeMalformed for an expectHead that is none.
func (s *Store) VerifyAudit(ctx context.Context, expectHead string) (AuditVerdict, error) {
	chain := policy.AuditChain{Key: s.cfg.AuditKey}
	if expectHead != "" {
		expected, err := policy.ParseAuditHead(expectHead)
		if err != nil {
			return AuditVerdict{}, err
		}
		chain.Known = append(chain.Known, expected)
	}
	chain.Known = append(chain.Known, s.heads.get()) // before the log's head is read, which may move on
	x, err := s.ExportAudit(ctx, AuditQuery{})
	if err != nil {
		return AuditVerdict{}, err
	}
	x.proving = true
	bad, err := x.check(ctx, &chain)
	if err != nil {
		return AuditVerdict{}, err
	}
	if bad == nil {
		s.heads.saw(x.row.head())
	}
	return AuditVerdict{
		OK: bad == nil, Entries: chain.Entries, Erased: chain.Erased, Erasures: chain.ErasedSeqs, FirstBad: bad, Head: x.row.head(),
	}, nil
}

func (x *AuditExport) check(ctx context.Context, chain *policy.AuditChain) (*policy.AuditFault, error) {
	if x.row.Low < 1 {
		return &policy.AuditFault{Seq: x.row.Low, Why: "an entry stands before the first: put in"}, nil
	}
	for !x.Done() {
		read, err := x.next(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range read.page {
			if bad := cmp.Or(chain.Next(r), x.checkChanged(r, read.noted)); bad != nil {
				return bad, nil
			}
		}
	}
	if bad := chain.End(x.row.head(), x.row.HMAC); bad != nil {
		return bad, nil
	}
	if x.row.Top > x.row.Seq {
		return &policy.AuditFault{Seq: x.row.Seq + 1, Why: "entries stand behind the head: put in, or an old head put back"}, nil
	}
	return nil, nil
}

// checkChanged holds what filters go by against what the entry says.
func (x *AuditExport) checkChanged(r policy.AuditRecord, noted map[fieldBlock]struct{}) *policy.AuditFault {
	if r.Changed != underived && r.Changed != r.DeriveChanged() {
		return &policy.AuditFault{Seq: r.Seq, Why: "the list of changed fields is not what the entry says: altered"}
	}
	if r.Seq > x.row.Indexed {
		return nil
	}
	for field := range strings.FieldsSeq(r.Changed) {
		if _, ok := noted[fieldBlock{field, r.Seq / changeBlock}]; !ok {
			return &policy.AuditFault{Seq: r.Seq, Why: "the table of changed fields lacks what the entry says: a row was deleted"}
		}
	}
	return nil
}
