package clewtest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/clewdev/clew/internal/simagent"
)

// Any stands in an expected frame for a value that must be there and may be anything. As the id of
// a control request it is an id without a name: Any in a later answer of the agent stands for the
// oldest such request that has no answer yet.
const Any = "<any>"

// A Scenario describes the simulated agent's actions, step by step: which frames it expects of the
// host, which frames it sends, and how it ends. It is read from a dialogue file, see
// [ReadDialogue], or built:
//
//	s := new(clewtest.Scenario).Initialize().Prompt("Hi").Answer("Hello")
//
// [Scenario.Initialize], [Scenario.Prompt] and [Scenario.Answer] are the frames of an ordinary run.
// [Scenario.Expect] and [Scenario.Send] add any others. A frame is given as JSON text (a string or []byte), as a [wire.Message], or as any value that
// marshals to a JSON object. Anything else is an error, which the scenario keeps and [NewAgent]
// reports.
//
// # What fits
//
// An expected frame names what must be there: each of its members must be in the host's frame with
// the same value, at every depth. Other members don't matter, nor does the order of members. Lists
// must have the same length. A member that is null in the scenario may be missing, and the value
// [Any] fits every value. The content of a prompt may be a text or a list with one text block: they
// mean the same. In a text, *** stands for any text, since recordings have it in place of
// secrets. Frames come in the order of the scenario, except within
// [Scenario.ExpectAny]. A keep_alive frame that the scenario does not name is skipped.
//
// # Ids
//
// A host chooses its own ids, and they differ from the ids of a recorded dialogue. So these ids
// need not be the same:
//
//   - The request_id of a control request fits any string the first time, is remembered, and must
//     be the same from then on. The agent answers with it in place of the scenario's.
//   - The hookCallbackIds of initialize fit any strings, by position. The agent's hook_callback
//     requests carry them.
//   - The uuid of a frame fits any string and may be missing, and so do references to it in
//     rewind_files and cancel_async_message. Where the agent refers to the host's message
//     (user_message_uuid, user_message_uuids, command_uuid and the like, and the uuid of a replay),
//     it uses the host's, if there is one.
//   - The session_id of a frame fits any string and may be missing. The agent keeps its own.
//
// This holds only where the protocol has these ids. Elsewhere they are values like any other: a
// session_id in the input of a tool must equal the scenario's. A control response of the host must
// carry the id of the agent's own request as the scenario has it.
//
// # The end
//
// After its last step the agent waits for the end of its input and exits with 0. A frame that comes
// before that fails the test.
//
// The zero value has no steps and is ready to use. A Scenario must not be used by several
// goroutines at once. [NewAgent] copies it.
type Scenario struct {
	engine simagent.Scenario
	err    error // the first one
}

// Initialize adds the handshake that starts every session of an SDK: the agent waits for the request
// initialize, and accepts it. A host that only writes prompts to the agent, as a script does, sends
// none.
func (s *Scenario) Initialize() *Scenario {
	step, err := simagent.Expect(initializeRequest)
	s.add(step, err)
	step, err = simagent.Send(initializeResponse)
	return s.add(step, err)
}

const (
	initializeRequest  = `{"type":"control_request","request_id":"` + Any + `","request":{"subtype":"initialize"}}`
	initializeResponse = `{"type":"control_response","response":{"subtype":"success","request_id":"` + Any +
		`","response":{"commands":[],"agents":[],"models":[],"output_style":"default","available_output_styles":["default"],"account":{}}}}`
)

