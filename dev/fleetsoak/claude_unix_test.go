//go:build unix

package fleetsoak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/fleet/fleettest"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/nats/natsfleet"
)

// claudeQueue is the queue of the jobs that run with package agents, and with agents that talk like Claude
// Code. Those of the other jobs talk to their workers in a few words.
const claudeQueue = "claude"

// A mixed runner runs the jobs of both kinds.
type mixed struct{ plain, claude fleet.Runner }

func (m mixed) of(j *fleet.Job) fleet.Runner {
	if j.Spec.Queue == claudeQueue {
		return m.claude
	}
	return m.plain
}

// Ready implements [fleet.Runner].
func (m mixed) Ready(ctx context.Context) error { return m.claude.Ready(ctx) }

// Check implements [fleet.Runner].
func (m mixed) Check(j *fleet.Job) error { return m.of(j).Check(j) }

// Prepare implements [fleet.Runner].
func (m mixed) Prepare(ctx context.Context, t *fleet.Task) (fleet.Run, error) {
	return m.of(t.Job).Prepare(ctx, t)
}

// Look implements [fleet.Runner].
func (m mixed) Look(ctx context.Context, j *fleet.Job) (*fleet.Traces, error) {
	return m.of(j).Look(ctx, j)
}

// newClaude returns the runner of package agents. It keeps sessions beside the records.
func (s *setup) newClaude(ctx context.Context, e *natsfleet.Engine, log *slog.Logger) (*agents.Runner, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	agent, err := json.Marshal(&setup{Role: claudeRole, Dir: s.Dir, Slow: s.Slow})
	if err != nil {
		return nil, err
	}
	store, err := e.Store(ctx)
	if err != nil {
		return nil, err
	}
	// The hook says when the worker was asked.
	asked := func(context.Context, hook.Input) (*hook.Output, error) {
		return &hook.Output{SystemMessage: time.Now().Format(time.RFC3339Nano)}, nil
	}
	return agents.New(ctx, &agents.Options{
		Dir: filepath.Join(s.Dir, "worker"+s.Name), Store: store, MinFree: s.MinFree, MinFreeShare: -1, Logger: log,
		Base: &clew.Options{
			AgentPath: program, AgentVersion: clewtest.AgentVersion, Env: []string{setupVariable + "=" + string(agent)}, Logger: log,
			Hooks: map[hook.Event][]hook.Matcher{hook.PreToolUse: {{Hooks: []hook.Func{asked}}}},
		},
	})
}

// A frame is one message between a host and an agent.
type frame struct {
	Type      string          `json:"type"`
	RequestID string          `json:"request_id,omitempty"`
	Request   *controlRequest `json:"request,omitempty"`
	Response  *struct {
		RequestID string `json:"request_id"`
		Subtype   string
		Response  struct{ SystemMessage string }
	} `json:"response,omitempty"`
	UUID string `json:"uuid,omitempty"`
}

type controlRequest struct {
	Subtype string `json:"subtype"`
	Hooks   map[string][]struct {
		HookCallbackIDs []string `json:"hookCallbackIds"`
	} `json:"hooks,omitempty"`
}

// An imitation is an agent that talks like Claude Code.
type imitation struct {
	setup *setup
	host  *json.Decoder
	out   *bufio.Writer
	hooks []string // that are asked before a tool starts
	calls int
}

// imitate plays an agent that takes one prompt.
func (s *setup) imitate() error {
	s.Job, s.Session = os.Getenv("CLEW_JOB"), argument("--session-id")
	s.Attempt, _ = strconv.Atoi(os.Getenv("CLEW_ATTEMPT"))
	s.Tools, s.Think = s.pace(s.Job)
	c := &imitation{setup: s, host: json.NewDecoder(os.Stdin), out: bufio.NewWriter(os.Stdout)}
	err := c.play()
	if errors.Is(err, io.EOF) {
		return nil // the worker has ended
	}
	return err
}

// argument returns the value of an argument.
func argument(name string) string {
	for i, arg := range os.Args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			return value
		}
		if arg == name && i+1 < len(os.Args) {
			return os.Args[i+1]
		}
	}
	return ""
}

