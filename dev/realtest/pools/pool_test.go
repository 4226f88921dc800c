package pools_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/screens"
	"github.com/clewdev/clew/wire"
)

// The request that idle agents answer reaches no model, and leaves no transcript.
func TestRealPoolAsksNoModel(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	s, err := clew.Connect(t.Context(), scene.Options(t, model, nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := screens.Context(t.Context(), s, &screens.ContextOptions{Estimate: true}); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := model.AllRequests(); len(got) > 0 {
		t.Errorf("%d requests, the first to %s", len(got), got[0].Path)
	}
	transcripts, err := filepath.Glob(filepath.Join(model.ConfigDir(), "projects", "*", "*.jsonl"))
	if err != nil || len(transcripts) > 0 {
		t.Errorf("error %v, transcripts %q", err, transcripts)
	}
}

// The callbacks of the options serve all agents.
func TestRealPoolAsksForPermission(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Make one").Reply(scene.Bash("touch one"))
	model.On("Make two").Reply(scene.Bash("touch two"))
	model.OnToolResult("").Reply(clewtest.Text("Done."))
	asked := make(chan string, 10)
	opts := scene.Options(t, model, &clew.Options{
		CanUseTool: func(_ context.Context, req *permission.Request) (permission.Result, error) {
			asked <- req.ToolName
			return permission.Allow(), nil
		},
	})
	p := open(t, opts, nil)
	ask(t, p, "Make one")
	s, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Turn(t.Context(), clew.Text("Make two")) {
		if err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"one", "two"} {
		if _, err := os.Stat(filepath.Join(opts.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	if len(asked) != 2 {
		t.Errorf("asked %d times", len(asked))
	}
}

// Many callers at once share four agents, and each gets its own answer.
func TestRealPoolOfFour(t *testing.T) {
	callers := soak.Size(6, 50)
	for name, test := range map[string]struct{ uses, started int }{
		"an agent for each":     {1, callers + 4},
		"agents that serve ten": {10, callers/10 + 7},
	} {
		t.Run(name, func(t *testing.T) {
			model := clewtest.NewModel(t)
			for i := range callers {
				model.On(fmt.Sprintf("number %d.", i)).Reply(clewtest.Text(fmt.Sprintf("It is %d.", i)))
			}
			processes := new(counter)
			opts := scene.Options(t, model, &clew.Options{Transport: processes})
			p := open(t, opts, &clew.PoolOptions{Warm: 4, MaxAgents: 4, MaxUses: test.uses})
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					result, err := p.Run(t.Context(), clew.Text(fmt.Sprintf("Say number %d.", i)))
					if err != nil || result.Result != fmt.Sprintf("It is %d.", i) {
						t.Errorf("%d: result %v, error %v", i, result, err)
					}
				})
			}
			all.Wait()
			stats := p.Stats()
			if err := p.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			if alive, most := processes.counts(); alive != 0 || most > 4 {
				t.Errorf("%d processes are left, there were %d at once", alive, most)
			}
			if stats.Served != callers || stats.Started > test.started || stats.Failed+stats.Died > 0 {
				t.Errorf("%+v", stats)
			}
			if got := len(model.Requests()); got != callers {
				t.Errorf("the model was asked %d times", got)
			}
		})
	}
}

// allow grants every permission, with these changes.
func allow(changes ...permission.Update) permission.Func {
	return func(context.Context, *permission.Request) (permission.Result, error) {
		return &permission.AllowResult{UpdatedPermissions: changes}, nil
	}
}

// The second caller of an agent, and its model, see nothing of the first one's session.
func TestRealPoolForgets(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("the secret word").Usage(1000, 1000, 0, 0).
		Reply(clewtest.Text("Hush."), scene.Bash("cd sub && touch bobbin && export WORD=thimble && pwd"))
	model.On("Where are we").Reply(scene.Bash(`pwd; echo "[$WORD]"`))
	model.OnToolResult("").Reply(clewtest.Text("Done."))
	opts := scene.Options(t, model, &clew.Options{CanUseTool: allow()})
	if err := os.Mkdir(filepath.Join(opts.Dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := open(t, opts, &clew.PoolOptions{MaxAgents: 1, MaxUses: 10})
	first := ask(t, p, "Remember the secret word: thimble.")
	before := len(model.AllRequests())
	var second *wire.ResultMessage
	var seen strings.Builder
	for msg, err := range p.Query(t.Context(), clew.Text("Where are we?")) {
		if err != nil {
			t.Fatal(err)
		}
		seen.WriteString(msg.Raw())
		if result, ok := msg.(*wire.ResultMessage); ok {
			second = result
		}
	}
	if got := p.Stats(); got.Reused != 1 || got.Started != 1 {
		t.Fatalf("%+v", got)
	}
	for _, word := range []string{"thimble", "secret", "Hush", "bobbin", first.SessionID, filepath.Join(opts.Dir, "sub")} {
		if strings.Contains(seen.String(), word) {
			t.Errorf("the caller sees %q", word)
		}
		if strings.Contains(bodies(model, before), word) {
			t.Errorf("the model is told %q", word)
		}
	}
	if !strings.Contains(seen.String(), opts.Dir+`\n[]`) {
		t.Errorf("the command ran elsewhere: %s", &seen)
	}
	if second.SessionID == first.SessionID {
		t.Errorf("both are session %s", first.SessionID)
	}
	if second.TotalCostUSD >= first.TotalCostUSD {
		t.Errorf("the first one cost $%v, the second one $%v", first.TotalCostUSD, second.TotalCostUSD)
	}
}

// A pool does not pass on an agent with state that /clear keeps: the next caller gets another
// agent.
func TestRealPoolPassesNothingOn(t *testing.T) {
	session := permission.DestinationSession
	for name, test := range map[string]struct {
		use   wire.Block
		allow permission.Func
	}{
		"a rule": {
			scene.Bash("touch one"),
			allow(permission.AddRules(session, permission.BehaviorAllow, permission.Rule{ToolName: "Write"})),
		},
		"a folder": {scene.Bash("touch one"), allow(permission.AddDirectories(session, os.TempDir()))},
		"a mode":   {scene.Bash("touch one"), allow(permission.SetMode(session, clew.PermissionModeAcceptEdits))},
		"a schedule": {
			clewtest.ToolUse("CronCreate", map[string]any{"cron": "* * * * *", "prompt": "Again", "recurring": true}),
			allow(),
		},
		"a plan": {clewtest.ToolUse("EnterPlanMode", struct{}{}), allow()},
		"a command in the background": {
			clewtest.ToolUse("Bash", map[string]any{"command": "sleep 600", "description": "Rest", "run_in_background": true}),
			allow(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			model.On("First").Reply(test.use).Once()
			model.OnToolResult("").Reply(clewtest.Text("Done."))
			model.Reply("Yes.")
			opts := scene.Options(t, model, &clew.Options{CanUseTool: test.allow})
			opts.Limits.CloseTimeout = time.Second // an agent with a command in the background exits only when it ends
			p := open(t, opts, &clew.PoolOptions{MaxAgents: 1, MaxUses: 10})
			ask(t, p, "First")
			ask(t, p, "Second")
			if got := p.Stats(); got.Reused != 0 || got.Started != 2 {
				t.Errorf("%+v", got)
			}
		})
	}
}
