package cli

import (
	"cmp"
	"time"

	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A transcriptRecord is a session in JSON.
type transcriptRecord struct {
	SessionID string          `json:"session_id"`
	AgentID   string          `json:"agent_id,omitempty"`
	Title     string          `json:"title"`
	Tag       string          `json:"tag,omitempty"`
	CWD       string          `json:"cwd"`
	GitBranch string          `json:"git_branch"`
	Version   string          `json:"version"`
	Model     string          `json:"model"`
	Created   time.Time       `json:"created,omitzero"`
	Modified  time.Time       `json:"modified,omitzero"`
	Chunks    []chunkRecord   `json:"chunks"`
	Branches  [][]chunkRecord `json:"branches,omitempty"`
	Unlinked  []agentRecord   `json:"unlinked_agents,omitempty"` // which no item is known to have started
}

// A chunkRecord is a prompt, an answer or a notice.
type chunkRecord struct {
	Turn        int          `json:"turn"`
	Type        string       `json:"type"`
	Time        time.Time    `json:"time,omitzero"`
	Text        string       `json:"text"`
	Model       string       `json:"model,omitempty"`
	StopReason  string       `json:"stop_reason,omitempty"`
	DurationMS  int64        `json:"duration_ms,omitempty"`
	Images      int          `json:"images,omitempty"`
	Stderr      string       `json:"stderr,omitempty"`
	IsError     bool         `json:"is_error,omitempty"`
	Interrupted bool         `json:"interrupted,omitempty"`
	Items       []itemRecord `json:"items,omitempty"`
}

// An itemRecord is a part of an answer.
type itemRecord struct {
	Type       string        `json:"type"`
	Time       time.Time     `json:"time,omitzero"`
	Text       string        `json:"text,omitempty"`
	Tool       string        `json:"tool,omitempty"`
	ToolID     string        `json:"tool_id,omitempty"`
	Input      wire.JSON     `json:"input,omitempty"`
	Result     string        `json:"result,omitempty"`
	HasResult  bool          `json:"has_result,omitempty"`
	IsError    bool          `json:"is_error,omitempty"`
	DurationMS int64         `json:"duration_ms,omitempty"`
	Agents     []agentRecord `json:"agents,omitempty"`
}

// An agentRecord is a subagent.
type agentRecord struct {
	ID          string        `json:"id"`
	Type        string        `json:"type"`
	Description string        `json:"description"`
	Chunks      []chunkRecord `json:"chunks"`
}

func newTranscriptRecord(
	t *transcript.Transcript, chunks []transcript.Chunk, turn int, branches bool,
) transcriptRecord {
	r := transcriptRecord{
		SessionID: t.SessionID, AgentID: t.AgentID, Title: cmp.Or(t.Title, t.AITitle, t.Recap), Tag: t.Tag,
		CWD: t.CWD, GitBranch: t.GitBranch, Version: t.Version, Model: t.Model,
		Created: t.Created, Modified: t.Modified, Chunks: chunkRecords(chunks, turn),
		Unlinked: agentRecords(t.Unlinked),
	}
	if branches {
		for i := range t.Branches {
			r.Branches = append(r.Branches, chunkRecords(t.Branches[i].Chunks, 1))
		}
	}
	return r
}

// chunkRecords returns records of chunks, the first of them in the turn.
func chunkRecords(chunks []transcript.Chunk, turn int) []chunkRecord {
	records := make([]chunkRecord, 0, len(chunks))
	for i := range chunks {
		if i > 0 && chunks[i].Type == transcript.UserChunk {
			turn++
		}
		records = append(records, newChunkRecord(&chunks[i], turn))
	}
	return records
}

func newChunkRecord(c *transcript.Chunk, turn int) chunkRecord {
	r := chunkRecord{
		Turn: turn, Type: c.Type.String(), Time: c.Timestamp, Text: c.Text, Model: c.Model, StopReason: c.StopReason,
		DurationMS: c.DurationMs, Images: c.Images, Stderr: c.Stderr, IsError: c.IsError, Interrupted: c.Interrupted,
	}
	for i := range c.Items {
		r.Items = append(r.Items, newItemRecord(&c.Items[i]))
	}
	return r
}

func newItemRecord(i *transcript.DisplayItem) itemRecord {
	r := itemRecord{
		Type: i.Type.String(), Time: i.Timestamp, Text: i.Text, Tool: i.ToolName, ToolID: i.ToolID, Input: i.ToolInput,
		Result: i.ToolResult, HasResult: i.HasResult, IsError: i.ToolError, DurationMS: i.DurationMs,
	}
	r.Agents = agentRecords(i.Agents)
	return r
}

func agentRecords(agents []*transcript.Agent) []agentRecord {
	var records []agentRecord
	for _, a := range agents {
		r := agentRecord{ID: a.ID, Type: a.Type(), Description: a.Description()}
		if a.Transcript != nil {
			r.Chunks = chunkRecords(a.Transcript.Chunks, 1)
		}
		records = append(records, r)
	}
	return records
}
