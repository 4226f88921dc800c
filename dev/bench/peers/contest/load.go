package contest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
)

// LoadVariable is the environment variable with the load of the simulated agent, as [Load.String]
// writes it.
const LoadVariable = "PEERS_LOAD"

// The kinds of load.
const (
	Events = "events" // stream events of 190 bytes, each with a few characters of text
	Prose  = "prose"  // tool results with 900 KB of text in long lines
	Code   = "code"   // tool results with 900 KB of code, with an escape in every six bytes
	Answer = "answer" // one assistant message
)

// A Load is the output of the simulated agent between the start of a turn and its result: so many
// frames of a kind.
type Load struct {
	Kind  string
	Count int
}

// ParseLoad reads what [Load.String] writes.
func ParseLoad(text string) (Load, error) {
	kind, number, _ := strings.Cut(text, " ")
	count, err := strconv.Atoi(number)
	if err != nil || count < 1 || templates[kind] == nil {
		return Load{}, fmt.Errorf("contest: %q is not a load", text)
	}
	return Load{kind, count}, nil
}

func (l Load) String() string { return fmt.Sprintf("%s %d", l.Kind, l.Count) }

// FrameBytes is the size of each frame, line end included.
func (l Load) FrameBytes() int { return len(templates[l.Kind]()) }

// TextBytes is the size of the text in each frame.
func (l Load) TextBytes() int {
	switch l.Kind {
	case Events:
		return len(eventText)
	case Prose:
		return len(prose())
	case Code:
		return len(code())
	}
	return len(answerText)
}

// Frames are the frames of a load, made before they are needed.
type Frames struct {
	count int
	size  int    // of each frame
	id    int    // the offset of the id in a frame
	batch []byte // as many frames as are written at once
}

// Frames makes the frames of l.
func (l Load) Frames() *Frames {
	const batchBytes = 1 << 20
	frame := templates[l.Kind]()
	return &Frames{
		count: l.Count,
		size:  len(frame),
		id:    bytes.Index(frame, []byte(noID)),
		batch: bytes.Repeat(frame, min(l.Count, max(1, batchBytes/len(frame)))),
	}
}

// Write writes all frames as fast as w takes them. Each has its own ID, and all have the same
// length.
func (f *Frames) Write(w io.Writer) error {
	for written := 0; written < f.count; {
		n := min(f.count-written, len(f.batch)/f.size)
		for i := range n {
			number(f.batch[i*f.size+f.id:], written+i)
		}
		if _, err := w.Write(f.batch[:n*f.size]); err != nil {
			return err
		}
		written += n
	}
	return nil
}

// noID is the place of an id in a template.
const noID = "########"

// number overwrites the placeholder at the start of dst with the digits of n.
func number(dst []byte, n int) {
	for i := len(noID) - 1; i >= 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
}

// Session is the id of the session that this process plays: each process has its own.
func Session() string { return fmt.Sprintf("%07d", os.Getpid()) }

const (
	eventText  = "some words "
	answerText = "Hello."
)

// templates make one frame of each kind, with its line end.
var templates = map[string]func() []byte{
	Events: func() []byte {
		return fmt.Appendf(nil, `{"type":"stream_event","event":{"type":"content_block_delta","index":0,`+
			`"delta":{"type":"text_delta","text":%q}},"session_id":%q,"parent_tool_use_id":null,"uuid":%q}`+"\n",
			eventText, Session(), noID)
	},
	Prose: func() []byte { return result(prose()) },
	Code:  func() []byte { return result(code()) },
	Answer: func() []byte {
		return fmt.Appendf(nil, `{"type":"assistant","message":{"id":"msg_peers","type":"message","role":"assistant",`+
			`"model":"claude-simulated","content":[{"type":"text","text":%q}],"stop_reason":null,"stop_sequence":null,`+
			`"usage":{"input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":%q,"uuid":%q}`+"\n",
			answerText, Session(), noID)
	},
}

// result returns a tool result with its line end.
func result(text string) []byte {
	return fmt.Appendf(nil, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_peers",`+
		`"type":"tool_result","content":%s}]},"parent_tool_use_id":null,"session_id":%q,"uuid":%q}`+"\n",
		quoted(text), Session(), noID)
}

// prose and code return files with line numbers, as the agent reads them: 900 KB as JSON.
var (
	prose = sync.OnceValue(func() string {
		return listing(func(line int) string {
			return fmt.Sprintf("In line %d somebody explains at some length how the parts of a program fit together, and why.", line)
		})
	})
	code = sync.OnceValue(func() string {
		return listing(func(line int) string { return fmt.Sprintf("\t\t\tm[\"n%d\"] += count(values, \"k\")", line) })
	})
)

// listing returns lines with their numbers.
func listing(text func(line int) string) string {
	const bytesAsJSON = 900_000
	var b strings.Builder
	for line, size := 1, 0; size < bytesAsJSON; line++ {
		numbered := fmt.Sprintf("%6d\t%s\n", line, text(line))
		b.WriteString(numbered)
		size += len(quoted(numbered)) - len(`""`)
	}
	return b.String()
}

func quoted(text string) []byte {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always marshals
	}
	return data
}
