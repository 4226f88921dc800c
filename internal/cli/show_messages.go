package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// messages prints the conversation that the agent would continue.
func (o *showOptions) messages(ctx context.Context, src source, name string) error {
	if o.turns.text != "" || o.branches {
		return &failure{
			code: exitUsage,
			err:  errors.New("messages are without --turn and --branches"),
			hint: "Leave them out, or use --format=ndjson.",
		}
	}
	if src.info.ID == "" {
		return o.fileMessages(ctx, name)
	}
	folder := sessions.NewFolder(filepath.Dir(filepath.Dir(src.path)))
	folder.Skipped = func(l sessions.SkippedLine) { o.warn(fmt.Sprintf("line %d is no entry and was left out", l.Line)) }
	opts := &sessions.Options{Store: folder, ProjectName: src.info.Project}
	if o.agent != "" {
		return o.writeMessages(ctx, sessions.SubagentMessages(ctx, src.info.ID, o.agent, opts))
	}
	return o.writeMessages(ctx, sessions.Messages(ctx, src.info.ID, opts))
}

func (o *showOptions) writeMessages(ctx context.Context, all iter.Seq2[*sessions.Message, error]) error {
	out := bufio.NewWriterSize(o.streams.Out, 64<<10)
	for m, err := range all {
		if err != nil {
			return errors.Join(findError(ctx, err), out.Flush())
		}
		if err := o.writeMessage(out, m.Raw(), ""); err != nil {
			return outputError(err)
		}
	}
	if err := out.Flush(); err != nil {
		return outputError(err)
	}
	return nil
}

// writeMessage writes the message of a frame or an entry, if it has one. The role is
// for one that tells none.
func (o *showOptions) writeMessage(w io.Writer, raw, role string) error {
	var entry struct {
		Message struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal([]byte(raw), &entry) != nil || entry.Message.Content == nil {
		return nil //nolint:nilerr // it is no message, and the agent would pass over it, too
	}
	entry.Message.Role = cmp.Or(entry.Message.Role, role)
	if o.redact {
		entry.Message.Content = json.RawMessage(newRedactor().JSON(string(entry.Message.Content)))
	}
	return writeJSON(w, entry.Message)
}

// fileMessages prints the messages of a file or of stdin.
func (o *showOptions) fileMessages(ctx context.Context, name string) error {
	if o.agent != "" {
		return &failure{
			code: exitUsage,
			err:  errors.New("the messages of a subagent are those of a session"),
			hint: "Give the ID of a session, or leave out --agent.",
		}
	}
	in, err := openInput(ctx, name, o.streams.In)
	if err != nil {
		return err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, sniffed)
	switch sniff(r) {
	case streamForm:
		return o.streamMessages(ctx, r, in)
	case exportForm:
		return &failure{
			code: exitUsage,
			err:  errors.New("what was exported has no messages as the API takes them"),
			hint: "Give the session or its transcript, or use --format=ndjson.",
		}
	}
	return o.entryMessages(ctx, r, in)
}

// streamMessages prints the messages of stream-json as they come.
func (o *showOptions) streamMessages(ctx context.Context, r io.Reader, in *input) error {
	var left noise
	for msg, err := range wire.NewReader(r, nil).Messages() {
		if err != nil {
			return o.readFailure(ctx, in, err, nil)
		}
		left.count(msg, false)
		if role := speaker(msg); role != "" {
			if err := o.writeMessage(o.streams.Out, msg.Raw(), role); err != nil {
				return outputError(err)
			}
		}
	}
	left.warn(o)
	return nil
}

// speaker returns the role of a message of the conversation itself, or "".
func speaker(msg wire.Message) string {
	switch m := msg.(type) {
	case *wire.UserMessage:
		if m.ParentToolUseID == "" {
			return "user"
		}
	case *wire.AssistantMessage:
		if m.ParentToolUseID == "" {
			return "assistant"
		}
	}
	return ""
}

// pipedSession is where the entries of a file are kept while they are read.
var pipedSession = wire.SessionKey{Project: "file", SessionID: "00000000-0000-4000-8000-000000000000"}

// entryMessages prints the messages of a transcript.
func (o *showOptions) entryMessages(ctx context.Context, r *bufio.Reader, in *input) error {
	store := sessions.NewMemory()
	var entries []wire.JSON
	var left lineCount
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		entry := wire.JSON(strings.TrimSpace(line))
		if _, bad := sessions.EntryUUID(entry); bad == nil {
			entries = append(entries, entry)
		} else if entry != "" {
			left.add(n)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return o.readFailure(ctx, in, err, nil)
		}
	}
	if len(entries) == 0 {
		return noConversation(in.name)
	}
	if left.n > 0 {
		o.warn(fmt.Sprintf("lines that are no entries were left out: %d, the first is line %d", left.n, left.first))
	}
	if err := store.Append(ctx, pipedSession, entries); err != nil {
		return findError(ctx, err)
	}
	opts := &sessions.Options{Store: store, ProjectName: pipedSession.Project}
	return o.writeMessages(ctx, sessions.Messages(ctx, pipedSession.SessionID, opts))
}
