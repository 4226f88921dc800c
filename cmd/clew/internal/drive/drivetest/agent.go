// Package drivetest has an agent in memory that follows its prompts, for tests of packages that
// drive agents. It works within a bubble of testing/synctest.
//
// A prompt is one of these:
//
//	say WORDS      writes the words one by one, and ends
//	ask COMMAND    asks for permission to run a command
//	edit PATH      asks for permission to replace "old" by "new" in a file
//	plan WORDS     asks for permission to leave the plan mode
//	choose         asks the user for a color
//	wait           works until it is interrupted
//	die            exits at once
//	die later      exits after a part of the answer
package drivetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// An Agent is any number of agents in memory, which share a record. Its methods may be called by
// several goroutines.
type Agent struct {
	// Fails is the error of every start, or nil.
	Fails error
	// Said is called with each entry of a conversation, in the form of a line of a transcript, if it is
	// not nil.
	Said func(session string, entry map[string]any)
	// Hold is called with each control request, if it is not nil. The request is answered when the
	// returned channel is closed, or at once if there is none.
	Hold func(m *wire.ControlRequestMessage) <-chan struct{}

	mu      sync.Mutex
	prompts []string
	answers []string
	starts  []*clew.Options
	alive   []*agent
}

// Connect starts an agent. It has the form of clew.Connect.
func (a *Agent) Connect(ctx context.Context, opts *clew.Options) (*clew.Session, error) {
	a.mu.Lock()
	a.starts = append(a.starts, opts)
	err := a.Fails
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	own := *opts
	own.Transport = clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) {
		return a.start(opts), nil
	})
	return clew.Connect(ctx, &own)
}

// Prompts returns the prompts that agents read, in order.
func (a *Agent) Prompts() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.prompts...)
}

// Answers returns the answers that agents read, as JSON, in order.
func (a *Agent) Answers() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.answers...)
}

// Starts returns the options of all agents, in order.
func (a *Agent) Starts() []*clew.Options {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]*clew.Options(nil), a.starts...)
}

// Alive returns how many agents run.
func (a *Agent) Alive() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, one := range a.alive {
		if !one.isOver() {
			n++
		}
	}
	return n
}

// Kill ends all agents as a signal would.
func (a *Agent) Kill() {
	a.mu.Lock()
	alive := append([]*agent(nil), a.alive...)
	a.mu.Unlock()
	for _, one := range alive {
		one.exit(1)
	}
}

func (a *Agent) start(opts *clew.Options) clew.Connection {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	one := &agent{
		all: a, in: in, out: out, session: opts.Session.ID, over: make(chan struct{}), frames: make(chan string, 1000),
		answered: make(chan string, 1000), stop: make(chan struct{}, 1), todo: make(chan *wire.UserMessage, 1000),
	}
	if one.session == "" {
		one.session = opts.Session.Resume
	}
	a.mu.Lock()
	a.alive = append(a.alive, one)
	a.mu.Unlock()
	go one.read()
	go one.write()
	go one.work()
	return &connection{one, stdin, stdout}
}

// A connection is an agent as its host sees it.
type connection struct {
	agent  *agent
	stdin  *io.PipeWriter
	stdout *io.PipeReader
}

// Read reads what the agent writes.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.stdout.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// Write writes to the agent.
func (c *connection) Write(p []byte) (int, error) { return c.stdin.Write(p) }

// CloseWrite ends the input of the agent.
func (c *connection) CloseWrite() error { return c.stdin.Close() }

// Close ends the agent.
func (c *connection) Close() error {
	c.agent.exit(0)
	if code := c.agent.code; code != 0 {
		return &clew.ExitError{Reason: "exited", Code: code}
	}
	return nil
}

// An agent is one agent.
type agent struct {
	all      *Agent
	in       *io.PipeReader
	out      *io.PipeWriter
	session  string
	frames   chan string // to be written
	todo     chan *wire.UserMessage
	answered chan string
	stop     chan struct{} // the turn is interrupted
	requests int

	once sync.Once
	code int
	over chan struct{}
}

func (g *agent) exit(code int) {
	g.once.Do(func() {
		g.code = code
		close(g.over)
		_ = g.in.Close()  // it never fails
		_ = g.out.Close() // it never fails
	})
}

func (g *agent) isOver() bool {
	select {
	case <-g.over:
		return true
	default:
		return false
	}
}

func (g *agent) read() {
	defer g.exit(0)
	for msg := range wire.NewReader(g.in, nil).Messages() {
		switch m := msg.(type) {
		case *wire.ControlRequestMessage:
			g.control(m)
		case *wire.ControlResponseMessage:
			g.all.mu.Lock()
			g.all.answers = append(g.all.answers, string(m.Response.Response))
			g.all.mu.Unlock()
			g.answered <- string(m.Response.Response)
		case *wire.UserMessage:
			g.all.mu.Lock()
			g.all.prompts = append(g.all.prompts, m.Content.Text())
			g.all.mu.Unlock()
			g.todo <- m
		}
	}
}

