package versions_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/clewdev/clew/internal/soak"
)

// reportVariable names a file that gets a line with the numbers of passed and refused scenarios.
const reportVariable = "CLEW_VERSIONS_REPORT"

// A tally counts how scenarios ended.
type tally struct {
	mu              sync.Mutex
	passed, refused int
}

var outcomes tally

func TestMain(m *testing.M) {
	code := m.Run()
	if path := os.Getenv(reportVariable); path != "" && code == 0 {
		line := fmt.Sprintf("%d %d\n", outcomes.passed, outcomes.refused)
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// patience bounds each scenario: a version that hangs a caller fails the test.
const patience = 15 * time.Minute

// scenario runs a test that passes, or whose error is a clear refusal: an option or a control
// request that the version does not have.
func scenario(t *testing.T, name string, run func(t *testing.T, ctx context.Context) error) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err := run(t, ctx)
		outcomes.mu.Lock()
		defer outcomes.mu.Unlock()
		switch {
		case err == nil:
			outcomes.passed++
		case isRefusal(err):
			outcomes.refused++
			t.Logf("refused: %v", err)
		default:
			t.Error(err)
		}
	})
}

// rest is like scenario, for work that takes too long for every test run: its own agent for a check
// that other packages make with the simulated agent. "make versions" and "make test-rest" run it.
func rest(t *testing.T, name string, run func(t *testing.T, ctx context.Context) error) {
	t.Helper()
	scenario(t, name, func(t *testing.T, ctx context.Context) error {
		if os.Getenv(reportVariable) == "" {
			soak.Rest(t)
		}
		return run(t, ctx)
	})
}

func isRefusal(err error) bool {
	if option, ok := errors.AsType[*clew.OptionsError](err); ok {
		return strings.Contains(option.Reason, "Claude Code ")
	}
	control, ok := errors.AsType[*clew.ControlError](err)
	return ok && control.Unsupported()
}

// told returns a turn's result.
func told(ctx context.Context, s *clew.Session, prompt *clew.UserMessage) (*clew.ResultMessage, []clew.Message, error) {
	all, err := scene.Read(s.Turn(ctx, prompt), nil)
	results := scene.Of[*clew.ResultMessage](all)
	if err != nil || len(results) == 0 {
		return nil, all, errors.Join(err, errIf(err == nil, "a turn without a result"))
	}
	return results[len(results)-1], all, nil
}

// says runs a turn whose result must be that text.
func says(ctx context.Context, s *clew.Session, prompt, want string) error {
	result, _, err := told(ctx, s, clew.Text(prompt))
	if err != nil {
		return err
	}
	return errIf(result.Result != want, "%s: result %q, want %q", prompt, result.Result, want)
}

// errIf returns an error if something is wrong.
func errIf(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// lacks returns an error unless text contains words.
func lacks(what, text, words string) error {
	return errIf(!strings.Contains(text, words), "%s lacks %q: %.2000s", what, words, text)
}

// toolText returns what the model was last told about its tool calls.
func toolText(model *clewtest.Model) string {
	all := model.Requests()
	for _, request := range slices.Backward(all) {
		if results := request.ToolResults(); len(results) > 0 {
			return results[len(results)-1].Text()
		}
	}
	return ""
}

func there(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// calls counts callback calls.
type calls struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *calls) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int)
	}
	c.n[name]++
}

// none returns an error if there was no such call.
func (c *calls) none(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errIf(c.n[name] == 0, "%s was not called", name)
}
