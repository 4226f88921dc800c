package transcript

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/clewdev/clew/usage"
)

// chunkFields are the fields of a chunk that are members of it in JSON.
type chunkFields Chunk

// A chunkJSON is a chunk in JSON.
type chunkJSON struct {
	*chunkFields
	Usage     *usageJSON `json:"usage,omitempty"`
	FirstLine int        `json:"first_line,omitempty"`
	LastLine  int        `json:"last_line,omitempty"`
}

// A usageJSON is the usage of an AI chunk in JSON.
type usageJSON struct {
	InputTokens         int `json:"input_tokens"`
	OutputTokens        int `json:"output_tokens"`
	CacheReadTokens     int `json:"cache_read_tokens"`
	CacheCreationTokens int `json:"cache_creation_tokens"`
}

// MarshalJSON returns the chunk as package export writes it. The usage has the four counts of
// [usage.Usage.TotalTokens]. Positions are left out, and of the lines all but the first and the
// last.
func (c Chunk) MarshalJSON() ([]byte, error) {
	v := chunkJSON{chunkFields: (*chunkFields)(&c)}
	if u := &c.Usage; u.TotalTokens() > 0 {
		v.Usage = &usageJSON{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens}
	}
	v.FirstLine, v.LastLine = c.LineRange()
	return plainJSON(&v)
}

// UnmarshalJSON reads a chunk as MarshalJSON returns it.
func (c *Chunk) UnmarshalJSON(data []byte) error {
	*c = Chunk{}
	v := chunkJSON{chunkFields: (*chunkFields)(c)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	if u := v.Usage; u != nil {
		c.Usage = usage.Usage{
			InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
			CacheReadTokens: u.CacheReadTokens, CacheCreationTokens: u.CacheCreationTokens,
		}
	}
	if v.FirstLine > 0 {
		c.Lines = append(c.Lines, v.FirstLine)
	}
	if v.LastLine > v.FirstLine {
		c.Lines = append(c.Lines, v.LastLine)
	}
	for i := range c.Items {
		item := &c.Items[i]
		item.Agents = slices.DeleteFunc(item.Agents, func(a *Agent) bool { return a == nil })
		if item.Type == ItemThinking {
			c.ThinkingCount++
		}
		if item.ToolID != "" && item.ToolName != "" {
			c.ToolCalls = append(c.ToolCalls, ToolCall{ID: item.ToolID, Name: item.ToolName})
		}
	}
	return nil
}

// An agentJSON is a subagent in JSON.
type agentJSON struct {
	ID          string    `json:"id"`
	Type        string    `json:"type"`
	Description string    `json:"description"`
	LinkedBy    LinkedBy  `json:"linked_by,omitempty"`
	Workflow    string    `json:"workflow,omitempty"`
	Cost        *Spending `json:"cost,omitempty"`
	Chunks      []Chunk   `json:"chunks"`
	Branches    []Branch  `json:"branches,omitempty"`
}

// MarshalJSON returns the agent as package export writes it: of its transcript, it has the chunks
// and the branches.
func (a Agent) MarshalJSON() ([]byte, error) {
	v := agentJSON{
		ID: a.ID, Type: a.Type(), Description: a.Description(), LinkedBy: a.LinkedBy, Workflow: a.Workflow, Cost: a.Cost,
		Chunks: []Chunk{},
	}
	if t := a.Transcript; t != nil {
		v.Chunks, v.Branches = append(v.Chunks, t.Chunks...), t.Branches
	}
	return plainJSON(&v)
}

// UnmarshalJSON reads an agent as MarshalJSON returns it. Turns without numbers are numbered.
func (a *Agent) UnmarshalJSON(data []byte) error {
	var v agentJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	Number(v.Chunks)
	for i := range v.Branches {
		Number(v.Branches[i].Chunks)
	}
	*a = Agent{
		ID: v.ID, Meta: AgentMeta{AgentType: v.Type, Description: v.Description}, LinkedBy: v.LinkedBy,
		Workflow: v.Workflow, Cost: v.Cost,
		Transcript: &Transcript{Chunks: v.Chunks, Branches: v.Branches, Info: Info{AgentID: v.ID}},
	}
	return nil
}

// plainJSON returns v as JSON, with <, > and & as they are: an encoder that escapes them does so in
// the result.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
