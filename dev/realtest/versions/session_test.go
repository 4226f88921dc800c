package versions_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/screens"
	"github.com/clewdev/clew/tools"
)

// A stage is a session with most callbacks.
type stage struct {
	*clew.Session
	model *clewtest.Model
	dir   string
	hooks calls
}

// untilGo is a command that ends when there is a file go.
const untilGo = "until [ -e go ]; do sleep 0.05; done; rm go"

// newStage connects a session whose rules for tools come from file names: a command that makes
// "denied" is denied, and a command that makes "changed" makes "other" instead.
func newStage(t *testing.T) *stage {
	t.Helper()
	st := &stage{model: clewtest.NewModel(t), dir: scene.Dir(t)}
	st.script()
	noted := func(name string, out *hook.Output) []hook.Matcher {
		return []hook.Matcher{{Hooks: []hook.Func{func(_ context.Context, in hook.Input) (*hook.Output, error) {
			st.hooks.add(name)
			if pre, ok := in.(*hook.PreToolUseInput); ok && strings.Contains(string(pre.ToolInput), "hooked") {
				return &hook.Output{Specific: &hook.PreToolUseOutput{Decision: permission.BehaviorDeny, Reason: "the hook says no"}}, nil
			}
			return out, nil
		}}}}
	}
	st.Session = scene.Connect(t, scene.Options(t, st.model, &clew.Options{
		Dir: st.dir, IncludePartialMessages: true, PermissionMode: clew.PermissionModeDefault,
		CanUseTool: func(_ context.Context, req *permission.Request) (permission.Result, error) {
			switch input := string(req.Input); {
			case strings.Contains(input, "denied"):
				return permission.Deny("not today"), nil
			case strings.Contains(input, "changed"):
				return permission.AllowWith(map[string]string{"command": "touch other"}), nil
			}
			return permission.Allow(), nil
		},
		OnQuestion: func(context.Context, *clew.QuestionRequest) (*clew.QuestionResult, error) {
			st.hooks.add("OnQuestion")
			return &clew.QuestionResult{Answers: map[string][]string{"Which?": {"Red"}}}, nil
		},
		Hooks: map[hook.Event][]hook.Matcher{
			hook.PreToolUse: noted("PreToolUse", nil), hook.PostToolUse: noted("PostToolUse", nil),
			hook.UserPromptSubmit: noted("UserPromptSubmit", nil), hook.Stop: noted("Stop", nil),
		},
		MCPServers: map[string]clew.MCPServer{"kit": tools.Server(
			tools.New("double", "Doubles", func(_ context.Context, in struct{ N int }) (int, error) { return 2 * in.N, nil }),
			tools.New("fail", "Fails", func(context.Context, struct{}) (int, error) { return 0, errors.New("no idea") }),
		)},
		Agents:       map[string]clew.AgentDefinition{"helper": {Description: "Helps", Prompt: "You help. HELPER PROMPT"}},
		SystemPrompt: &clew.SystemPrompt{Append: "APPENDED WORDS"},
		AllowedTools: []string{"mcp__kit__double", "mcp__kit__fail"},
	}))
	return st
}

// script writes the rules of the model. The first that fits a request counts.
func (st *stage) script() {
	m := st.model
	// These come first: a request may also have a prompt that was interrupted.
	m.On("there?").Reply(clewtest.Text("Yes."))
	m.On("Never").Reply(clewtest.Text("Then not."))
	for _, name := range []string{"allowed", "denied", "changed", "hooked"} {
		m.On("make " + name).Reply(scene.Bash("touch " + name))
	}
	m.On("write it").Reply(clewtest.ToolUse("Write", map[string]string{"file_path": filepath.Join(st.dir, "note.txt"), "content": "hello"}))
	m.On("read it").Reply(clewtest.ToolUse("Read", map[string]string{"file_path": filepath.Join(st.dir, "note.txt")}))
	m.On("ask me").Reply(clewtest.ToolUse("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
		"question": "Which?", "header": "Color", "multiSelect": false,
		"options": []any{map[string]string{"label": "Red", "description": "Warm"}, map[string]string{"label": "Blue", "description": "Cold"}},
	}}}))
	m.On("double it").Reply(clewtest.ToolUse("mcp__kit__double", map[string]int{"N": 21}))
	m.On("fail it").Reply(clewtest.ToolUse("mcp__kit__fail", map[string]int{}))
	m.On("delegate").Reply(clewtest.ToolUse("Task", map[string]string{
		"description": "Count", "prompt": "INNER count", "subagent_type": "helper",
	}))
	m.On("INNER count").Reply(clewtest.Text("Three."))
	m.On("wait for go").Reply(scene.Bash(untilGo))
	m.On("be slow").Reply(clewtest.Text(strings.Repeat("word ", 10_000))).Pace(100 * time.Millisecond)
	m.On("think").Reply(clewtest.Thinking("Hm.", "sig"), clewtest.Text("Thought."))
	m.On("break").Fail(400).Message("broken")
	m.On("grüße").Reply(clewtest.Text("Grüße 🙂"))
	m.On("two tools").Reply(scene.Bash("echo one"), scene.Bash("echo two"))
	m.OnToolResult("").Reply(clewtest.Text("Done."))
	m.Reply("Hello.")
}

