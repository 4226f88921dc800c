package features_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

func TestRealMaxTurnsAndBudget(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		opts *clew.Options
		want wire.ResultSubtype
	}{
		{"turns", &clew.Options{MaxTurns: 1}, wire.ResultErrorMaxTurns},
		{"budget", &clew.Options{MaxBudgetUSD: 0.01}, wire.ResultErrorMaxBudgetUSD},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			model.On("Go").Reply(bash("echo one")).Usage(1_000_000, 1_000, 0, 0)
			result, err := clew.Run(t.Context(), "Go", over(t, model, tt.opts))
			var failed *clew.ResultError
			if !errors.As(err, &failed) || failed.Result != result || result.Subtype != tt.want {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestRealEnv(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Print it").Reply(bash("echo $THREAD of $WOOL"))
	model.OnToolResult("").Reply(clewtest.Text("Printed."))
	k := query(t, model, "Print it", &clew.Options{
		AllowedTools: []string{"Bash"}, Env: []string{"THREAD=a ball", "WOOL=wool", "THREAD=a clew"},
	})
	if got := only(t, k.toolResults()).Text(); got != "a clew of wool" {
		t.Errorf("output %q", got)
	}
}

// The agent writes its debug log to its standard error, with a flag that is not an option.
func TestRealExtraArgsAndStderr(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Fine.")
	var lines []string
	query(t, model, "Go", &clew.Options{
		ExtraArgs: []string{"--debug-to-stderr"},
		Stderr:    func(line string) { lines = append(lines, line) },
	})
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "[DEBUG]") }) {
		t.Errorf("lines %q", lines)
	}
	if slices.ContainsFunc(lines, func(line string) bool { return strings.ContainsAny(line, "\r\n") }) {
		t.Errorf("lines with their ends: %q", lines)
	}
}

func TestRealUnknownFlag(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	_, err := clew.Connect(t.Context(), over(t, model, &clew.Options{ExtraArgs: []string{"--no-such-flag"}}))
	var exit *clew.ExitError
	if !errors.As(err, &exit) || exit.Code != 1 || exit.Forced {
		t.Fatalf("error %v", err)
	}
	wantText(t, "stderr", exit.Stderr, "--no-such-flag")
}

// What was recorded with Claude Code is played by a simulated agent, to the same effect.
func TestRealRecord(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	touches(model, "file")
	var record bytes.Buffer
	run := func(opts *clew.Options) *talk {
		door, hook := new(permissionCalls).say(clew.Allow(), nil), new(hookCalls)
		opts.CanUseTool, opts.Hooks = door.call, hooksAt(clew.HookPreToolUse, hook.call)
		k := succeed(t, clew.Query(t.Context(), "Make a file", opts))
		only(t, door.calls())
		only(t, hook.calls())
		return k
	}
	first := run(over(t, model, &clew.Options{Record: &record}))
	scenario, err := clewtest.ReadDialogue(&record)
	if err != nil {
		t.Fatal(err)
	}
	agent := clewtest.NewAgent(t, scenario)
	second := run(&clew.Options{Transport: clew.TransportFunc(
		func(context.Context, *clew.Launch) (clew.Connection, error) { return agent.Conn(), nil },
	)})
	if diff := cmp.Diff(kinds(first), kinds(second)); diff != "" {
		t.Errorf("messages (-recorded +played):\n%s", diff)
	}
	if got, want := only(t, second.toolResults()).Raw(), only(t, first.toolResults()).Raw(); got != want {
		t.Errorf("result of the tool: %s, recorded: %s", got, want)
	}
}

// kinds returns the kinds of the messages of a talk.
func kinds(k *talk) []string {
	var list []string
	for _, msg := range k.messages {
		list = append(list, msg.Kind().String())
	}
	return list
}
