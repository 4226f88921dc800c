//nolint:contextcheck // a model ends with its test
package versions_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/sessions"
)

// run makes a run over a model whose answer is "Hello.".
func run(ctx context.Context, t *testing.T, opts *clew.Options) (*clew.ResultMessage, *clewtest.Request, error) {
	t.Helper()
	model := clewtest.NewModel(t)
	model.Reply("Hello.")
	result, err := clew.Run(ctx, "Hi", scene.Options(t, model, opts))
	return result, scene.Newest(model), err
}

func TestRuns(t *testing.T) {
	t.Parallel()
	systemPrompts(t)
	rest(t, "structured output", func(t *testing.T, ctx context.Context) error {
		model := clewtest.NewModel(t)
		model.On("Go").Reply(clewtest.ToolUse("StructuredOutput", map[string]int{"answer": 42}))
		model.OnToolResult("").Reply(clewtest.Text("Done."))
		got, _, err := clew.RunAs[struct {
			Answer int `json:"answer"`
		}](ctx, "Go", scene.Options(t, model, nil))
		return errors.Join(err, errIf(err == nil && got.Answer != 42, "answer %d", got.Answer))
	})
	rest(t, "no tools", func(t *testing.T, ctx context.Context) error {
		_, request, err := run(ctx, t, &clew.Options{Tools: []string{}})
		return errors.Join(err, errIf(strings.Contains(string(request.Body), `"name":"Bash"`), "there is a tool"))
	})
	rest(t, "a disallowed tool", func(t *testing.T, ctx context.Context) error {
		_, request, err := run(ctx, t, &clew.Options{DisallowedTools: []string{"Bash"}})
		return errors.Join(err, errIf(strings.Contains(string(request.Body), `"name":"Bash"`), "there is the tool"))
	})
	scenario(t, "nobody allows a tool", func(t *testing.T, ctx context.Context) error {
		model, dir := clewtest.NewModel(t), scene.Dir(t)
		model.On("Go").Reply(scene.Bash("touch made"))
		model.OnToolResult("").Reply(clewtest.Text("Done."))
		_, err := clew.Run(ctx, "Go", scene.Options(t, model, &clew.Options{Dir: dir, PermissionMode: clew.PermissionModeDefault}))
		return errors.Join(err, errIf(there(dir, "made"), "the tool ran"))
	})
	rest(t, "limit of turns", func(t *testing.T, ctx context.Context) error {
		model := clewtest.NewModel(t)
		model.On("").Reply(scene.Bash("echo again"))
		_, err := clew.Run(ctx, "Go", scene.Options(t, model, &clew.Options{Limits: clew.Limits{MaxTurns: 1}, AllowedTools: []string{"Bash"}}))
		failed, ok := errors.AsType[*clew.ResultError](err)
		return errIf(!ok || failed.Interrupted(), "error %v", err)
	})
	for name, callback := range map[string]clew.ElicitationFunc{"": nil, " and a callback": declines} {
		run := scenario
		if callback == nil {
			run = rest
		}
		run(t, "a run with three prompts"+name, func(t *testing.T, ctx context.Context) error {
			model := clewtest.NewModel(t)
			model.Reply("Hello.")
			prompts := slices.Values([]*clew.UserMessage{clew.Text("One"), clew.Text("Two"), clew.Text("Three")})
			_, err := clew.Run(ctx, prompts, scene.Options(t, model, &clew.Options{OnElicitation: callback}))
			return errors.Join(err, lacks("the request", string(scene.Newest(model).Body), "Three"))
		})
	}
	newerOptions(t)
}

func declines(context.Context, *clew.ElicitationRequest) (*clew.ElicitationResult, error) {
	return nil, errors.New("nobody is here")
}

func systemPrompts(t *testing.T) {
	scenario(t, "custom system prompt", func(t *testing.T, ctx context.Context) error {
		_, request, err := run(ctx, t, &clew.Options{SystemPrompt: &clew.SystemPrompt{Custom: []string{"First.", "Second."}, Append: "Last."}})
		body := string(request.Body)
		return errors.Join(err, lacks("the request", body, "First."), lacks("the request", body, "Second."), lacks("the request", body, "Last."))
	})
	rest(t, "empty system prompt", func(t *testing.T, ctx context.Context) error {
		_, usual, err := run(ctx, t, nil)
		_, request, serr := run(ctx, t, &clew.Options{SystemPrompt: &clew.SystemPrompt{Custom: []string{}}})
		own, empty := len(usual.System.Text()), len(request.System.Text())
		return errors.Join(err, serr, errIf(empty > own/4, "the agent's own is there: %d of %d characters", empty, own))
	})
}

