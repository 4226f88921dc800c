package export

import (
	"time"

	"github.com/clewdev/clew/transcript"
)

// Transcript returns the transcript that the document was made of, as far as the
// document has it: without the calls of the model, so that its totals are those
// of the document, and without places in files.
func (d *Document) Transcript() *transcript.Transcript {
	return &transcript.Transcript{
		Chunks: restoreChunks(d.Chunks), Branches: restoreBranches(d.Branches), Unlinked: restoreAgents(d.Unlinked),
		Info: transcript.Info{
			SessionID: d.SessionID, AgentID: d.AgentID, Title: d.Title, Tag: d.Tag, CWD: d.CWD, GitBranch: d.GitBranch,
			Version: d.Version, Model: d.Model, Created: d.Created, Modified: d.Modified,
		},
	}
}

func restoreChunks(chunks []Chunk) []transcript.Chunk {
	restored := make([]transcript.Chunk, 0, len(chunks))
	for i := range chunks {
		restored = append(restored, chunks[i].restore())
	}
	return restored
}

func (c *Chunk) restore() transcript.Chunk {
	restored := transcript.Chunk{
		Type: c.Type, Timestamp: c.Time, Text: c.Text, Model: c.Model, StopReason: c.StopReason, DurationMs: c.DurationMS,
		Images: c.Images, Documents: c.Documents, Queued: c.Queued, Stderr: c.Stderr, IsError: c.IsError,
		Interrupted: c.Interrupted, Injected: c.Injected,
	}
	if c.FirstLine > 0 {
		restored.Lines = append(restored.Lines, c.FirstLine)
	}
	if c.LastLine > c.FirstLine {
		restored.Lines = append(restored.Lines, c.LastLine)
	}
	if u := c.Usage; u != nil {
		restored.Usage = transcript.Usage{
			InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
			CacheReadTokens: u.CacheReadTokens, CacheCreationTokens: u.CacheCreationTokens,
		}
	}
	if k := c.Compaction; k != nil {
		restored.Compaction = &transcript.Compaction{
			Trigger: k.Trigger, PreTokens: k.PreTokens, PostTokens: k.PostTokens,
			Duration: time.Duration(k.DurationMS) * time.Millisecond,
		}
	}
	for i := range c.Items {
		item := c.Items[i].restore()
		if restored.Items = append(restored.Items, item); item.Type == transcript.ItemThinking {
			restored.ThinkingCount++
		}
		if item.ToolID != "" && item.ToolName != "" {
			restored.ToolCalls = append(restored.ToolCalls, transcript.ToolCall{ID: item.ToolID, Name: item.ToolName})
		}
	}
	return restored
}

func (i *Item) restore() transcript.DisplayItem {
	return transcript.DisplayItem{
		Type: i.Type, Timestamp: i.Time, Text: i.Text, ToolName: i.Tool, ToolID: i.ToolID, ToolSummary: i.Summary,
		ToolInput: i.Input, ToolResult: i.Result, HasResult: i.HasResult, ToolError: i.IsError, Structured: i.Structured,
		Patch: i.Patch, Status: i.Status, SpillPath: i.OutputPath, ResultImages: i.ImageCount, Injected: i.Injected,
		DurationMs: i.DurationMS, TokenCount: i.Tokens, SubagentType: i.SubagentType, SubagentDesc: i.Description,
		AgentID: i.AgentID, TeammateID: i.Teammate, TeammateColor: i.TeammateColor, TeammateSummary: i.TeammateSummary,
		Agents: restoreAgents(i.Agents),
	}
}

func restoreAgents(agents []Agent) []*transcript.Agent {
	var restored []*transcript.Agent
	for i := range agents {
		a := &agents[i]
		restored = append(restored, &transcript.Agent{
			ID: a.ID, LinkedBy: transcript.LinkedBy(a.LinkedBy), Workflow: a.Workflow,
			Meta: transcript.AgentMeta{AgentType: a.Type, Description: a.Description},
			Transcript: &transcript.Transcript{
				Chunks: restoreChunks(a.Chunks), Branches: restoreBranches(a.Branches), Info: transcript.Info{AgentID: a.ID},
			},
		})
	}
	return restored
}

func restoreBranches(branches []Branch) []transcript.Branch {
	var restored []transcript.Branch
	for i := range branches {
		b := transcript.Branch{FromLine: branches[i].FromLine, Chunks: restoreChunks(branches[i].Chunks)}
		restored = append(restored, b)
	}
	return restored
}
