package policy

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"time"
)

// auditLine is a record as a line of an export. Bytes are hex, "" = none.
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
	Erased     []string        `json:"erased"`
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
		parts = append(parts, "who")
	}
	if r.What.Erased() {
		parts = append(parts, "what")
	}
	return parts
}

// At is the moment of a record as exports show it: RFC 3339, µs, UTC.
func (r AuditRecord) At() string { return time.UnixMicro(r.AtMicros).UTC().Format(auditTime) }

// JSON is the record as a line of an export, without the line's end.
func (r AuditRecord) JSON() []byte {
	line := auditLine{
		ID: r.ID, Seq: r.Seq, At: r.At(), Actor: r.Actor, Role: r.Role, Channel: r.Channel, Action: r.Action, Target: r.Target,
		Before: auditValue(r.Before), After: auditValue(r.After), Reason: r.Reason, RequestID: r.RequestID, Address: r.Address,
		Erased: r.Erased(), WhoSalt: hex.EncodeToString(r.Who.Salt), WhatSalt: hex.EncodeToString(r.What.Salt),
		WhoDigest: hex.EncodeToString(r.Who.Digest), WhatDigest: hex.EncodeToString(r.What.Digest),
		MAC: hex.EncodeToString(r.MAC), PrevHash: r.PrevHash, Hash: r.Hash,
	}
	if r.GroupID != "" {
		line.GroupID = &r.GroupID
	}
	return auditJSON(line)
}

// auditJSON prints what always marshals, with < and & as they are: stored values must keep their bytes.
func auditJSON(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// auditValue is stored JSON as it is, null for nothing. What is no JSON was tampered with; it is shown as a string.
func auditValue(kept string) json.RawMessage {
	if kept == "" {
		return json.RawMessage("null")
	}
	if !json.Valid([]byte(kept)) {
		return auditJSON(kept)
	}
	return json.RawMessage(kept)
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
		Address: l.Address, Who: AuditSeal{fromHex(l.WhoSalt), fromHex(l.WhoDigest)},
		What: AuditSeal{fromHex(l.WhatSalt), fromHex(l.WhatDigest)}, MAC: fromHex(l.MAC), PrevHash: l.PrevHash, Hash: l.Hash,
	}
	if l.GroupID != nil {
		r.GroupID = *l.GroupID
	}
	if !bytes.Equal(r.JSON(), line) {
		return AuditRecord{}, Errorf(CodeMalformed, "not an entry as exports have it: the line was edited")
	}
	return r, nil
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
	Footer footerBody `json:"footer"`
}

type footerBody struct {
	Count    int64  `json:"count"`
	Head     string `json:"head"`
	HeadMAC  string `json:"head_mac"`
	Filtered bool   `json:"filtered"`
}

// JSON is the footer as the last line of an export, without the line's end.
func (f AuditFooter) JSON() []byte {
	return auditJSON(footerLine{footerBody{f.Count, f.Head.String(), f.MAC, f.Filtered}})
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
