package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A Scenario is one dialogue: the answers of the model, the frames of the host, and the arguments
// of the agent.
type Scenario struct {
	// Name is the name of the dialogue file, without its ending.
	Name string
	// About says in one line what the dialogue shows, for readers of the list.
	About string

	// Args are the agent's arguments, after the arguments that every scenario has; see baseArgs.
	Args []string
	// Env is added to the environment of the agent.
	Env []string
	// Files are written into the work directory before the agent starts, by name.
	Files map[string]string

	// Model adds the rules of the model.
	Model func(*Stage)
	// Initialize holds the fields of the initialize request after its subtype. Empty means that
	// there are no hooks.
	Initialize string
	// Prompts are the host's prompts. It sends each one after the result of the previous one.
	Prompts []string
	// Play plays the host, if Prompts is not enough. It starts after the answer to the initialize
	// request. When it returns, the host closes the agent's input.
	Play func(*Host)

	// Tool, Hook and MCP return the JSON of the response to the agent's requests can_use_tool,
	// hook_callback and mcp_message. Without Tool the host allows everything, and without Hook it
	// answers {}.
	Tool func(*Question) string
	Hook func(*Question) string
	MCP  func(*Question) string

	// Own holds texts of the scenario that the agent repeats and that are not in a frame of the
	// host. They need not be redacted; see Redactor.Own.
	Own []string
}

// A Question is a request of the agent to its host.
type Question struct {
	ID      string    // of the control request
	Request wire.JSON // its body

	ToolName   string    `json:"tool_name"`
	ToolUseID  string    `json:"tool_use_id"`
	Input      wire.JSON `json:"input"`
	CallbackID string    `json:"callback_id"`
	ServerName string    `json:"server_name"`
	Message    *struct {
		ID     wire.JSON `json:"id"`
		Method string    `json:"method"`
	} `json:"message"`
}

// baseArgs make the agent read and write frames.
var baseArgs = []string{
	"--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--permission-prompt-tool", "stdio",
}

// Arguments that several scenarios have.
var (
	allowAll = []string{"--permission-mode", "bypassPermissions"}
	partial  = []string{"--include-partial-messages"}
)

// Scenarios returns all scenarios, sorted by name.
func Scenarios() []*Scenario {
	all := slices.Concat(textScenarios, turnScenarios, toolScenarios, outputScenarios, hostScenarios, hookScenarios,
		mcpScenarios, agentScenarios, errorScenarios)
	slices.SortFunc(all, func(a, b *Scenario) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// arguments returns all arguments of the agent.
func (s *Scenario) arguments() []string { return slices.Concat(baseArgs, s.Args) }

// A Coverage counts the tests with one version of the agent.
type Coverage struct {
	Version string
	// Played is the number of scenarios that the tests run against this version. Only the pinned
	// version has any.
	Played int
	// Dialogues is the number of recorded dialogues of this version that decode in full.
	Dialogues int
}

// Table returns the table of docs/compatibility.md, in Markdown.
func Table(list []Coverage) string {
	var b strings.Builder
	b.WriteString("| Claude Code | scenarios run against it in CI | recorded dialogues that decode in full |\n|---|---|---|\n")
	for _, c := range list {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", c.Version, c.Played, c.Dialogues)
	}
	return b.String()
}

// A Direction is the first character of a line of a dialogue.
type Direction byte

// The directions of a dialogue.
const (
	fromHost  Direction = '>'
	fromAgent Direction = '<'
	prose     Direction = '#'
)

// A Line is a frame, or a line of prose.
type Line struct {
	Direction Direction
	Text      string
}

// A Recording is a dialogue that was recorded, or read from a file.
type Recording struct {
	Lines []Line
}

func (r *Recording) add(d Direction, text string) { r.Lines = append(r.Lines, Line{d, text}) }

// header adds the lines before the first frame.
func (r *Recording) header(s *Scenario, version string) {
	r.add(prose, "CLI "+version+" (Claude Code)")
	args := "args"
	for _, arg := range s.arguments() {
		args += " " + strconv.Quote(arg)
	}
	r.add(prose, args)
}

// Frames returns the frames of one direction, in order.
func (r *Recording) Frames(d Direction) []string {
	var frames []string
	for _, line := range r.Lines {
		if line.Direction == d {
			frames = append(frames, line.Text)
		}
	}
	return frames
}

// String returns the text of the dialogue file.
func (r *Recording) String() string {
	var b strings.Builder
	for _, line := range r.Lines {
		fmt.Fprintf(&b, "%c %s\n", line.Direction, line.Text)
	}
	return b.String()
}

// Parse reads the text of a dialogue file. It skips lines that don't belong to a dialogue.
func Parse(text string) *Recording {
	r := new(Recording)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutPrefix(line[min(1, len(line)):], " "); ok && strings.ContainsRune("<>#", rune(line[0])) {
			r.add(Direction(line[0]), rest)
		}
	}
	return r
}

// A Shape is the part that all recordings of a scenario have in common: the labels of the frames of
// each direction, in order, and the exit code.
//
// It leaves out what depends on timing. Control requests are answered in any order, so their
// answers are separate. The number of some frames in a row is random: several deltas of a block,
// counts of thinking tokens, or reports of a task's progress in a row count as one.
type Shape struct {
	Host, Agent  []string
	HostAnswers  []string
	AgentAnswers []string
	Exit         string
}

// ShapeOf returns the shape of a recording.
func ShapeOf(r *Recording) Shape {
	var s Shape
	s.Host, s.HostAnswers = labels(r.Frames(fromHost))
	s.Agent, s.AgentAnswers = labels(r.Frames(fromAgent))
	for _, text := range r.Frames(prose) {
		if strings.HasPrefix(text, "exit ") {
			s.Exit = text
		}
	}
	return s
}

// repeated are the labels of frames whose number depends on timing.
var repeated = []string{"stream_event content_block_delta", "system/thinking_tokens", "system/task_progress"}

// labels returns the labels of frames in order, and separately the labels of control responses,
// sorted.
func labels(frames []string) (others, answers []string) {
	for _, frame := range frames {
		msg := wire.Decode([]byte(frame))
		text := label(msg)
		if _, ok := msg.(*wire.ControlResponseMessage); ok {
			answers = append(answers, text)
			continue
		}
		if n := len(others); n > 0 && others[n-1] == text && slices.Contains(repeated, text) {
			continue
		}
		others = append(others, text)
	}
	slices.Sort(answers)
	return others, answers
}

// label names a frame: by its kind, and by a field that distinguishes it from others of its kind.
func label(msg wire.Message) string {
	kind := msg.Kind().String()
	switch m := msg.(type) {
	case *wire.AssistantMessage:
		return kind + blockTypes(m.Content) + within(m.ParentToolUseID)
	case *wire.UserMessage:
		return kind + blockTypes(m.Content) + within(m.ParentToolUseID)
	case *wire.StreamEventMessage:
		return kind + " " + m.Event.EventType() + within(m.ParentToolUseID)
	case *wire.ControlRequestMessage:
		return kind + " " + m.Request.Subtype
	case *wire.ControlResponseMessage:
		return kind + " " + m.Response.Subtype
	case *wire.InvalidFrame:
		return fmt.Sprintf("%T", m)
	}
	return kind
}

// blockTypes returns the types of blocks, each after a space.
func blockTypes(content wire.Content) string {
	var b strings.Builder
	for _, block := range content {
		b.WriteString(" " + block.BlockType())
	}
	return b.String()
}

// within marks the frames of a subagent.
func within(parent string) string {
	if parent == "" {
		return ""
	}
	return " of a subagent"
}