// ran runs a turn with a tool, and returns what the model was told of it.
func (st *stage) ran(ctx context.Context, prompt string) (string, error) {
	err := says(ctx, st.Session, prompt, "Done.")
	return toolText(st.model), err
}

func TestSession(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	texts(t, st)
	permissions(t, st)
	callbacks(t, st)
	queues(t, st)
	interrupts(t, st)
	requests(t, st)
	failures(t, st)
}

func texts(t *testing.T, st *stage) {
	scenario(t, "text", func(_ *testing.T, ctx context.Context) error { return says(ctx, st.Session, "Hi", "Hello.") })
	scenario(t, "init", func(_ *testing.T, ctx context.Context) error {
		_, all, err := told(ctx, st.Session, clew.Text("Hi again"))
		if err != nil {
			return err
		}
		inits := scene.Of[*clew.InitMessage](all)
		return errIf(len(inits) != 1 || inits[0].SessionID != st.ID() || inits[0].CWD != st.dir || inits[0].Version == "",
			"%d inits, session %q", len(inits), st.ID())
	})
	scenario(t, "partial messages", func(_ *testing.T, ctx context.Context) error {
		_, all, err := told(ctx, st.Session, clew.Text("Hi"))
		return errors.Join(err, errIf(len(scene.Of[*clew.StreamEventMessage](all)) == 0, "no partial message"))
	})
	scenario(t, "no prompt comes back", func(_ *testing.T, ctx context.Context) error {
		_, all, err := told(ctx, st.Session, clew.Text("Hi"))
		return errors.Join(err, errIf(len(scene.Of[*clew.UserMessage](all)) > 0, "the prompt is among the messages"))
	})
	scenario(t, "conversation", func(_ *testing.T, ctx context.Context) error {
		err := says(ctx, st.Session, "Remember me", "Hello.")
		return errors.Join(err, lacks("the request", string(scene.Newest(st.model).Body), "Hi again"))
	})
	scenario(t, "unicode", func(_ *testing.T, ctx context.Context) error { return says(ctx, st.Session, "grüße", "Grüße 🙂") })
	scenario(t, "thinking", func(_ *testing.T, ctx context.Context) error { return says(ctx, st.Session, "think", "Thought.") })
	scenario(t, "cost", func(_ *testing.T, ctx context.Context) error {
		result, _, err := told(ctx, st.Session, clew.Text("Hi"))
		return errors.Join(err, errIf(result != nil && (result.Usage.OutputTokens == 0 || len(result.ModelUsage) == 0), "no usage"))
	})
	scenario(t, "picture", func(_ *testing.T, ctx context.Context) error {
		const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
		data, err := base64.StdEncoding.DecodeString(dot)
		if err != nil {
			return err
		}
		_, _, err = told(ctx, st.Session, clew.NewUserMessage(clew.Image("image/png", data), clewtest.Text("What is it?")))
		return errors.Join(err, lacks("the request", string(scene.Newest(st.model).Body), `"image"`))
	})
	scenario(t, "appended system prompt", func(*testing.T, context.Context) error {
		return lacks("the request", string(scene.Newest(st.model).Body), "APPENDED WORDS")
	})
}

func permissions(t *testing.T, st *stage) {
	for name, want := range map[string]struct{ made, told string }{
		"allowed": {"allowed", ""}, "denied": {"", "not today"}, "changed": {"other", ""}, "hooked": {"", "the hook says no"},
	} {
		scenario(t, "tool is "+name, func(_ *testing.T, ctx context.Context) error {
			text, err := st.ran(ctx, "make "+name)
			return errors.Join(err, lacks("the tool's result", text, want.told),
				errIf(there(st.dir, name) != (name == want.made), "the file is wrong"),
				errIf(want.made != "" && !there(st.dir, want.made), "no file %s", want.made))
		})
	}
	scenario(t, "write and read", func(_ *testing.T, ctx context.Context) error {
		_, err := st.ran(ctx, "write it")
		text, rerr := st.ran(ctx, "read it")
		return errors.Join(err, rerr, lacks("what was read", text, "hello"))
	})
	scenario(t, "two tools", func(_ *testing.T, ctx context.Context) error {
		_, err := st.ran(ctx, "two tools")
		return errors.Join(err, errIf(len(scene.Newest(st.model).ToolResults()) != 2, "not two results"))
	})
}

