package turns_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/wire"
)

// delegate makes "Delegate" a prompt for which the agent starts a subagent, which runs a command
// that prints "counted", and says "Three.". The answer after that is "It is three.", or, if the
// agent does not wait for the subagent, "Started." and later "It is over.".
func delegate(model *clewtest.Model, command string, background bool) {
	model.On("Delegate").Reply(clewtest.ToolUse("Agent", map[string]any{
		"description": "Count", "prompt": "INNER count", "subagent_type": "general-purpose", "run_in_background": background,
	}))
	model.On("INNER count").Reply(scene.Bash(command))
	model.OnToolResult("counted").Reply(clewtest.Text("Three."))
	model.OnToolResult("agent launched").Reply(clewtest.Text("Started."))
	model.OnToolResult("Three.").Reply(clewtest.Text("It is three."))
	model.When(func(r *clewtest.Request) bool {
		return strings.Contains(r.Turn().Text(), "<task-notification>")
	}).Reply(clewtest.Text("It is over."))
}

func TestRealSubagent(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	delegate(model, "echo counted", false)
	opts := options(t, model)
	opts.AllowedTools = []string{"Agent", "Bash"}
	got := ask(t, scene.Connect(t, opts), "Delegate")
	got.wantText(t, "It is three.")

	var call string
	inside := map[string]int{}
	for _, msg := range got.messages {
		switch msg := msg.(type) {
		case *wire.AssistantMessage:
			if use, ok := msg.Content[0].(*wire.ToolUseBlock); ok && use.Name == "Agent" {
				call = use.ID
			}
			if msg.ParentToolUseID != "" {
				inside[msg.ParentToolUseID]++
			}
		case *wire.UserMessage:
			if msg.ParentToolUseID != "" {
				inside[msg.ParentToolUseID]++
			}
		}
	}
	if call == "" || len(inside) != 1 || inside[call] < 2 {
		t.Errorf("the subagent of %q has messages %v", call, inside)
	}
	if stats := got.result(t).SubagentStats; stats == nil || stats.Spawned != 1 {
		t.Errorf("statistics %+v", stats)
	}
}

// A turn does not wait for a task in the background. The end of the task is a separate result.
func TestRealBackgroundSubagent(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Meanwhile").Reply(clewtest.Text("Here."))
	delegate(model, untilGo+"; echo counted", true)
	opts := options(t, model)
	opts.AllowedTools = []string{"Agent", "Bash"}
	s := scene.Connect(t, opts)
	first := ask(t, s, "Delegate")
	first.wantText(t, "Started.")
	ask(t, s, "Meanwhile").wantText(t, "Here.")

	writeFile(t, opts.Dir, "go")
	subagent := scene.Of[*wire.TaskStartedMessage](first.messages)[0].TaskID // its command may become a task, too
	var ended []*wire.TaskNotificationMessage
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if msg, ok := msg.(*wire.TaskNotificationMessage); ok && msg.TaskID == subagent {
			ended = append(ended, msg)
		}
		if result, ok := msg.(*wire.ResultMessage); ok {
			if result.Result != "It is over." || result.Origin == nil || result.Origin.Kind != "task-notification" {
				t.Errorf("result %s", result.Raw())
			}
			break
		}
	}
	if len(ended) != 1 || ended[0].Status != wire.TaskStatusCompleted {
		t.Errorf("notifications %v", ended)
	}
}

// A run with hooks continues until the subagent in the background is done. The subagent's hooks are
// also called.
func TestRealQueryWaitsForSubagent(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	delegate(model, "echo counted", true)
	opts := options(t, model)
	opts.AllowedTools = []string{"Agent", "Bash"}
	var calls atomic.Int32
	opts.Hooks = map[hook.Event][]hook.Matcher{hook.PreToolUse: {{
		Matcher: "Bash",
		Hooks: []hook.Func{func(context.Context, hook.Input) (*hook.Output, error) {
			calls.Add(1)
			return nil, nil
		}},
	}}}
	got := read(clew.Query(t.Context(), "Delegate", opts), nil)
	results := scene.Of[*wire.ResultMessage](got.messages)
	if got.err != nil || len(results) != 2 || results[0].Result != "Started." || results[1].Result != "It is over." {
		t.Errorf("results %v, error %v", results, got.err)
	}
	if calls.Load() != 1 {
		t.Errorf("the hook was called %d times", calls.Load())
	}
}

