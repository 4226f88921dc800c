package clew_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// simulated returns a transport to an agent in memory, which takes the place of Claude Code in examples. It answers one
// prompt with each text: one that begins with a brace is a structured answer, and one that begins with "error: " is a
// turn that failed.
func simulated(texts ...string) clew.Transport {
	return clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) {
		prompts, stdin := io.Pipe()
		stdout, answers := io.Pipe()
		go func() {
			playExample(texts, prompts, answers)
			answers.Close() //nolint:errcheck // it never fails
		}()
		return &exampleConnection{stdin, stdout}, nil
	})
}

// playExample is the agent: it reads prompts until their end, or until it has no more answers.
func playExample(texts []string, prompts io.Reader, answers io.Writer) {
	for msg := range wire.NewReader(prompts, nil).Messages() {
		var answer string
		switch m := msg.(type) {
		case *wire.ControlRequestMessage:
			answer = fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q}}`, m.RequestID)
		case *wire.UserMessage:
			if len(texts) == 0 {
				return
			}
			answer, texts = exampleTurn(m.UUID, texts[0]), texts[1:]
		}
		if _, err := fmt.Fprintln(answers, answer); err != nil {
			return
		}
	}
}

// exampleTurn returns the frames of a turn that answers a prompt with a text.
func exampleTurn(prompt, text string) string {
	failure, failed := strings.CutPrefix(text, "error: ")
	switch {
	case failed:
		return fmt.Sprintf(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":[%q],`+
			`"user_message_uuid":%q}`, failure, prompt)
	case strings.HasPrefix(text, "{"):
		return fmt.Sprintf(`{"type":"result","subtype":"success","structured_output":%s,"user_message_uuid":%q}`, text, prompt)
	}
	return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"text","text":%[1]q}]}}`+"\n"+
		`{"type":"result","subtype":"success","result":%[1]q,"num_turns":1,"user_message_uuid":%[2]q}`, text, prompt)
}

// An exampleConnection is the host's end of an agent in memory.
type exampleConnection struct {
	stdin  *io.PipeWriter
	stdout *io.PipeReader
}

func (c *exampleConnection) Read(p []byte) (int, error)  { return c.stdout.Read(p) }
func (c *exampleConnection) Write(p []byte) (int, error) { return c.stdin.Write(p) }
func (c *exampleConnection) CloseWrite() error           { return c.stdin.Close() }

func (c *exampleConnection) Close() error {
	_ = c.stdin.Close()
	return c.stdout.Close()
}
