// Command permissions asks on the terminal before the agent uses a tool.
//
//	go run ./examples/permissions
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/permission"
)

// A terminal puts questions to a person, one at a time: the agent may ask several at once.
type terminal struct {
	mu    sync.Mutex
	input *bufio.Reader
}

// canUseTool is a [permission.Func]. The agent's words are quoted: they must not reach the
// terminal as escape sequences.
func (t *terminal) canUseTool(_ context.Context, req *permission.Request) (permission.Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Printf("Use %s with %q? [y/N] ", req.ToolName, req.Input)
	answer, err := t.input.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(answer) != "y" {
		return permission.Deny("The user said no."), nil
	}
	return permission.Allow(), nil
}

func main() {
	t := &terminal{input: bufio.NewReader(os.Stdin)}
	opts := &clew.Options{PermissionMode: clew.PermissionModeDefault, CanUseTool: t.canUseTool}
	result, err := clew.Run(context.Background(), "Create a file hello.txt that says hello.", opts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
}
