package policy

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// auditLine is a line of an export as it is read. Bytes are hex, "" = none.
type auditLine struct {
	ID         string          `json:"id"`
	Seq        int64           `json:"seq"`
	At         string          `json:"at"`
	Actor      string          `json:"actor"`
	Role       string          `json:"role"`
	Channel    string          `json:"channel"`
	Action     string          `json:"action"`
	Target     string          `json:"target"`
	GroupID    *string         `json:"group_id"`
	Before     json.RawMessage `json:"before"`
	After      json.RawMessage `json:"after"`
	Reason     string          `json:"reason"`
	RequestID  string          `json:"request_id"`
	Address    string          `json:"address"`
	WhoSalt    string          `json:"who_salt"`
	WhatSalt   string          `json:"what_salt"`
	WhoDigest  string          `json:"who_digest"`
	WhatDigest string          `json:"what_digest"`
	MAC        string          `json:"mac"`
	PrevHash   string          `json:"prev_hash"`
	Hash       string          `json:"hash"`
}

const auditTime = "2006-01-02T15:04:05.000000Z"

// Erased names the erased parts of a record: who, what.
func (r AuditRecord) Erased() []string {
	parts := []string{}
	if r.Who.Erased() {
		parts = append(parts, AuditWho)
	}
	if r.What.Erased() {
		parts = append(parts, AuditWhat)
	}
	return parts
}

// At is the moment of a record as exports show it: RFC 3339, µs, UTC.
func (r AuditRecord) At() string { return time.UnixMicro(r.AtMicros).UTC().Format(auditTime) }

// JSON is the record as a line of an export, without the line's end.
func (r AuditRecord) JSON() []byte {
	p := &printer{out: make([]byte, 0, 2*usualBytes+len(r.Before)+len(r.After))}
	p.open('{')
	p.textField("id", r.ID)
	p.key("seq")
	p.integer(r.Seq)
	for _, f := range [...][2]string{
		{"at", r.At()}, {"actor", r.Actor}, {"role", r.Role}, {"channel", r.Channel}, {"action", r.Action}, {"target", r.Target},
	} {
		p.textField(f[0], f[1])
	}
	p.key("group_id")
	if r.GroupID == "" {
		p.null()
	} else {
		p.str(r.GroupID)
	}
	p.kept("before", r.Before)
	p.kept("after", r.After)
	p.textField("reason", r.Reason)
	p.textField("request_id", r.RequestID)
	p.textField("address", r.Address)
	p.key("erased")
	p.strings(r.Erased())
	p.hexField("who_salt", r.Who.Salt)
	p.hexField("what_salt", r.What.Salt)
	p.textField("who_digest", r.Who.Proof())
	p.textField("what_digest", r.What.Proof())
	p.hexField("mac", r.MAC)
	p.textField("prev_hash", r.PrevHash)
	p.textField("hash", r.Hash)
	p.shut('}')
	return p.out
}

func (p *printer) textField(key, text string) {
	p.key(key)
	p.str(text)
}

func (p *printer) hexField(key string, b []byte) { p.textField(key, hex.EncodeToString(b)) }

// kept prints stored JSON byte by byte as it is, which its hash needs; null for nothing. What is no JSON of one line was
// tampered with; it is shown as a string.
func (p *printer) kept(key, stored string) {
	p.key(key)
	switch {
	case stored == "":
		p.null()
	case !json.Valid([]byte(stored)) || strings.ContainsAny(stored, "\r\n"):
		p.str(stored)
	default:
		p.separate()
		p.out = append(p.out, stored...)
	}
}

// ParseAuditRecord reads a line of an export. It takes only what JSON prints, byte by byte: CodeMalformed for the rest.
func ParseAuditRecord(line []byte) (AuditRecord, error) {
	var l auditLine
	if err := json.Unmarshal(line, &l); err != nil {
		return AuditRecord{}, Errorf(CodeMalformed, "not an entry as exports have it: %v", err)
	}
	at, err := time.Parse(auditTime, l.At)
	if err != nil {
		return AuditRecord{}, Errorf(CodeMalformed, "at is not a moment as exports have it")
	}
	r := AuditRecord{
		ID: l.ID, Seq: l.Seq, AtMicros: at.UnixMicro(), Actor: l.Actor, Role: l.Role, Channel: l.Channel, Action: l.Action,
		Target: l.Target, Before: keptValue(l.Before), After: keptValue(l.After), Reason: l.Reason, RequestID: l.RequestID,
		Address: l.Address, Who: parseSeal(l.WhoSalt, l.WhoDigest),
		What: parseSeal(l.WhatSalt, l.WhatDigest), MAC: fromHex(l.MAC), PrevHash: l.PrevHash, Hash: l.Hash,
	}
	if l.GroupID != nil {
		r.GroupID = *l.GroupID
	}
	if !bytes.Equal(r.JSON(), line) {
		return AuditRecord{}, Errorf(CodeMalformed, "not an entry as exports have it: the line was edited")
	}
	return r, nil
}

func parseSeal(salt, proof string) AuditSeal {
	digest, erasure, _ := strings.Cut(proof, ":")
	return AuditSeal{Salt: fromHex(salt), Digest: fromHex(digest), Erasure: erasure}
}

func keptValue(value json.RawMessage) string {
	if string(value) == "null" {
		return ""
	}
	return string(value)
}

// fromHex is nil for "" and for what is not hex: the round trip then tells.
func fromHex(text string) []byte {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) == 0 {
		return nil
	}
	return b
}

// AuditFooter ends an export.
type AuditFooter struct {
	Count    int64     // of entries in the export
	Head     AuditHead // of the log at its beginning
	MAC      string    // of the head, hex
	Filtered bool      // whether entries were left out by filters
}

type footerLine struct {
	Footer struct {
		Count    int64  `json:"count"`
		Head     string `json:"head"`
		HeadMAC  string `json:"head_mac"`
		Filtered bool   `json:"filtered"`
	} `json:"footer"`
}

// JSON is the footer as the last line of an export, without the line's end.
func (f AuditFooter) JSON() []byte {
	p := &printer{}
	p.open('{')
	p.key("footer")
	p.open('{')
	p.key("count")
	p.integer(f.Count)
	p.textField("head", f.Head.String())
	p.textField("head_mac", f.MAC)
	p.key("filtered")
	p.boolean(f.Filtered)
	p.shut('}')
	p.shut('}')
	return p.out
}

// ParseAuditFooter reads the last line of an export; ok is false for any other line.
func ParseAuditFooter(line []byte) (f AuditFooter, ok bool) {
	var l footerLine
	if json.Unmarshal(line, &l) != nil {
		return f, false
	}
	head, err := ParseAuditHead(l.Footer.Head)
	f = AuditFooter{Count: l.Footer.Count, Head: head, MAC: l.Footer.HeadMAC, Filtered: l.Footer.Filtered}
	return f, err == nil && bytes.Equal(f.JSON(), line)
}
