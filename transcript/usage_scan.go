package transcript

import (
	"fmt"
	"time"
)

// A CallDecoder reads of a line only what [CallOf] needs, many times as fast as the line can be decoded. The zero value
// is ready. It should be used for many lines: neighbours have much in common. It is for one goroutine at a time.
type CallDecoder struct{ scan callScanner }

// Decode returns what CallOf returns for the entry of the line. It returns an error if the line is not a JSON object.
func (d *CallDecoder) Decode(line []byte) (Call, bool, error) {
	s := &d.scan
	s.Reset(line)
	s.begin()
	for key, ok := s.FirstKey(); ok; key, ok = s.NextKey() {
		s.member(key)
	}
	s.End()
	if err := s.Err(); err != nil {
		return Call{}, false, fmt.Errorf("transcript: %w", err)
	}
	c, ok := s.result()
	return c, ok, nil
}

// EntryType returns the type of the entry that was decoded last.
func (d *CallDecoder) EntryType() string { return d.scan.kind }

// A callScanner is what is behind a CallDecoder. It has what was read of a line so far.
type callScanner struct {
	entryDecoder

	kind     string
	own      scannedEntry
	progress scannedEntry // of a subagent, in what tells its progress
	call     Call
}

// A scannedEntry is what is read of an entry.
type scannedEntry struct {
	agent   string
	request string
	uuid    []byte
	time    time.Time
	message Call // what the message tells
	used    bool // there is a usage
}

func (s *scannedEntry) reset() { *s = scannedEntry{uuid: s.uuid[:0]} }

// begin forgets the line before.
func (d *callScanner) begin() {
	d.kind, d.call = "", Call{}
	d.own.reset()
	d.progress.reset()
}

// result returns the call if there is one.
func (d *callScanner) result() (Call, bool) {
	c, e := d.call, &d.own
	switch d.kind {
	case "assistant":
		c.Time, c.RequestID, c.AgentID = e.time, e.request, e.agent
	case "progress":
		c.Time, c.AgentID = e.time, e.agent
		c.Sidechain, c.Forked = true, true
		e = &d.progress
		c.RequestID = e.request
		if !e.time.IsZero() {
			c.Time = e.time
		}
		if e.agent != "" {
			c.AgentID = e.agent
		}
	default:
		return Call{}, false
	}
	m := &e.message
	if !e.used || m.Model == synthetic {
		return Call{}, false
	}
	c.MessageID, c.Model, c.Usage = m.MessageID, m.Model, m.Usage
	if c.MessageID == "" {
		c.UUID = string(e.uuid)
	}
	return c, true
}

func (d *callScanner) member(key []byte) {
	switch string(key) {
	case "type":
		d.kind = d.word()
	case "sessionId":
		d.call.SessionID = d.word()
	case "isSidechain":
		d.call.Sidechain = d.flag()
	case "agentId":
		d.own.agent = d.word()
	case "data":
		d.progressMember()
	case "forkedFrom":
		d.call.Forked = d.object() || d.call.Forked
	case "sessionKind":
		d.call.Forked = d.word() == background || d.call.Forked
	case "costUSD":
		d.call.CostUSD = d.cost()
	default:
		d.entryMember(&d.own, key)
	}
}

// entryMember reads a member that entries inside of others have too.
func (d *callScanner) entryMember(e *scannedEntry, key []byte) {
	switch string(key) {
	case "uuid":
		e.uuid = append(e.uuid[:0], d.bytes()...)
	case "timestamp":
		e.time = parseTime(d.bytes())
	case "requestId":
		e.request = d.word()
	case "message":
		d.messageOf(e)
	default:
		d.Skip()
	}
}

func (d *callScanner) messageOf(e *scannedEntry) {
	e.message, e.used = Call{}, false
	if d.Peek() != '{' {
		d.Skip()
		return
	}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "id":
			e.message.MessageID = d.word()
		case "model":
			e.message.Model = d.word()
		case "usage":
			u := d.usageMember()
			if e.used = u != nil; e.used {
				e.message.Usage = *u
			}
		default:
			d.Skip()
		}
	}
}

// progressMember reads the data of an entry that tells what a subagent does. It may hold an entry of that subagent.
func (d *callScanner) progressMember() {
	d.progress.reset()
	if d.Peek() != '{' {
		d.Skip()
		return
	}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch {
		case string(key) == "agentId":
			d.progress.agent = d.word()
		case string(key) == "message" && d.Peek() == '{':
			d.innerEntry()
		default:
			d.Skip()
		}
	}
}

func (d *callScanner) innerEntry() {
	agent := d.progress.agent
	d.progress.reset()
	d.progress.agent = agent
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		d.entryMember(&d.progress, key)
	}
}