func (c *imitation) play() error {
	prompt, err := c.awaitPrompt()
	if err != nil {
		return err
	}
	s := c.setup
	if err := s.noteAct(fleettest.Prompted, "", time.Time{}); err != nil {
		return err
	}
	if err := c.mirror(`{"type":"user","uuid":%q,"sessionId":%q,"message":{"role":"user","content":"Do it."}}`, prompt, s.Session); err != nil {
		return err
	}
	think := time.NewTicker(s.Think)
	defer think.Stop()
	for range s.Tools {
		<-think.C
		asked, err := c.ask()
		if err != nil {
			return err
		}
		if err := s.noteAct(fleettest.Acted, "", asked); err != nil {
			return err
		}
	}
	if err := s.noteAct(fleettest.Finished, s.text(), time.Time{}); err != nil {
		return err
	}
	message := fmt.Sprintf(`{"id":"m","role":"assistant","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":%q}]}`, s.text())
	if err := c.mirror(`{"type":"assistant","uuid":"%s-end","sessionId":%q,"message":%s}`, prompt, s.Session, message); err != nil {
		return err
	}
	err = c.send(`{"type":"result","subtype":"success","result":%q,"session_id":%q,"user_message_uuids":[%q]}`, s.text(), s.Session, prompt)
	if err != nil {
		return err
	}
	_, err = c.awaitPrompt() // the host ends the input
	return err
}

// send sends a frame.
func (c *imitation) send(format string, args ...any) error {
	if _, err := fmt.Fprintf(c.out, format+"\n", args...); err != nil {
		return err
	}
	return c.out.Flush()
}

// mirror sends an entry of the transcript.
func (c *imitation) mirror(format string, args ...any) error {
	path := filepath.Join(c.setup.Dir, "projects", "p", c.setup.Session+".jsonl")
	return c.send(`{"type":"transcript_mirror","filePath":%q,"entries":[%s]}`, path, fmt.Sprintf(format, args...))
}

// awaitPrompt answers requests until a prompt comes, and returns its ID.
func (c *imitation) awaitPrompt() (string, error) {
	for {
		f, err := c.read()
		if err != nil || f.Type == "user" {
			return f.UUID, err
		}
	}
}

// read returns the next frame, after it has answered it if it is a request.
func (c *imitation) read() (f frame, err error) {
	if err := c.host.Decode(&f); err != nil || f.Type != "control_request" {
		return f, err
	}
	if f.Request.Subtype == "initialize" {
		for _, m := range f.Request.Hooks["PreToolUse"] {
			c.hooks = append(c.hooks, m.HookCallbackIDs...)
		}
	}
	return f, c.send(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"hook_on_failure_supported":true}}}`, f.RequestID)
}

// ask asks the hooks whether a tool may start, and returns the time that one of them reports. The last
// hook is asked first: it is the one with the time.
func (c *imitation) ask() (asked time.Time, err error) {
	for _, hook := range slices.Backward(c.hooks) {
		c.calls++
		id := "call-" + strconv.Itoa(c.calls)
		err := c.send(`{"type":"control_request","request_id":%q,"request":{"subtype":"hook_callback","callback_id":%q,"tool_use_id":"t",`+
			`"input":{"hook_event_name":"PreToolUse","session_id":%q,"tool_name":"Bash","tool_input":{},"tool_use_id":"t"}}}`, id, hook, c.setup.Session)
		if err != nil {
			return asked, err
		}
		var f frame
		for f.Response == nil || f.Response.RequestID != id {
			if f, err = c.read(); err != nil {
				return asked, err
			}
		}
		if f.Response.Subtype != "success" {
			return asked, fmt.Errorf("the hook %s says %s", hook, f.Response.Subtype)
		}
		if text := f.Response.Response.SystemMessage; text != "" {
			if asked, err = time.Parse(time.RFC3339Nano, text); err != nil {
				return asked, err
			}
		}
	}
	return asked, nil
}
