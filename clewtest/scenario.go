package clewtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/clewdev/clew/wire"
)

// Any stands in an expected frame for a value that must be there and may be anything. As the id of a control request it is
// an id without a name: Any in a later answer of the agent stands for the oldest such request without one.
const Any = "<any>"

// A Scenario is what the simulated agent does, step by step: which frames it expects of the host, which it sends, and
// how it ends. It is read from a dialogue file, see [ReadDialogue], or built:
//
//	s := new(clewtest.Scenario).
//		Expect(`{"type":"user","message":{"content":"Hi"}}`).
//		Send(`{"type":"result","subtype":"success","result":"Hello"}`)
//
// A frame is given as JSON text (a string or []byte), as a [wire.Message], or as any value that marshals to a JSON
// object. A frame that is none is kept as an error and fails the test in [NewAgent].
//
// # What fits
//
// An expected frame names what must be there: each of its members must be in the host's frame with the same value, at
// every depth, and other members don't matter, nor does their order. Lists must have the same length. A member that is
// null in the scenario may be missing, and the value [Any] fits every value. Frames come in the order of the scenario,
// except within [Scenario.ExpectAny]. A keep_alive frame that the scenario does not name is passed over.
//
// # Ids
//
// A host chooses ids of its own, and a recorded dialogue answers a host that counts differently:
//
//   - The request_id of a control request fits any string the first time, is remembered, and must be the same from then
//     on. The agent answers with it in place of the scenario's.
//   - The hookCallbackIds of initialize fit any strings, by position. The agent's hook_callback requests carry them.
//   - The uuid of a frame fits any string and may be missing, and so do references to it in rewind_files and
//     cancel_async_message. Where the agent refers to the host's message (user_message_uuid, user_message_uuids,
//     command_uuid and the like, and the uuid of a replay), it uses the host's, if there is one.
//   - The session_id of a frame fits any string and may be missing. The agent keeps its own.
//
// These are ids where the protocol has them, and values like any other elsewhere: a session_id in the input of a tool
// must be the one that the scenario names. A control response of the host must carry the id of the agent's own request
// as the scenario has it.
//
// # The end
//
// After its last step the agent waits for the end of its input and exits with 0. A frame that comes before that fits
// nothing.
//
// The zero value has no steps and is ready to use. A Scenario is for one goroutine at a time until it is given to
// [NewAgent], which copies it.
type Scenario struct {
	args   []string
	steps  []step
	places []string // where each step was written
	err    error
}

// A step is one thing that the agent does.
type step interface {
	// play does it. An error ends the scenario.
	play(p *player) error
	// appendLines writes it as lines of a dialogue file.
	appendLines(dst []byte) []byte
}

// Expect adds a host frame that the agent waits for.
func (s *Scenario) Expect(frame any) *Scenario {
	return s.expect(frame)
}

// ExpectAny adds host frames, at least one, that the agent waits for in any order. All of them must come before the next
// step. A frame that fits several counts for the one that names the most values, the first of them if there are several.
func (s *Scenario) ExpectAny(frames ...any) *Scenario {
	if len(frames) == 0 {
		s.keep(errors.New("ExpectAny without frames"))
	}
	return s.expect(frames...)
}

func (s *Scenario) expect(frames ...any) *Scenario {
	texts := s.frames(frames)
	e := &expectStep{}
	for _, text := range texts {
		w, err := newWanted(text)
		s.keep(err)
		e.wanted = append(e.wanted, w)
	}
	return s.add(e, 3)
}

// Send adds frames that the agent writes, each as one line.
func (s *Scenario) Send(frames ...any) *Scenario {
	for _, text := range s.frames(frames) {
		s.add(sendStep(text), 2)
	}
	return s
}

// Stderr adds text that the agent writes to its standard error, as it stands.
func (s *Scenario) Stderr(text string) *Scenario {
	return s.add(stderrStep(text), 2)
}

// CloseStdin adds that the agent waits until the host closes its input. It goes on living: [Scenario.Exit] comes next as a
// rule.
func (s *Scenario) CloseStdin() *Scenario {
	return s.add(closeStep{}, 2)
}

// Exit adds that the agent exits with code, from 0 to 255, whether or not its input has ended.
func (s *Scenario) Exit(code int) *Scenario {
	s.keep(checkExitCode(code))
	return s.add(exitStep(code), 2)
}

// Do adds a fault.
func (s *Scenario) Do(f Fault) *Scenario {
	s.keep(f.err)
	if f.name == "" {
		s.keep(errors.New("Do with the zero Fault"))
	}
	return s.add(f, 2)
}

// Args returns the arguments that a recorded agent was started with, or nil. They are not compared with those of the host:
// for these, see [Agent.Args].
func (s *Scenario) Args() []string {
	return slices.Clone(s.args)
}

// String returns the scenario as a dialogue file.
func (s *Scenario) String() string {
	var dst []byte
	if s.args != nil {
		dst = appendDirective(dst, "args", s.args...)
	}
	for _, st := range s.steps {
		dst = st.appendLines(dst)
	}
	return string(dst)
}

// add appends a step, with the place of the caller skip levels up.
func (s *Scenario) add(st step, skip int) *Scenario {
	place := "?"
	if _, file, line, ok := runtime.Caller(skip); ok {
		place = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	return s.addAt(st, place)
}

func (s *Scenario) addAt(st step, place string) *Scenario {
	s.steps = append(s.steps, st)
	s.places = append(s.places, place)
	return s
}

// keep remembers the first error.
func (s *Scenario) keep(err error) {
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("clewtest: %w", err)
	}
}

func (s *Scenario) frames(values []any) []string {
	var texts []string
	for _, v := range values {
		text, err := frameText(v)
		s.keep(err)
		texts = append(texts, text)
	}
	return texts
}

func (s *Scenario) clone() *Scenario {
	return &Scenario{args: slices.Clone(s.args), steps: slices.Clone(s.steps), places: slices.Clone(s.places), err: s.err}
}

// frameText returns the line of JSON that v stands for. Text that is on one line already stays as it is.
func frameText(v any) (string, error) {
	data, err := frameBytes(v)
	if err != nil {
		return "", fmt.Errorf("a frame of type %T: %w", v, err)
	}
	if data = bytes.TrimSpace(data); !json.Valid(data) || data[0] != '{' {
		return "", fmt.Errorf("a frame that is no JSON object: %s", shorten(string(data)))
	}
	if bytes.ContainsAny(data, "\r\n") {
		var line bytes.Buffer
		if err := json.Compact(&line, data); err != nil {
			return "", err
		}
		data = line.Bytes()
	}
	return string(data), nil
}

func frameBytes(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, errors.New("nil")
	case string:
		return []byte(v), nil
	case []byte:
		return v, nil
	case wire.Message:
		return wire.Append(nil, v)
	default:
		return marshal(v)
	}
}
