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

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// messages prints the conversation that the agent would continue.
func (o *showOptions) messages(ctx context.Context, src *input.Source) error {
	if src.Info.ID == "" {
		return o.fileMessages(ctx, src)
	}
	folder := sessions.NewFolder(filepath.Dir(filepath.Dir(src.Path)))
	folder.Skipped = func(l sessions.SkippedLine) { o.warn(fmt.Sprintf("skipped line %d: not an entry", l.Line)) }
	opts := &sessions.Options{Store: folder, ProjectName: src.Info.Project}
	if o.agent != "" {
		return o.writeMessages(ctx, sessions.SubagentMessages(ctx, src.Info.ID, o.agent, opts))
	}
	return o.writeMessages(ctx, sessions.Messages(ctx, src.Info.ID, opts))
}

func (o *showOptions) writeMessages(ctx context.Context, all iter.Seq2[*sessions.RecordedMessage, error]) error {
	out := bufio.NewWriterSize(o.streams.Out, 64<<10)
	for m, err := range all {
		if err != nil {
			return errors.Join(input.FindError(ctx, err), out.Flush())
		}
		if err := o.writeMessage(out, m.Raw(), ""); err != nil {
			return clikit.OutputError(err)
		}
	}
	if err := out.Flush(); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// writeMessage writes the message of a frame or an entry, if it has one. The role is the default
// for a message without one.
func (o *showOptions) writeMessage(w io.Writer, raw, role string) error {
	var entry struct {
		Message struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal([]byte(raw), &entry) != nil || entry.Message.Content == nil {
		return nil //nolint:nilerr // it is not a message, and the agent would skip it
	}
	entry.Message.Role = cmp.Or(entry.Message.Role, role)
	if o.redact {
		entry.Message.Content = json.RawMessage(newRedactor().JSON(string(entry.Message.Content)))
	}
	return clikit.WriteJSON(w, entry.Message)
}

// fileMessages prints the messages of a file or of stdin.
func (o *showOptions) fileMessages(ctx context.Context, src *input.Source) error {
	if o.agent != "" {
		return clikit.UsageError("--agent needs a session ID with --format messages, not a file",
			"Give the ID of a session, or leave out --agent.")
	}
	if err := src.Open(ctx, o.streams.In); err != nil {
		return err
	}
	defer src.Close()
	switch src.Format {
	case input.StreamJSON:
		return o.streamMessages(ctx, src)
	case input.Exported:
		return clikit.UsageError("exported JSON does not contain API messages",
			"Give the session or its transcript, or use --format ndjson.")
	}
	return o.entryMessages(ctx, src)
}

// streamMessages prints the messages of stream-json as they arrive.
func (o *showOptions) streamMessages(ctx context.Context, src *input.Source) error {
	var skipped input.Skipped
	for msg, err := range wire.NewReader(src.R, nil).Messages() {
		if err != nil {
			return src.ReadError(ctx, err)
		}
		skipped.Count(msg, false)
		if role := speaker(msg); role != "" {
			if err := o.writeMessage(o.streams.Out, msg.Raw(), role); err != nil {
				return clikit.OutputError(err)
			}
		}
	}
	skipped.Warn(o.warn)
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

// fileSession is the key under which the entries of a file are kept while they are read.
var fileSession = wire.SessionKey{Project: "file", SessionID: "00000000-0000-4000-8000-000000000000"}

// entryMessages prints the messages of a transcript.
func (o *showOptions) entryMessages(ctx context.Context, src *input.Source) error {
	entries, err := o.readEntries(ctx, src)
	if err != nil {
		return err
	}
	store := sessions.NewMemory()
	if err := store.Append(ctx, fileSession, entries); err != nil {
		return input.FindError(ctx, err)
	}
	opts := &sessions.Options{Store: store, ProjectName: fileSession.Project}
	return o.writeMessages(ctx, sessions.Messages(ctx, fileSession.SessionID, opts))
}

// readEntries reads the entries of a transcript, and warns about lines that are not entries.
func (o *showOptions) readEntries(ctx context.Context, src *input.Source) ([]wire.JSON, error) {
	var entries []wire.JSON
	var skipped input.Lines
	for n := 1; ; n++ {
		line, err := src.R.ReadString('\n')
		entry := wire.JSON(strings.TrimSpace(line))
		if _, bad := sessions.EntryUUID(entry); bad == nil {
			entries = append(entries, entry)
		} else if entry != "" {
			skipped.Add(n)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, src.ReadError(ctx, err)
		}
	}
	if len(entries) == 0 {
		return nil, input.NoConversation(src.Name())
	}
	if skipped.N > 0 {
		o.warn(fmt.Sprintf("skipped lines that are not entries: %d, the first is line %d", skipped.N, skipped.First))
	}
	return entries, nil
}
