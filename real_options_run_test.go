package clew

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// An optionsRun is one run of Claude Code with options, over a scripted model.
type optionsRun struct {
	t      *testing.T
	o      *Options
	stdin  io.WriteCloser
	frames []any // what is said next, each after the answer to the one before

	init    *wire.InitMessage
	result  *wire.ResultMessage
	answers map[string]wire.JSON // by subtype of the request
	stderr  strings.Builder
}

// runWithOptions runs the agent with options, inside of another agent: the handshake, the requests, a prompt, and the
// end of its input.
func runWithOptions(t *testing.T, model *clewtest.Model, o *Options, requests ...string) *optionsRun {
	t.Helper()
	o = o.clone()
	o.Env = append(model.Env(), o.Env...)
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	launch, err := o.launch(clewtest.RealAgent(t))
	if err != nil {
		t.Fatal(err)
	}
	launch.Env = o.environ(enclosing())
	r := &optionsRun{t: t, o: o, answers: map[string]wire.JSON{}}
	r.frames = []any{requestFrame(t, "initialize", o.initializeRequest(nil))}
	if servers := o.mcpServersRequest(); servers != nil {
		r.frames = append(r.frames, requestFrame(t, "mcp_set_servers", servers))
	}
	for _, subtype := range requests {
		r.frames = append(r.frames, requestFrame(t, subtype, struct{}{}))
	}
	r.frames = append(r.frames, map[string]any{
		"type": "user", "message": map[string]any{"role": "user", "content": "Go"}, "parent_tool_use_id": nil,
		"session_id": "",
	})
	r.run(launch)
	return r
}

// enclosing returns an environment with all variables that should not reach the agent.
func enclosing() []string {
	var env []string
	for _, name := range foreignVariables {
		env = append(env, name+"=--inspect") // with that, a JavaScript runtime would not start
	}
	return env
}

// requestFrame is a control request whose ID is its subtype.
func requestFrame(t *testing.T, subtype string, body any) any {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(toJSON(body), &members); err != nil {
		t.Fatal(err)
	}
	members["subtype"] = subtype
	return map[string]any{"type": "control_request", "request_id": subtype, "request": members}
}

func (r *optionsRun) run(launch *Launch) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, launch.Path, launch.Args...)
	cmd.Env, cmd.Dir, cmd.Stderr = launch.Env, launch.Dir, &r.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if r.stdin, err = cmd.StdinPipe(); err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.next()
	for msg, err := range wire.NewReader(stdout, nil).Messages() {
		if err != nil {
			r.t.Error(err)
			break
		}
		r.read(msg)
	}
	_ = cmd.Wait() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != 0 || r.init == nil || r.result == nil {
		r.t.Fatalf("exit code %d, init %v, result %v, stderr: %s", code, r.init, r.result, r.stderr.String())
	}
}

func (r *optionsRun) read(msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.InitMessage:
		r.init = msg
	case *wire.ResultMessage:
		r.result = msg
		r.next()
	case *wire.ControlResponseMessage:
		if msg.Response.Subtype != "success" {
			r.t.Errorf("%s: %s", msg.Response.RequestID, msg.Response.Error)
		}
		r.answers[msg.Response.RequestID] = msg.Response.Response
		r.next()
	case *wire.ControlRequestMessage:
		r.serve(msg)
	}
}

// next writes the next frame, or ends the input.
func (r *optionsRun) next() {
	if len(r.frames) == 0 {
		_ = r.stdin.Close()
		return
	}
	r.write(r.frames[0])
	r.frames = r.frames[1:]
}

func (r *optionsRun) write(frame any) {
	if _, err := r.stdin.Write(append(toJSON(frame), '\n')); err != nil {
		r.t.Error(err)
	}
}

// serve passes a message to a server of this process.
func (r *optionsRun) serve(msg *wire.ControlRequestMessage) {
	var request struct {
		ServerName string    `json:"server_name"`
		Message    wire.JSON `json:"message"`
	}
	if err := wire.JSON(msg.Request.Raw()).Decode(&request); err != nil {
		r.t.Error(err)
	}
	server := r.o.inProcessServers()[request.ServerName]
	if server == nil {
		r.t.Errorf("request %s", msg.Raw())
		return
	}
	reply, err := server.Handler.HandleMCP(r.t.Context(), request.Message)
	if err != nil {
		r.t.Error(err)
	}
	if reply == "" {
		reply = `{"jsonrpc":"2.0","result":{},"id":0}`
	}
	r.write(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": msg.RequestID, "response": map[string]any{"mcp_response": reply},
	}})
}

// An idleToolServer is an MCP server, over HTTP and in this process, with tools that do nothing.
type idleToolServer struct {
	tools []string

	mu      sync.Mutex
	headers []string
}

func (s *idleToolServer) HandleMCP(_ context.Context, message wire.JSON) (wire.JSON, error) {
	var request struct {
		ID     *int   `json:"id"`
		Method string `json:"method"`
		Params struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"params"`
	}
	if err := message.Decode(&request); err != nil || request.ID == nil {
		return "", err
	}
	result := map[string]any{}
	switch request.Method {
	case "initialize":
		result["protocolVersion"] = request.Params.ProtocolVersion
		result["capabilities"] = map[string]any{"tools": map[string]any{}}
		result["serverInfo"] = map[string]any{"name": "test", "version": "1"}
	case "tools/list":
		var tools []any
		for _, name := range s.tools {
			tools = append(tools, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
		}
		result["tools"] = tools
	}
	return wire.JSON(toJSON(map[string]any{"jsonrpc": "2.0", "id": *request.ID, "result": result})), nil
}

func (s *idleToolServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.headers = append(s.headers, r.Header.Get("Authorization"))
	s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	reply, err := s.HandleMCP(r.Context(), wire.JSON(body))
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case reply == "":
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, string(reply))
	}
}