// newerOptions tests options that older versions lack: each works or is refused.
func newerOptions(t *testing.T) {
	for name, opts := range map[string]*clew.Options{
		"tool aliases":        {ToolAliases: map[string]string{"Shell": "Bash"}},
		"title":               {Session: clew.SessionOptions{Title: "A title"}},
		"restricted":          {Restricted: true},
		"verbatim prompts":    {VerbatimPrompts: true},
		"plan instructions":   {PlanModeInstructions: "Plan."},
		"no dynamic sections": {SystemPrompt: &clew.SystemPrompt{ExcludeDynamicSections: true}},
		"a hook that blocks": {Hooks: map[hook.Event][]hook.Matcher{hook.PreToolUse: {{
			Hooks: []hook.Func{func(context.Context, hook.Input) (*hook.Output, error) { return nil, nil }}, OnFailure: hook.FailureBlock,
		}}}},
		"a store": {Store: clew.StoreOptions{Store: sessions.NewMemory()}},
	} {
		rest(t, name, func(t *testing.T, ctx context.Context) error {
			_, _, err := run(ctx, t, opts)
			return err
		})
	}
	if os.Getenv(reportVariable) != "" {
		return // each of them is in the report
	}
	t.Run("newer options at once", func(t *testing.T) {
		_, _, err := run(t.Context(), t, &clew.Options{
			ToolAliases: map[string]string{"Shell": "Bash"}, Session: clew.SessionOptions{Title: "A title"}, Restricted: true, VerbatimPrompts: true,
			PlanModeInstructions: "Plan.", SystemPrompt: &clew.SystemPrompt{ExcludeDynamicSections: true}, Store: clew.StoreOptions{Store: sessions.NewMemory()},
		})
		if err != nil && !isRefusal(err) {
			t.Error(err)
		}
	})
}

func TestResume(t *testing.T) {
	t.Parallel()
	model, dir := clewtest.NewModel(t), scene.Dir(t)
	model.Reply("Hello.")
	const id = "11111111-2222-4333-8444-555555555555"
	again := func(ctx context.Context, opts clew.Options) (*clew.ResultMessage, error) {
		opts.Dir = dir
		result, err := clew.Run(ctx, "And now?", scene.Options(t, model, &opts))
		return result, errors.Join(err, lacks("the request", string(scene.Newest(model).Body), "Remember the tree"))
	}
	scenario(t, "a chosen session ID", func(t *testing.T, ctx context.Context) error {
		result, err := clew.Run(ctx, "Remember the tree", scene.Options(t, model, &clew.Options{Dir: dir, Session: clew.SessionOptions{ID: id}}))
		return errors.Join(err, errIf(err == nil && result.SessionID != id, "session %s", result.SessionID))
	})
	scenario(t, "resume", func(_ *testing.T, ctx context.Context) error {
		result, err := again(ctx, clew.Options{Session: clew.SessionOptions{Resume: id}})
		return errors.Join(err, errIf(err == nil && result.SessionID != id, "another session"))
	})
	rest(t, "fork", func(_ *testing.T, ctx context.Context) error {
		result, err := again(ctx, clew.Options{Session: clew.SessionOptions{Resume: id, Fork: true}})
		return errors.Join(err, errIf(err == nil && result.SessionID == id, "the same session"))
	})
	rest(t, "continue", func(_ *testing.T, ctx context.Context) error {
		_, err := again(ctx, clew.Options{Session: clew.SessionOptions{Continue: true}})
		return err
	})
	rest(t, "no such session", func(t *testing.T, ctx context.Context) error {
		_, err := clew.Run(ctx, "Hi", scene.Options(t, model, &clew.Options{Dir: dir, Session: clew.SessionOptions{Resume: "99999999-2222-4333-8444-555555555555"}}))
		return errIf(err == nil, "no error")
	})
}
