package cli

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

// What was typed before a question could be read is no answer to it.
func TestAskForgetsWhatWasTyped(t *testing.T) {
	before := forget
	forget = forgetTyped
	t.Cleanup(func() { forget = before })
	user, tty := openTerminal(t, 80)
	defer tty.Close()
	useAgent(t, prompted().
		Send(`{"type":"control_request","request_id":"may","request":{"subtype":"can_use_tool","tool_name":"Bash",`+
			`"input":{"command":"make"},"tool_use_id":"t"}}`).
		Expect(`{"type":"control_response","response":{"request_id":"may","subtype":"success","response":{"behavior":"deny"}}}`).
		Send(`{"type":"result","subtype":"success","result":"Well","session_id":"s","uuid":"r"}`))
	if _, err := io.WriteString(user, "yes\n"); err != nil {
		t.Fatal(err)
	}
	code := make(chan int, 1)
	go func() {
		code <- execute(t.Context(), []string{"run", "Hi"}, Streams{In: tty, Out: io.Discard, Err: tty})
		_ = tty.Close()
	}()
	shown := bufio.NewReader(user)
	for seen := ""; !strings.HasSuffix(seen, "Allow it? [y]es, once / [n]o: "); {
		b, err := shown.ReadByte()
		if err != nil {
			t.Fatalf("%v behind %q", err, seen)
		}
		seen += string(b)
	}
	if _, err := io.WriteString(user, "no\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != exitDone {
		t.Errorf("exit code %d", got)
	}
}
