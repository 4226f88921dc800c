package tools_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/tools"
)

// Whatever comes, the connection answers with JSON or with an error, and works for what follows.
func FuzzHandleMCP(f *testing.F) {
	for _, seed := range []string{
		hello, callOf(1, "add", `{"a":1}`), callOf(1, "echo", `{"a":[{}]}`), callOf(1, "no", `7`), ``, `[]`, `{"id":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1.5,"method":"tools/list","params":{"cursor":"x"}}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"completion/complete"}`,
	} {
		f.Add(seed)
	}
	c := connect(f, tools.Server(tools.New("add", "", add), tools.New("echo", "", echo[any])))
	f.Fuzz(func(t *testing.T, message string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		reply, err := c.HandleMCP(ctx, clew.JSON(message))
		if ctx.Err() != nil {
			t.Fatalf("no reply to %s", message)
		}
		if err == nil && reply != "" && !json.Valid([]byte(reply)) {
			t.Errorf("reply %s", reply)
		}
		if got := decodedText(t, c.call(t, "add", `{"a":1}`)); got != "1" {
			t.Errorf("the next call: %s", got)
		}
	})
}