func callbacks(t *testing.T, st *stage) {
	for _, name := range []string{"PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"} {
		scenario(t, "hook "+name, func(*testing.T, context.Context) error { return st.hooks.none(name) })
	}
	scenario(t, "question", func(_ *testing.T, ctx context.Context) error {
		text, err := st.ran(ctx, "ask me")
		return errors.Join(err, st.hooks.none("OnQuestion"), lacks("the answer", text, "Red"))
	})
	scenario(t, "own tool", func(_ *testing.T, ctx context.Context) error {
		text, err := st.ran(ctx, "double it")
		return errors.Join(err, lacks("the tool's result", text, "42"))
	})
	scenario(t, "own tool fails", func(_ *testing.T, ctx context.Context) error {
		text, err := st.ran(ctx, "fail it")
		return errors.Join(err, lacks("the tool's result", text, "no idea"))
	})
	scenario(t, "subagent", func(_ *testing.T, ctx context.Context) error {
		_, _, err := told(ctx, st.Session, clew.Text("delegate"))
		inner := ""
		for _, r := range st.model.AllRequests() {
			if strings.Contains(string(r.Body), "INNER count") && strings.Contains(string(r.Body), "HELPER PROMPT") {
				inner = "asked"
			}
		}
		return errors.Join(err, errIf(inner == "", "the model was not asked as the subagent"))
	})
}

func queues(t *testing.T, st *stage) {
	scenario(t, "three turns at once", func(_ *testing.T, ctx context.Context) error {
		var all sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			all.Go(func() { _, _, errs[i] = told(ctx, st.Session, clew.Text("Hi")) })
		}
		all.Wait()
		return errors.Join(errs...)
	})
	scenario(t, "a prompt during a tool", func(_ *testing.T, ctx context.Context) error {
		var behind sync.WaitGroup
		var second error
		_, first := scene.Read(st.Turn(ctx, clew.Text("wait for go")), func(msg clew.Message) {
			if answer, ok := msg.(*clew.AssistantMessage); ok && len(answer.Content.ToolUses()) > 0 {
				behind.Go(func() { _, _, second = told(ctx, st.Session, clew.Text("And this")) })
				behind.Go(func() { second = errors.Join(second, os.WriteFile(filepath.Join(st.dir, "go"), nil, 0o600)) })
			}
		})
		behind.Wait()
		return errors.Join(first, second)
	})
	scenario(t, "send and read", func(_ *testing.T, ctx context.Context) error {
		for range 3 {
			if _, err := st.Send(ctx, clew.Text("Hi")); err != nil {
				return err
			}
		}
		return says(ctx, st.Session, "Hi", "Hello.")
	})
	scenario(t, "cancel a prompt", func(_ *testing.T, ctx context.Context) error {
		prompt := clew.Text("Never")
		prompt.UUID = "00000000-0000-4000-8000-000000000001"
		return st.duringSlowTurn(ctx, func() error {
			canceled := make(chan error, 1)
			go func() { _, _, err := told(ctx, st.Session, prompt); canceled <- err }()
			for ctx.Err() == nil {
				if ok, err := st.CancelPrompt(ctx, prompt.UUID); err != nil || ok {
					_, ierr := st.Interrupt(ctx, nil)
					if err != nil { // the prompt will be answered
						return errors.Join(err, ierr, <-canceled)
					}
					end := <-canceled
					return errors.Join(ierr, errIf(!errors.Is(end, clew.ErrCanceled), "the turn ended with %v", end))
				}
			}
			return ctx.Err()
		})
	})
}

// duringSlowTurn does something while the model answers slowly. The turn must end.
func (st *stage) duringSlowTurn(ctx context.Context, do func() error) error {
	var once sync.Once
	done := make(chan error, 1)
	_, err := scene.Read(st.Turn(ctx, clew.Text("be slow")), func(msg clew.Message) {
		if _, ok := msg.(*clew.StreamEventMessage); ok {
			once.Do(func() { go func() { done <- do() }() })
		}
	})
	if failed, ok := errors.AsType[*clew.ResultError](err); ok && failed.Interrupted() {
		err = nil
	}
	return errors.Join(err, <-done)
}

