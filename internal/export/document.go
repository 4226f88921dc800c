package export

import (
	"time"

	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// Format is the first member of a document in JSON. The number changes with a
// change that older readers would misunderstand.
const Format = "clew-session/1"

// A Document is a session, or a part of one, as it is exported. Its JSON form is
// what "clew export --format json" writes and [Read] reads. Members that are
// empty may be left out, and readers pass over those that they don't know.
type Document struct {
	Format    string    `json:"format"`
	SessionID string    `json:"session_id"`
	AgentID   string    `json:"agent_id,omitempty"` // of a document about a subagent
	Title     string    `json:"title"`
	Tag       string    `json:"tag,omitempty"`
	CWD       string    `json:"cwd"`
	GitBranch string    `json:"git_branch"`
	Version   string    `json:"version"` // of the agent
	Model     string    `json:"model"`   // the last one that has answered
	Created   time.Time `json:"created,omitzero"`
	Modified  time.Time `json:"modified,omitzero"`
	// Totals are what the whole session has used and what that cost, subagents included. They are those of
	// [transcript.Totals].
	Totals transcript.Totals `json:"totals"`
	// PricesDate is the day of the prices that the cost was computed with.
	PricesDate string `json:"prices_date,omitempty"`
	// Redacted counts what was taken out, by rule. Nil means that nobody has looked.
	Redacted map[string]int `json:"redacted,omitempty"`
	Chunks   []Chunk        `json:"chunks"`
	// Branches are what rewinds have left behind.
	Branches []Branch `json:"branches,omitempty"`
	// Unlinked are the subagents that no item is known to have started.
	Unlinked []Agent `json:"unlinked_agents,omitempty"`
}

// A Chunk is a prompt, an answer, a notice or a compaction.
type Chunk struct {
	// Turn is the number of the prompt that the chunk belongs to, 0 before the first one.
	Turn int `json:"turn"`
	// Type is user, ai, system or compact.
	Type transcript.ChunkType `json:"type"`
	Time time.Time            `json:"time,omitzero"`
	// Text is what the user wrote, what the agent answered, what a command printed, or the summary of a compaction.
	Text       string `json:"text"`
	Model      string `json:"model,omitempty"`
	StopReason string `json:"stop_reason,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	// Usage is that of the last call of the model: it tells how full the context was.
	Usage       *Usage      `json:"usage,omitempty"`
	Images      int         `json:"images,omitempty"`
	Documents   int         `json:"documents,omitempty"`
	Queued      bool        `json:"queued,omitempty"`
	Stderr      string      `json:"stderr,omitempty"`
	IsError     bool        `json:"is_error,omitempty"`
	Interrupted bool        `json:"interrupted,omitempty"`
	Compaction  *Compaction `json:"compaction,omitempty"`
	Items       []Item      `json:"items,omitempty"`
	// Injected are texts that the agent put into the conversation for the model.
	Injected []string `json:"injected,omitempty"`
	// FirstLine and LastLine are where the chunk stands in the transcript.
	FirstLine int `json:"first_line,omitempty"`
	LastLine  int `json:"last_line,omitempty"`
}

// Usage counts the tokens of one call of the model.
type Usage struct {
	InputTokens         int `json:"input_tokens"`
	OutputTokens        int `json:"output_tokens"`
	CacheReadTokens     int `json:"cache_read_tokens"`
	CacheCreationTokens int `json:"cache_creation_tokens"`
}

// A Compaction tells how the context was made smaller.
type Compaction struct {
	Trigger    string `json:"trigger"`
	PreTokens  int    `json:"pre_tokens"`
	PostTokens int    `json:"post_tokens"`
	DurationMS int64  `json:"duration_ms,omitempty"`
}

// An Item is a part of an answer.
type Item struct {
	// Type is thinking, output, tool, subagent or teammate.
	Type transcript.DisplayItemType `json:"type"`
	Time time.Time                  `json:"time,omitzero"`
	Text string                     `json:"text,omitempty"`

	Tool    string    `json:"tool,omitempty"`
	ToolID  string    `json:"tool_id,omitempty"`
	Summary string    `json:"summary,omitempty"`
	Input   wire.JSON `json:"input,omitempty"`
	// Result is the text that the model was given.
	Result    string `json:"result,omitempty"`
	HasResult bool   `json:"has_result,omitempty"`
	IsError   bool   `json:"is_error,omitempty"`
	// Structured is what else the agent knows of the result, unless that is long, and Patch what changed in a file.
	Structured wire.JSON `json:"structured,omitempty"`
	Patch      wire.JSON `json:"patch,omitempty"`
	Status     string    `json:"status,omitempty"`
	// Output is the whole output, where the model was given only a part of it, and OutputPath the file that had it.
	Output     string `json:"output,omitempty"`
	OutputPath string `json:"output_path,omitempty"`
	// Images are the pictures in the result, and ImageCount how many there were: those that are too large or of another
	// type are left out.
	Images     []Image  `json:"images,omitempty"`
	ImageCount int      `json:"image_count,omitempty"`
	Injected   []string `json:"injected,omitempty"`
	DurationMS int64    `json:"duration_ms,omitempty"`
	Tokens     int      `json:"tokens,omitempty"` // an estimate

	// SubagentType and Description are those of the subagent that was asked for, and Agents the subagents that came.
	SubagentType string  `json:"subagent_type,omitempty"`
	Description  string  `json:"description,omitempty"`
	AgentID      string  `json:"agent_id,omitempty"`
	Agents       []Agent `json:"agents,omitempty"`

	Teammate        string `json:"teammate,omitempty"`
	TeammateColor   string `json:"teammate_color,omitempty"`
	TeammateSummary string `json:"teammate_summary,omitempty"`
}

// An Image is a picture.
type Image struct {
	// MediaType is image/png, image/jpeg, image/gif or image/webp.
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64 in JSON
}

// An Agent is a subagent.
type Agent struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Description string `json:"description"`
	// LinkedBy says how its call was found: see [transcript.LinkedBy].
	LinkedBy string   `json:"linked_by,omitempty"`
	Workflow string   `json:"workflow,omitempty"`
	Chunks   []Chunk  `json:"chunks"`
	Branches []Branch `json:"branches,omitempty"`
}

// A Branch is a part of the conversation that was left behind.
type Branch struct {
	// FromLine is the line of the transcript that it hangs on, or 0.
	FromLine int     `json:"from_line"`
	Chunks   []Chunk `json:"chunks"`
}
