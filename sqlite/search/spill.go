package search

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A call is a tool call.
type call struct {
	Tool string `json:"tool"`
	Time int64  `json:"time,omitempty"` // in milliseconds
}

// A spillCall is a call whose result is in a spill, as the transcript describes it.
type spillCall struct {
	call
	Turn  int64  `json:"turn,omitempty"`
	Line  int64  `json:"line"` // of the result
	Agent string `json:"agent,omitempty"`
}

// called remembers a call until its result is found.
func (r *reader) called(p *passage, time int64) {
	if r.state.Calls == nil {
		r.state.Calls = map[string]call{}
	}
	if p.call != "" && len(r.state.Calls) < maxCalls {
		r.state.Calls[p.call] = call{p.tool, time}
	}
}

// answered returns the call of a result at a location, and notes if the result is in a spill.
func (r *reader) answered(e *transcript.Entry, p *passage, at *location) call {
	c := r.state.Calls[p.call]
	delete(r.state.Calls, p.call)
	name := spillOf(e, p)
	if name == "" {
		return c
	}
	if r.state.Spills == nil {
		r.state.Spills = map[string]spillCall{}
	}
	found := spillCall{call: c, Turn: at.turn, Line: at.line, Agent: at.agent}
	if found.Time == 0 {
		found.Time = at.time
	}
	r.state.Spills[name] = found
	return c
}

// spillOf returns the name of the spill that has a result, or "".
func spillOf(e *transcript.Entry, p *passage) string {
	item := transcript.DisplayItem{ToolResult: p.text}
	if bytes.Contains(e.ToolUseResult, []byte(`"persistedOutputPath"`)) {
		item.Structured = wire.JSON(e.ToolUseResult)
	}
	file, ok := transcript.SpillPath(&item)
	if !ok {
		return ""
	}
	return spillName(file)
}

// spillName returns the path of a spill in the directory of spills, with slashes. A path in a
// transcript may come from another machine.
func spillName(file string) string {
	file = strings.ReplaceAll(file, `\`, "/")
	if i := strings.LastIndex(file, spillFolder); i >= 0 {
		return file[i+len(spillFolder):]
	}
	return path.Base(file)
}

// spillFolder is the directory of spills in the directory of a session.
const spillFolder = "/tool-results/"

// A spillKey names a spill. Sessions of one ID in several projects have separate spills.
type spillKey struct{ project, session, name string }

// A spillOwner holds the facts about a spill from transcripts.
type spillOwner struct {
	spillCall
	file *sessions.File
	id   int64  // of the file in the index
	from *state // of the file, or nil if it must be looked up
}

// A spillTable has the calls of spills. The zero value is empty.
type spillTable struct {
	calls map[spillKey]*spillOwner
	mains map[spillKey]*spillOwner // the transcripts of sessions, without a call
}

// add adds the calls that a transcript has.
func (t *spillTable) add(owner *spillOwner, session string, calls map[string]spillCall) {
	if t.calls == nil {
		t.calls, t.mains = map[spillKey]*spillOwner{}, map[spillKey]*spillOwner{}
	}
	f := owner.file
	if f.AgentID == "" {
		t.mains[spillKey{f.Project, session, ""}] = owner
	}
	for name, c := range calls {
		key := spillKey{f.Project, session, name}
		if old := t.calls[key]; old == nil || owner.before(old) {
			linked := *owner
			linked.spillCall = c
			if f.AgentID != "" {
				linked.Agent = f.AgentID
			}
			t.calls[key] = &linked
		}
	}
}

// before reports whether a transcript decides about a spill that two transcripts name: the
// session's decides, or else the first.
func (o *spillOwner) before(other *spillOwner) bool {
	if a, b := o.file.AgentID == "", other.file.AgentID == ""; a != b {
		return a
	}
	return o.file.Path < other.file.Path
}

// of returns the call of a spill. If no transcript has it, the owner is the session's transcript
// and has no call, or nil if there is none either.
func (t *spillTable) of(f *sessions.File) *spillOwner {
	if o := t.calls[spillKey{f.Project, f.SessionID, spillName(f.Path)}]; o != nil {
		return o
	}
	return t.mains[spillKey{f.Project, f.SessionID, ""}]
}

// linked reports whether the call is known.
func (o *spillOwner) linked() bool { return o != nil && o.Line > 0 }

// locate gives a piece of a spill the time, the turn and the tool of its call.
func (o *spillOwner) locate(p *location) {
	if o.linked() {
		p.time, p.turn, p.tool, p.agent = o.Time, o.Turn, o.Tool, o.Agent
	}
}

// encodeSpills returns what the index stores about the spills of a transcript, or nil.
func encodeSpills(calls map[string]spillCall) ([]byte, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	return json.Marshal(calls)
}

func decodeSpills(data []byte) (map[string]spillCall, error) {
	var calls map[string]spillCall
	if len(data) > 0 && json.Unmarshal(data, &calls) != nil {
		return nil, errDamaged
	}
	return calls, nil
}