func interrupts(t *testing.T, st *stage) {
	scenario(t, "interrupt", func(_ *testing.T, ctx context.Context) error {
		return st.duringSlowTurn(ctx, func() error { _, err := st.Interrupt(ctx, nil); return err })
	})
	scenario(t, "after an interrupt", func(_ *testing.T, ctx context.Context) error { return says(ctx, st.Session, "Are you there?", "Yes.") })
	scenario(t, "interrupt and cancel the queue", func(_ *testing.T, ctx context.Context) error {
		return st.duringSlowTurn(ctx, func() error {
			// The agent has the prompt when it answers a request that was sent later.
			prompt := clew.Text("Never")
			prompt.UUID = "00000000-0000-4000-8000-000000000002"
			if _, err := st.Send(ctx, prompt); err != nil {
				return err
			}
			if _, err := st.MCPStatus(ctx); err != nil {
				return err
			}
			receipt, err := st.Interrupt(ctx, &clew.InterruptOptions{CancelQueued: true})
			if err != nil { // the prompt will be answered
				_, ierr := st.Interrupt(ctx, nil)
				return errors.Join(err, ierr)
			}
			return errIf(!slices.Contains(receipt.Canceled, prompt.UUID), "canceled %q", receipt.Canceled)
		})
	})
	scenario(t, "the context of a turn ends", func(_ *testing.T, ctx context.Context) error {
		short, cancel := context.WithCancel(ctx)
		defer cancel()
		_, err := scene.Read(st.Turn(short, clew.Text("be slow")), func(msg clew.Message) {
			if _, ok := msg.(*clew.StreamEventMessage); ok {
				cancel()
			}
		})
		return errIf(!errors.Is(err, context.Canceled), "error %v", err)
	})
	scenario(t, "after that", func(_ *testing.T, ctx context.Context) error { return says(ctx, st.Session, "Are you there?", "Yes.") })
	scenario(t, "a turn is left", func(_ *testing.T, ctx context.Context) error {
		for range st.Turn(ctx, clew.Text("Hi")) {
			break
		}
		return says(ctx, st.Session, "Hi", "Hello.")
	})
}

func requests(t *testing.T, st *stage) {
	scenario(t, "set the model", func(_ *testing.T, ctx context.Context) error {
		model, err := st.SetModel(ctx, "haiku")
		if err != nil {
			return err
		}
		err = says(ctx, st.Session, "Hi", "Hello.")
		return errors.Join(err, errIf(model == "", "no ID"), lacks("the model", scene.Newest(st.model).Model, "haiku"))
	})
	scenario(t, "set the permission mode", func(_ *testing.T, ctx context.Context) error {
		return errors.Join(st.SetPermissionMode(ctx, clew.PermissionModeAcceptEdits), st.SetPermissionMode(ctx, clew.PermissionModeDefault))
	})
	scenario(t, "set thinking", func(_ *testing.T, ctx context.Context) error {
		return st.SetThinking(ctx, &clew.ThinkingOptions{BudgetTokens: new(2000)})
	})
	scenario(t, "MCP status", func(_ *testing.T, ctx context.Context) error {
		servers, err := st.MCPStatus(ctx)
		return errors.Join(err, errIf(err == nil && (len(servers) != 1 || servers[0].Name != "kit"), "servers %v", servers))
	})
	scenario(t, "a server that is added", func(_ *testing.T, ctx context.Context) error {
		kit := func(name string) clew.MCPServer {
			return tools.Server(tools.New(name, "Does it", func(context.Context, struct{}) (string, error) { return name, nil }))
		}
		for _, name := range []string{"first", "second", "third"} {
			_, err := st.SetMCPServers(ctx, map[string]clew.MCPServer{name: kit("tool")})
			err = errors.Join(err, says(ctx, st.Session, "Hi", "Hello."))
			if err = errors.Join(err, lacks("the request", string(scene.Newest(st.model).Body), "mcp__"+name+"__tool")); err != nil {
				return err
			}
		}
		return nil
	})
	scenario(t, "context usage", func(_ *testing.T, ctx context.Context) error {
		_, err := screens.Context(ctx, st, nil)
		return err
	})
	scenario(t, "models", func(_ *testing.T, ctx context.Context) error {
		models, err := st.Models(ctx)
		return errors.Join(err, errIf(err == nil && len(models) == 0, "no models"))
	})
	scenario(t, "rename", func(_ *testing.T, ctx context.Context) error { return st.Rename(ctx, "A title", nil) })
	scenario(t, "stop a task", func(_ *testing.T, ctx context.Context) error {
		err := st.StopTask(ctx, "none")
		if refused, ok := errors.AsType[*clew.ControlError](err); ok && !refused.Unsupported() {
			return nil // older agents report that there is none
		}
		return err
	})
	scenario(t, "an unknown request", func(_ *testing.T, ctx context.Context) error {
		err := st.Control(ctx, "no_such_request", nil, nil)
		refused, ok := errors.AsType[*clew.ControlError](err)
		return errIf(!ok || !refused.Unsupported(), "error %v", err)
	})
}

func failures(t *testing.T, st *stage) {
	scenario(t, "the API fails", func(_ *testing.T, ctx context.Context) error {
		_, _, err := told(ctx, st.Session, clew.Text("break"))
		_, ok := errors.AsType[*clew.ResultError](err)
		return errIf(!ok, "error %v", err)
	})
	scenario(t, "after a failure", func(_ *testing.T, ctx context.Context) error { return says(ctx, st.Session, "Are you there?", "Yes.") })
}
