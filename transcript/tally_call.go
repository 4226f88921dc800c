package transcript

import (
	"cmp"
	"time"
)

// A Call is one answer of the model, and what it used.
type Call struct {
	MessageID string
	RequestID string
	// UUID is that of the entry where MessageID is empty, and empty otherwise.
	UUID  string
	Model string
	// Time is that of the line: in a [Tally], of the last one that has the final count.
	Time  time.Time
	Usage Usage
	// Sidechain says that a subagent was answered.
	Sidechain bool
	// Forked says that the line may be a copy: it stands in a fork of another session, or tells the progress of a
	// subagent, whose own transcript has it, too.
	Forked bool

	SessionID string
	AgentID   string
	// Project is the name of the folder that the transcript lies in. A line does not tell.
	Project string

	// CostUSD is what the answer cost, where an older agent wrote that down.
	CostUSD float64
}

// synthetic is the model of messages that the agent has made up: nobody has called a model.
const synthetic = "<synthetic>"

// CallOf returns the answer that an entry counts for. It returns false if there is none: the entry is neither an
// assistant's nor the progress of a subagent, has no usage, or was made up by the agent.
func CallOf(e *Entry) (Call, bool) {
	switch e.Type {
	case "assistant":
		return callOfAnswer(e)
	case "progress":
		return callOfProgress(e)
	}
	return Call{}, false
}

func callOfAnswer(e *Entry) (Call, bool) {
	m := e.Message
	if m == nil || m.Usage == nil || m.Model == synthetic {
		return Call{}, false
	}
	c := Call{
		MessageID: m.ID, Model: m.Model, Usage: *m.Usage, RequestID: e.RequestID, Time: e.Timestamp,
		Sidechain: e.IsSidechain, Forked: e.Forked, SessionID: e.SessionID, AgentID: e.AgentID, CostUSD: e.CostUSD,
	}
	if m.ID == "" {
		c.UUID = e.UUID
	}
	return c, true
}

func callOfProgress(e *Entry) (Call, bool) {
	var d callScanner
	d.kind = e.Type
	d.call = Call{SessionID: e.SessionID, CostUSD: e.CostUSD}
	d.own = scannedEntry{agent: e.AgentID, time: e.Timestamp}
	if len(e.Data) > 0 {
		d.Reset(e.Data)
		d.progressMember()
	}
	return d.result()
}

// request returns the RequestID if it tells an answer from others, and "" if the call may be a copy of any.
func (c *Call) request() string {
	if c.Sidechain {
		return ""
	}
	return c.RequestID
}

// compareCopies returns less than 0 if a is the better copy of an answer. The order is total: two copies that are equal
// in it are the same.
func compareCopies(a, b *Call) int {
	return cmp.Or(
		compareBools(a.Sidechain, b.Sidechain),
		cmp.Compare(b.Usage.TotalTokens(), a.Usage.TotalTokens()),
		compareBools(b.Usage.Fast, a.Usage.Fast),
		compareBools(a.Forked, b.Forked),
		cmp.Compare(a.Project, b.Project),
		cmp.Compare(a.SessionID, b.SessionID),
		cmp.Compare(a.AgentID, b.AgentID),
		b.Time.Compare(a.Time),
		cmp.Compare(a.RequestID, b.RequestID),
		cmp.Compare(a.Model, b.Model),
		cmp.Compare(b.CostUSD, a.CostUSD),
		compareUsage(&a.Usage, &b.Usage),
	)
}

// compareUsage puts the one with more details first.
func compareUsage(a, b *Usage) int {
	return cmp.Or(
		cmp.Compare(b.OutputTokens, a.OutputTokens),
		cmp.Compare(b.InputTokens, a.InputTokens),
		cmp.Compare(b.CacheCreationTokens, a.CacheCreationTokens),
		cmp.Compare(b.CacheCreation5mTokens, a.CacheCreation5mTokens),
		cmp.Compare(b.CacheCreation1hTokens, a.CacheCreation1hTokens),
		cmp.Compare(b.ThinkingTokens, a.ThinkingTokens),
		cmp.Compare(b.WebSearches, a.WebSearches),
		cmp.Compare(b.WebFetches, a.WebFetches),
		compareBools(b.InferenceUS, a.InferenceUS),
		cmp.Compare(b.ServiceTier, a.ServiceTier),
	)
}

// compareBools puts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