// Prompt adds a prompt that the agent waits for. The text may be [Any]. For a prompt with an image or
// a document, use [Scenario.Expect].
func (s *Scenario) Prompt(text string) *Scenario {
	step, err := simagent.Expect(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": text}})
	return s.add(step, err)
}

// Answer adds a turn of the agent that is only text: the message that starts it, the answer, and the
// result. The session has the ID "session".
func (s *Scenario) Answer(text string) *Scenario {
	for _, frame := range []map[string]any{
		{"type": "system", "subtype": "init", "cwd": "/", "model": "claude-test", "permissionMode": "default", "tools": []string{}},
		{"type": "assistant", "message": map[string]any{
			"id": "message", "type": "message", "role": "assistant", "model": "claude-test",
			"content": []any{map[string]any{"type": "text", "text": text}},
		}},
		{"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": text, "total_cost_usd": 0},
	} {
		frame["session_id"] = "session"
		step, err := simagent.Send(frame)
		s.add(step, err)
	}
	return s
}

// Expect adds a host frame that the agent waits for.
func (s *Scenario) Expect(frame any) *Scenario {
	step, err := simagent.Expect(frame)
	return s.add(step, err)
}

// ExpectAny adds host frames, at least one, that the agent waits for in any order. All of them must
// come before the next step. A frame that fits several of them counts for the frame that names the
// most values, and among equals for the first.
func (s *Scenario) ExpectAny(frames ...any) *Scenario {
	step, err := simagent.Expect(frames...)
	return s.add(step, err)
}

// Send adds frames that the agent writes, each as one line.
func (s *Scenario) Send(frames ...any) *Scenario {
	for _, frame := range frames {
		step, err := simagent.Send(frame)
		s.add(step, err)
	}
	return s
}

// Stderr adds text that the agent writes to its standard error. It is written as it is, without a
// line end after it.
func (s *Scenario) Stderr(text string) *Scenario { return s.add(simagent.Stderr(text), nil) }

// CloseStdin adds that the agent waits until the host closes its input. The agent does not end with
// its input here: [Scenario.Exit] usually comes next.
func (s *Scenario) CloseStdin() *Scenario { return s.add(simagent.CloseStdin(), nil) }

// Exit adds that the agent exits with code, from 0 to 255, whether or not its input ended.
func (s *Scenario) Exit(code int) *Scenario {
	step, err := simagent.Exit(code)
	return s.add(step, err)
}

// Do adds a fault, such as Do(clewtest.Hang()).
func (s *Scenario) Do(f Fault) *Scenario {
	err := f.err
	if err == nil && f.engine.IsZero() {
		err = errors.New("Do got the zero Fault")
	}
	return s.add(f.engine, err)
}

// Args returns the arguments that a recorded agent was started with, or nil. They are not compared
// with the host's: for these, see [Agent.Args].
func (s *Scenario) Args() []string { return slices.Clone(s.engine.Args) }

// String returns the scenario as a dialogue file, which [ReadDialogue] reads.
func (s *Scenario) String() string { return s.engine.String() }

// add appends a step, and names it by the line that called the caller of add. It keeps the first
// error instead.
func (s *Scenario) add(step simagent.Step, err error) *Scenario {
	if err != nil {
		s.err = cmp.Or(s.err, err)
		return s
	}
	source := "?"
	if _, file, line, ok := runtime.Caller(2); ok {
		source = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	s.engine.Add(step, source)
	return s
}

// ReadDialogue reads a dialogue file. It blocks on r, and returns the first error of r or of the
// text, with its line.
//
// A line that starts with "> " is a frame that the host is expected to send. A line that starts
// with "< " is what the agent sends, JSON or not. Lines that start with "#" are prose, except for
// these:
//
//	# args "--verbose" "--model" "opus"   the arguments of the recorded agent
//	# host closes stdin                   Scenario.CloseStdin
//	# exit 1                              Scenario.Exit
//	# stderr "a warning\n"                Scenario.Stderr
//	# in any order                        the host frames from here on come in any order,
//	# in order                            until here, or until the agent does something
//	# fault hang                          Scenario.Do, with the fault's name and arguments
//
// Strings are quoted as in Go or JSON. A line that only starts with such a word is prose: "# exit
// codes are below" ends nothing. But if the word is followed by a quoted string or by the name of a
// fault, the rest of the line must be right. Blank lines are skipped.
func ReadDialogue(r io.Reader) (*Scenario, error) {
	s, err := simagent.ReadDialogue(r, "line ")
	if err != nil {
		return nil, fmt.Errorf("clewtest: %w", err)
	}
	return &Scenario{engine: *s}, nil
}

// LoadDialogue reads the dialogue file at path. It ends the test if the file does not exist or is
// malformed.
func LoadDialogue(t testing.TB, path string) *Scenario {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatalf("clewtest: %v", err)
	}
	defer f.Close()
	s, err := simagent.ReadDialogue(f, filepath.Base(path)+":")
	if err != nil {
		t.Fatalf("clewtest: %s: %v", path, err)
	}
	return &Scenario{engine: *s}
}
