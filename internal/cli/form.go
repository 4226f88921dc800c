package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"

	"github.com/clewdev/clew/internal/export"
)

// A form is how a conversation is written down.
type form int

const (
	unknownForm form = iota
	transcriptForm
	streamForm // stream-json
	exportForm // JSON of "clew export"
)

const sniffed = 64 << 10 // bytes, in which the form has to show

// sniff tells the form by the first lines, and leaves them to be read. It waits
// for no more than it needs. What is neither is taken for a transcript, of which
// bad lines can be told.
func sniff(r *bufio.Reader) form {
	want := 1
	for {
		head, err := r.Peek(want)
		if buffered, peekErr := r.Peek(r.Buffered()); peekErr == nil {
			head = buffered
		}
		full := err != nil || len(head) >= r.Size()
		if f := formOf(head, full); f != unknownForm {
			return f
		}
		if full {
			return transcriptForm
		}
		want = len(head) + 1
	}
}

// formOf tells the form by the lines of head; the last one counts as a line if
// there is no more to come.
func formOf(head []byte, last bool) form {
	if export.Looks(head) {
		return exportForm
	}
	for line := range bytes.Lines(head) {
		if !last && !bytes.HasSuffix(line, []byte("\n")) {
			return unknownForm
		}
		if f := lineForm(line); f != unknownForm {
			return f
		}
	}
	return unknownForm
}

func lineForm(line []byte) form {
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil {
		return cutLineForm(line)
	}
	for _, name := range []string{"session_id", "request_id", "request", "response"} {
		if _, ok := members[name]; ok {
			return streamForm
		}
	}
	for _, name := range []string{"sessionId", "parentUuid", "leafUuid", "isSidechain", "messageId"} {
		if _, ok := members[name]; ok {
			return transcriptForm
		}
	}
	return typeForm(members["type"])
}

// typeForm tells the form by a type that only one of them has, for want of more.
func typeForm(name json.RawMessage) form {
	switch strings.Trim(string(name), `"`) {
	case "assistant", "result", "stream_event", "message_start", "message_delta", "message_stop",
		"content_block_start", "content_block_delta", "content_block_stop":
		return streamForm
	}
	return unknownForm
}

// cutLineForm tells the form of a line that is too long to be seen whole.
func cutLineForm(line []byte) form {
	switch {
	case len(line) < sniffed/2:
		return unknownForm
	case bytes.Contains(line, []byte(`"sessionId":`)), bytes.Contains(line, []byte(`"parentUuid":`)):
		return transcriptForm
	case bytes.Contains(line, []byte(`"session_id":`)), bytes.HasPrefix(line, []byte(`{"type":"control_`)):
		return streamForm
	}
	return unknownForm
}