// control answers a control request.
func (g *agent) control(m *wire.ControlRequestMessage) {
	body := "{}"
	switch m.Request.Subtype {
	case "initialize":
		body = `{"models":[{"value":"default"},{"value":"opus"}]}`
	case "rewind_files":
		body = `{"canRewind":true,"filesChanged":["a.go"],"insertions":1,"deletions":2}`
	case "rewind_conversation":
		body = `{"rewound":true,"prefillText":"say again"}`
	case "interrupt":
		select {
		case g.stop <- struct{}{}:
		default:
		}
	}
	frame := fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`,
		m.RequestID, body)
	if g.all.Hold != nil {
		if held := g.all.Hold(m); held != nil {
			go func() {
				select {
				case <-held:
					g.send(frame)
				case <-g.over:
				}
			}()
			return
		}
	}
	g.send(frame)
}

// send writes a frame, in order.
func (g *agent) send(frame string) {
	select {
	case g.frames <- frame:
	case <-g.over:
	}
}

func (g *agent) write() {
	for {
		select {
		case frame := <-g.frames:
			if _, err := io.WriteString(g.out, frame+"\n"); err != nil {
				return
			}
		case <-g.over:
			return
		}
	}
}

func (g *agent) work() {
	for {
		select {
		case prompt := <-g.todo:
			select { // an interrupt from before
			case <-g.stop:
			default:
			}
			g.turn(prompt)
		case <-g.over:
			return
		}
	}
}

func (g *agent) turn(prompt *wire.UserMessage) {
	text := prompt.Content.Text()
	verb, rest, _ := strings.Cut(text, " ")
	g.say(map[string]any{"type": "user", "uuid": prompt.UUID, "message": map[string]any{"role": "user", "content": text}})
	switch {
	case verb == "die" && rest == "":
		g.exit(1)
	case verb == "die":
		g.delta("Some")
		g.exit(1)
	case verb == "wait":
		g.delta("Waiting")
		select {
		case <-g.stop:
			g.result(prompt, "", true)
		case <-g.over:
		}
	case verb == "ask":
		g.conclude(prompt, g.ask("Bash", map[string]any{"command": rest}, `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"`+
			strings.Fields(rest + " x")[0]+`:*"}],"behavior":"allow","destination":"localSettings"},`+
			`{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`))
	case verb == "edit":
		g.conclude(prompt, g.ask("Edit", map[string]any{"file_path": rest, "old_string": "old", "new_string": "new"}, "[]"))
	case verb == "plan":
		g.conclude(prompt, g.ask("ExitPlanMode", map[string]any{"plan": rest}, "[]"))
	case verb == "choose":
		g.conclude(prompt, g.ask("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
			"question": "Which color?", "header": "Color", "multiSelect": false,
			"options": []any{map[string]any{"label": "Red", "description": "warm"}, map[string]any{"label": "Blue", "description": "cold"}},
		}}}, "[]"))
	default:
		for word := range strings.FieldsSeq(rest) {
			g.delta(word + " ")
		}
		g.conclude(prompt, rest)
	}
}

// ask asks for a permission, and returns the answer.
func (g *agent) ask(tool string, input map[string]any, suggestions string) string {
	g.requests++
	encoded, _ := json.Marshal(input) // it can be encoded
	id := fmt.Sprintf("ask-%d", g.requests)
	g.send(fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"can_use_tool","tool_name":%q,"input":%s,`+
		`"tool_use_id":%q,"permission_suggestions":%s}}`, id, tool, encoded, "tool-"+id, suggestions))
	select {
	case answer := <-g.answered:
		return answer
	case <-g.stop:
		g.send(fmt.Sprintf(`{"type":"control_cancel_request","request_id":%q}`, id))
		return "interrupted"
	case <-g.over:
		return ""
	}
}

func (g *agent) delta(text string) {
	g.send(fmt.Sprintf(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}},`+
		`"session_id":%q,"uuid":"d"}`, quote(text), g.session))
}

// conclude says a text, and ends the turn.
func (g *agent) conclude(prompt *wire.UserMessage, text string) {
	message := map[string]any{"role": "assistant", "id": "m-" + prompt.UUID, "model": "sim", "content": []any{map[string]any{"type": "text", "text": text}}}
	entry := map[string]any{"type": "assistant", "uuid": "a-" + prompt.UUID, "session_id": g.session, "message": message}
	frame, _ := json.Marshal(entry) // it can be encoded
	g.send(string(frame))
	g.say(entry)
	g.result(prompt, text, false)
}

func (g *agent) result(prompt *wire.UserMessage, text string, interrupted bool) {
	if interrupted {
		g.send(fmt.Sprintf(`{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming",`+
			`"user_message_uuid":%q,"session_id":%q}`, prompt.UUID, g.session))
		return
	}
	g.send(fmt.Sprintf(`{"type":"result","subtype":"success","result":%s,"user_message_uuid":%q,"session_id":%q,"total_cost_usd":0.01}`,
		quote(text), prompt.UUID, g.session))
}

// quote returns a text as JSON.
func quote(text string) string {
	encoded, _ := json.Marshal(text) // it can be encoded
	return string(encoded)
}

func (g *agent) say(entry map[string]any) {
	if g.all.Said != nil {
		g.all.Said(g.session, entry)
	}
}