// A command in the background is a task: its output can be read while it runs, and it can be
// stopped.
func TestRealBackgroundCommand(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	sleeper := newSleeper(t, model)
	model.On("Serve").Reply(clewtest.ToolUse("Bash", map[string]any{
		"command": "echo serving; touch begun; " + sleeper.sleep, "description": "Serve", "run_in_background": true,
	}))
	s := scene.Connect(t, sleeper.opts)
	started := scene.Of[*wire.TaskStartedMessage](ask(t, s, "Serve").messages)
	if len(started) != 1 || started[0].TaskType != "local_bash" || !started[0].Backgrounded {
		t.Fatalf("tasks %v", started)
	}
	sleeper.awake(t)
	output, err := s.TaskOutput(t.Context(), started[0].TaskID)
	if diff := cmp.Diff(&clew.TaskOutput{Output: "serving\n", TotalBytes: 8}, output); err != nil || diff != "" {
		t.Errorf("output: %v (-want +got):\n%s", err, diff)
	}
	if err := s.StopTask(t.Context(), started[0].TaskID); err != nil {
		t.Error(err)
	}
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if msg, ok := msg.(*wire.TaskNotificationMessage); ok {
			if msg.TaskID != started[0].TaskID || msg.Status != wire.TaskStatusStopped {
				t.Errorf("notification %s", msg.Raw())
			}
			break
		}
	}
	sleeper.wantGone(t)
}

// Closing a session ends what it is still running in the background.
func TestRealCloseEndsBackgroundCommand(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	sleeper := newSleeper(t, model)
	model.On("Serve").Reply(clewtest.ToolUse("Bash", map[string]any{
		"command": "touch begun; " + sleeper.sleep, "description": "Serve", "run_in_background": true,
	}))
	s := scene.Connect(t, sleeper.opts)
	ask(t, s, "Serve")
	sleeper.awake(t)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	sleeper.wantGone(t)
}

// A run does not wait for a command in the background, for which the agent itself waits.
func TestRealRunWithABackgroundCommand(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	sleeper := newSleeper(t, model)
	model.On("Serve").Reply(clewtest.ToolUse("Bash", map[string]any{
		"command": "touch begun; " + sleeper.sleep, "description": "Serve", "run_in_background": true,
	}))
	sleeper.opts.Limits.CloseTimeout = time.Second // the agent waits for the command until then
	result, err := clew.Run(t.Context(), "Serve", sleeper.opts)
	if err != nil || result.Result != "Yes." {
		t.Errorf("result %v, error %v", result, err)
	}
	sleeper.wantGone(t)
}

// A process that the agent does not know any more, because its command has left it behind, also
// ends with the agent, unless the options keep it.
func TestRealNothingStaysInTheBackground(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere not all processes can be found")
	}
	for name, test := range map[string]struct {
		run   func(t *testing.T, opts *clew.Options)
		keeps bool
	}{
		"Run": {func(t *testing.T, opts *clew.Options) {
			if _, err := clew.Run(t.Context(), "Leave", opts); err != nil {
				t.Error(err)
			}
		}, false},
		"Close": {func(t *testing.T, opts *clew.Options) {
			s := scene.Connect(t, opts)
			ask(t, s, "Leave")
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}, false},
		"KeepBackground": {func(t *testing.T, opts *clew.Options) {
			opts.KeepBackground = true
			if _, err := clew.Run(t.Context(), "Leave", opts); err != nil {
				t.Error(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			sleeper := newSleeper(t, model)
			model.On("Leave").Reply(scene.Bash("nohup " + sleeper.sleep + " >/dev/null 2>&1 & echo $! >left")).Once()
			test.run(t, sleeper.opts)
			if got := sleeper.runs(t); got != test.keeps {
				t.Errorf("the process runs: %v", got)
			}
			if test.keeps {
				endLeft(t, filepath.Join(sleeper.opts.Dir, "left"))
			}
		})
	}
}

// endLeft ends the process whose ID is in a file.
func endLeft(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := os.FindProcess(pid); err != nil || p.Kill() != nil {
		t.Errorf("process %d can't be ended: %v", pid, err)
	}
}

// A command that the turn waits for can be sent to the background. The turn continues without it.
func TestRealMoveToBackground(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	sleeper := newSleeper(t, model)
	s := scene.Connect(t, sleeper.opts)
	got := read(s.Turn(t.Context(), clew.Text("Work")), on(func(msg *wire.TaskStartedMessage) {
		if moved, err := s.BackgroundTasks(t.Context(), msg.ToolUseID); err != nil || !moved {
			t.Errorf("moved %t, %v", moved, err)
		}
	}))
	got.wantText(t, "Yes.")
	if !sleeper.runs(t) {
		t.Error("the command has ended")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	sleeper.wantGone(t)
}
