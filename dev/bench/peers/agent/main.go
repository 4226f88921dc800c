// Command agent is the simulated agent of the comparison. It knows just enough of the protocol for
// the SDKs: it grants every control request, and answers every prompt with its load, see package
// contest. It ends with its input; with -p it takes the prompt as given, answers once and ends.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	load, err := contest.ParseLoad(os.Getenv(contest.LoadVariable))
	if err != nil {
		return err
	}
	frames := load.Frames()
	if slices.Contains(args, "-p") {
		return answer(out, frames, "")
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if err := react(out, frames, line); err != nil {
			return err
		}
	}
}

// A frame is the part of a host's frame that the agent reads.
type frame struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	UUID      string `json:"uuid"`
}

func react(out io.Writer, frames *contest.Frames, line []byte) error {
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		return fmt.Errorf("%w: %s", err, line)
	}
	switch f.Type {
	case "control_request":
		_, err := fmt.Fprintf(out, `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":`+
			`{"commands":[],"agents":[],"output_style":"default","available_output_styles":["default"],"models":[],`+
			`"account":{},"pid":%d}}}`+"\n", f.RequestID, os.Getpid())
		return err
	case "user":
		return answer(out, frames, f.UUID)
	}
	return nil
}

// answer plays one turn, for the prompt with that id, which may be empty.
func answer(out io.Writer, frames *contest.Frames, prompt string) error {
	_, err := fmt.Fprintf(out, `{"type":"system","subtype":"init","cwd":"/","session_id":%q,"tools":[],"mcp_servers":[],`+
		`"model":"claude-simulated","permissionMode":"default","slash_commands":[],"apiKeySource":"none",`+
		`"claude_code_version":"2.1.325","output_style":"default","skills":[],"plugins":[],"uuid":"init"}`+"\n",
		contest.Session())
	if err != nil {
		return err
	}
	if err := frames.Write(out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"duration_api_ms":1,`+
		`"num_turns":1,"result":"Hello.","stop_reason":"end_turn","session_id":%q,"total_cost_usd":0,`+
		`"usage":{"input_tokens":1,"output_tokens":1},"modelUsage":{},"permission_denials":[]%s,"uuid":"result"}`+"\n",
		contest.Session(), reference(prompt))
	return err
}

// reference is the part of a result that names the prompt which it answers.
func reference(prompt string) string {
	if prompt == "" {
		return ""
	}
	return fmt.Sprintf(`,"user_message_uuid":%q,"user_message_uuids":[%q]`, prompt, prompt)
}
