package export

import (
	"cmp"

	"github.com/clewdev/clew/transcript"
)

// Options say what a document has of a transcript. Nil and the zero value mean
// all of the conversation.
type Options struct {
	// Chunks are the part of the conversation to take, the first of them in the turn Turn. Nil means all.
	Chunks []transcript.Chunk
	Turn   int
	// Branches adds what rewinds have left behind.
	Branches bool
	// Images returns the pictures in the result of a call that has some. agent is the ID of the subagent that made the
	// call, or "". Nil means that there are none.
	Images func(agent string, item *transcript.DisplayItem) []Image
	// Output returns the whole output of a call whose result was too long for the conversation, or "". Nil means that
	// there is none.
	Output func(item *transcript.DisplayItem) string
}

// New returns the document of a transcript. They share their strings.
func New(t *transcript.Transcript, opts *Options) *Document {
	m := &maker{}
	if opts != nil {
		m.Options = *opts
	}
	if m.Chunks == nil {
		m.Chunks, m.Turn = t.Chunks, firstTurn(t.Chunks)
	}
	prices := transcript.DefaultPrices()
	m.agent = t.AgentID
	doc := &Document{
		Format: Format, SessionID: t.SessionID, AgentID: t.AgentID, Title: cmp.Or(t.Title, t.AITitle, t.Recap),
		Tag: t.Tag, CWD: t.CWD, GitBranch: t.GitBranch, Version: t.Version, Model: t.Model,
		Created: t.Created, Modified: t.Modified,
		Totals:     transcript.NewReport(t.Calls(), &transcript.ReportOptions{Prices: &prices}).Total,
		PricesDate: prices.Date,
		Chunks:     m.chunks(m.Chunks, m.Turn),
		Branches:   m.branches(t),
		Unlinked:   m.agents(t.Unlinked),
	}
	return doc
}

func firstTurn(chunks []transcript.Chunk) int {
	if len(chunks) > 0 && chunks[0].Type == transcript.UserChunk {
		return 1
	}
	return 0
}

// A maker makes a document. It is in the transcript of the agent.
type maker struct {
	Options
	agent string
}

// chunks returns chunks, the first of them in the turn.
func (m *maker) chunks(chunks []transcript.Chunk, turn int) []Chunk {
	made := make([]Chunk, 0, len(chunks))
	for i := range chunks {
		if i > 0 && chunks[i].Type == transcript.UserChunk {
			turn++
		}
		made = append(made, m.chunk(&chunks[i], turn))
	}
	return made
}

func (m *maker) chunk(c *transcript.Chunk, turn int) Chunk {
	made := Chunk{
		Turn: turn, Type: c.Type, Time: c.Timestamp, Text: c.Text, Model: c.Model, StopReason: c.StopReason,
		DurationMS: c.DurationMs, Usage: newUsage(&c.Usage), Images: c.Images, Documents: c.Documents, Queued: c.Queued,
		Stderr: c.Stderr, IsError: c.IsError, Interrupted: c.Interrupted, Injected: c.Injected,
	}
	for _, line := range c.Lines {
		made.LastLine = max(made.LastLine, line)
		if made.FirstLine == 0 || line < made.FirstLine {
			made.FirstLine = line
		}
	}
	if k := c.Compaction; k != nil {
		made.Compaction = &Compaction{k.Trigger, k.PreTokens, k.PostTokens, k.Duration.Milliseconds()}
	}
	for i := range c.Items {
		made.Items = append(made.Items, m.item(&c.Items[i]))
	}
	return made
}

func newUsage(u *transcript.Usage) *Usage {
	if u.TotalTokens() == 0 {
		return nil
	}
	return &Usage{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens}
}

func (m *maker) item(i *transcript.DisplayItem) Item {
	made := Item{
		Type: i.Type, Time: i.Timestamp, Text: i.Text, Tool: i.ToolName, ToolID: i.ToolID, Summary: i.ToolSummary,
		Input: i.ToolInput, Result: i.ToolResult, HasResult: i.HasResult, IsError: i.ToolError, Structured: i.Structured,
		Patch: i.Patch, Status: i.Status, ImageCount: i.ResultImages, Injected: i.Injected, DurationMS: i.DurationMs,
		Tokens: i.TokenCount, SubagentType: i.SubagentType, Description: i.SubagentDesc, AgentID: i.AgentID,
		Teammate: i.TeammateID, TeammateColor: i.TeammateColor, TeammateSummary: i.TeammateSummary,
		Agents: m.agents(i.Agents),
	}
	if i.ResultImages > 0 && m.Images != nil {
		made.Images = m.Images(m.agent, i)
	}
	if path, ok := transcript.SpillPath(i); ok {
		made.OutputPath = path
		if m.Output != nil {
			made.Output = m.Output(i)
		}
	}
	return made
}

func (m *maker) agents(agents []*transcript.Agent) []Agent {
	var made []Agent
	for _, a := range agents {
		made = append(made, m.subagent(a))
	}
	return made
}

func (m *maker) subagent(a *transcript.Agent) Agent {
	made := Agent{
		ID: a.ID, Type: a.Type(), Description: a.Description(), LinkedBy: string(a.LinkedBy), Workflow: a.Workflow,
		Chunks: []Chunk{},
	}
	if t := a.Transcript; t != nil {
		inside := &maker{Options: m.Options, agent: a.ID}
		made.Chunks = inside.chunks(t.Chunks, firstTurn(t.Chunks))
		made.Branches = inside.branches(t)
	}
	return made
}

func (m *maker) branches(t *transcript.Transcript) []Branch {
	if !m.Options.Branches {
		return nil
	}
	var made []Branch
	for i := range t.Branches {
		b := &t.Branches[i]
		made = append(made, Branch{FromLine: b.FromLine, Chunks: m.chunks(b.Chunks, firstTurn(b.Chunks))})
	}
	return made
}
