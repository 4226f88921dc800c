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
)

// A terminal puts questions to a person, one at a time: the agent may ask several at once.
type terminal struct {
	mu    sync.Mutex
	input *bufio.Reader
}

// canUseTool is a [clew.CanUseToolFunc]. The agent's words are quoted: they must not reach the
// terminal as escape sequences.
func (t *terminal) canUseTool(_ context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Printf("Use %s with %q? [y/N] ", req.ToolName, req.Input)
	answer, err := t.input.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(answer) != "y" {
		return clew.Deny("The user said no."), nil
	}
	return clew.Allow(), nil
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
