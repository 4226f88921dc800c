package clew

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/internal/version"
	"github.com/clewdev/clew/wire"
)

// adapted returns the plan for an agent of a version.
func adapted(t *testing.T, o *Options, version string, onePrompt bool) (*launchPlan, error) {
	t.Helper()
	plan, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	err = plan.adapt(version, onePrompt)
	return plan, err
}

// A custom system prompt reaches every version, in the form that the version reads.
func TestSystemPromptByVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"2.1.50": `"One.\n\nTwo."`, "2.1.109": `"One.\n\nTwo."`, "2.1.110": `["One.","Two."]`, "": `["One.","Two."]`,
	} {
		plan, err := adapted(t, &Options{SystemPrompt: &SystemPrompt{Custom: []string{"One.", "Two."}}}, version, true)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(plan.body)
		if err != nil || !strings.Contains(string(body), `"systemPrompt":`+want) {
			t.Errorf("%s: %s, %v", version, body, err)
		}
	}
}

// Agents that don't name the prompts that a result answers send prompts back.
func TestReplayByVersion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version   string
		onePrompt bool
		want      bool
	}{
		{"2.1.50", false, true}, {"2.1.250", false, true}, {"", false, true},
		{"2.1.260", false, false}, {"2.1.325", false, false}, {"2.1.250", true, false}, {"", true, false},
	} {
		plan, err := adapted(t, &Options{ExtraArgs: []string{"--extra"}}, tt.version, tt.onePrompt)
		got := slices.Contains(plan.args, "--replay-user-messages")
		if got != tt.want || got != plan.hidesReplays || err != nil || plan.args[len(plan.args)-1] != "--extra" {
			t.Errorf("%q, one prompt %t: %q, hidden %t, %v", tt.version, tt.onePrompt, plan.args, plan.hidesReplays, err)
		}
	}
	plan, err := adapted(t, &Options{ReplayUserMessages: true}, "2.1.50", false)
	if err != nil || plan.hidesReplays || len(plan.args) != len(fixedArgs)+1 {
		t.Errorf("asked for: %q, hidden %t, %v", plan.args, plan.hidesReplays, err)
	}
}

// Each row of the table is refused for older versions, with the version that has it, and for no
// newer one.
func TestOptionsOfOtherVersions(t *testing.T) {
	t.Parallel()
	o := fullOptions()
	o.Hooks = make(map[hook.Event][]hook.Matcher)
	for _, v := range optionVersions {
		if v.option == "Hooks" {
			o.Hooks[hook.Event(v.part)] = []hook.Matcher{{OnFailure: hook.FailureBlock}}
		}
	}
	o.MCPServers = map[string]MCPServer{
		"in": &MCPInProcessServer{Timeout: 1}, "out": &MCPHTTPServer{Tools: []MCPToolPolicy{{Name: "x"}}},
	}
	for _, v := range optionVersions {
		if !v.set(o) || v.set(new(Options)) {
			t.Errorf("%s %s: set %t, and %t without options", v.option, v.part, v.set(o), v.set(new(Options)))
		}
		if !version.Valid(v.since) || version.Compare(v.since, MinAgentVersion) < 0 {
			t.Errorf("%s %s: since %s", v.option, v.part, v.since)
		}
	}
	for _, found := range []string{"2.1.317", "2.1.326", ""} {
		if err := o.checkVersion(found); err != nil {
			t.Errorf("%q: %v", found, err)
		}
	}
	err := (&Options{ToolAliases: map[string]string{"a": "b"}}).checkVersion("2.1.141")
	const want = "clew: option ToolAliases: Claude Code 2.1.141 may ignore it: use version 2.1.142 or newer"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if !o.dependsOnVersion() || new(Options).dependsOnVersion() || (&Options{Model: "opus"}).dependsOnVersion() {
		t.Error("other options depend on the version")
	}
}

// Each field of a prompt in the table is refused for older versions, and for no newer one.
func TestPromptsOfOtherVersions(t *testing.T) {
	t.Parallel()
	unasked := false
	for _, test := range []struct {
		prompt            wire.UserMessage
		field, old, newer string
	}{
		{wire.UserMessage{ShouldQuery: &unasked}, "ShouldQuery", "2.1.109", "2.1.150"},
		{wire.UserMessage{ClientComposed: true}, "ClientComposed", "2.1.200", "2.1.250"},
		{wire.UserMessage{PastedContent: []wire.JSON{`"x"`}}, "PastedContent", "2.1.250", "2.1.300"},
		{wire.UserMessage{InlinePastes: []string{"x"}}, "InlinePastes", "2.1.250", "2.1.300"},
	} {
		want := fmt.Sprintf("clew: option UserMessage.%s: Claude Code %s may ignore it: use version %s or newer", test.field, test.old, test.newer)
		if err := checkPrompt(&test.prompt, test.old); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		for _, found := range []string{test.newer, "2.1.325", ""} {
			if err := checkPrompt(&test.prompt, found); err != nil {
				t.Errorf("%q: %v", found, err)
			}
		}
		if fitsAll(&test.prompt) || promptOf(&test.prompt).isOne() {
			t.Errorf("a prompt with %s fits all versions", test.field)
		}
	}
	asked := true
	if prompt := Text("Hi"); !fitsAll(prompt) || !promptOf(prompt).isOne() || !fitsAll(nil) || !fitsAll(&wire.UserMessage{ShouldQuery: &asked}) {
		t.Error("a plain prompt does not fit all versions")
	}
}

// A prompt either is sent, with a warning when the version becomes known, or is refused.
func TestPromptWhileTheVersionBecomesKnown(t *testing.T) {
	t.Parallel()
	for range 20_000 {
		var log bytes.Buffer
		s := &Session{opts: new(Options), log: slog.New(slog.NewTextHandler(&log, nil))}
		s.agent = newAgent(s, nil)
		var known sync.WaitGroup
		known.Go(func() { s.agent.checkSent("2.1.200") })
		refused := s.agent.checkPrompt(&wire.UserMessage{ClientComposed: true}, "p") != nil
		known.Wait()
		if warned := log.Len() > 0; warned == refused || s.agent.unchecked != nil {
			t.Fatalf("refused %t, log %q, unchecked %v", refused, &log, s.agent.unchecked)
		}
	}
}

// The documentation has the same table.
func TestDocumentedVersions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, v := range optionVersions {
		part := v.part
		if part == "" {
			part = "all of it"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", v.option, part, v.since)
	}
	for _, v := range promptVersions {
		fmt.Fprintf(&table, "| `UserMessage` | %s | %s |\n", v.field, v.since)
	}
	fmt.Fprintf(&table, "| `InterruptOptions` | CancelQueued | %s |\n", cancelsQueue)
	if !strings.Contains(string(page), "|---|---|---|\n"+table.String()+"\n") {
		t.Errorf("docs/production.md lacks this table:\n%s", table.String())
	}
}

func TestUnknownFlag(t *testing.T) {
	t.Parallel()
	plan := &launchPlan{options: &Options{Restricted: true, Effort: EffortHigh}, version: "2.1.200"}
	for _, tt := range []struct{ stderr, option, want string }{
		{"error: unknown option '--restricted'\n", "Restricted", "Claude Code 2.1.200 has no flag --restricted: "},
		{"error: unknown option '--effort=high'\n", "Effort", "Claude Code 2.1.200 has no flag --effort: "},
	} {
		refused, ok := errors.AsType[*OptionsError](plan.unknownFlag(tt.stderr))
		if !ok || refused.Option != tt.option || !strings.Contains(refused.Reason, tt.want) {
			t.Errorf("%q: error %v", tt.stderr, refused)
		}
	}
	for _, stderr := range []string{"", "no key", "error: unknown option '--of-a-user'"} {
		if err := plan.unknownFlag(stderr); err != nil {
			t.Errorf("%q: %v", stderr, err)
		}
	}
}

// Claude Code up to 2.1.88 gives no reason for the end of a turn.
func TestInterruptedByVersion(t *testing.T) {
	t.Parallel()
	const failed = `{"type":"result","subtype":"error_during_execution","session_id":"s","uuid":"r"`
	for frame, want := range map[string]bool{
		failed + `,"is_error":false,"errors":[]}`: true, // 2.1.50
		failed + `,"is_error":true,"errors":["[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null"]}`: true, // 2.1.88
		failed + `,"is_error":true,"errors":["[ede_diagnostic] result_type=assistant"]}`:                                   false,
		failed + `,"is_error":true,"errors":["No conversation found"]}`:                                                    false,
		failed + `,"is_error":true,"terminal_reason":"aborted_tools"}`:                                                     true,
		failed + `,"is_error":true,"terminal_reason":"model_error"}`:                                                       false,
	} {
		result, ok := wire.Decode([]byte(frame)).(*wire.ResultMessage)
		if !ok {
			t.Fatal(frame)
		}
		if got := (&ResultError{Result: result}).Interrupted(); got != want {
			t.Errorf("interrupted %t: %s", got, frame)
		}
	}
}

func TestUnsupportedByVersion(t *testing.T) {
	t.Parallel()
	for err, want := range map[*ControlError]bool{
		{Code: "unsupported_request", Message: "x"}:                    true,
		{Message: "Unsupported control request subtype: list_models"}:  true, // 2.1.300
		{Message: "No model"}:                                          false,
		{Code: "invalid", Message: "Unsupported control request subt"}: false,
		{Code: codeNoAnswer}:                                           false,
	} {
		if err.Unsupported() != want {
			t.Errorf("%+v: unsupported %t", err, !want)
		}
	}
}

// docs/compatibility.md has the outcome of "make versions", for each version in the Makefile.
func TestReadmeVersions(t *testing.T) {
	t.Parallel()
	results, err := os.ReadFile("dev/realtest/versions/testdata/results.txt")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	var versions []string
	for line := range strings.Lines(string(results)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			t.Fatalf("result %q", line)
		}
		versions = append(versions, fields[0])
		fmt.Fprintf(&table, "| %s |\n", strings.Join(fields, " | "))
	}
	last := len(versions) - 1
	if want := "\nVERSIONS := " + strings.Join(versions[:last], " ") + " $(AGENT_VERSION)\n"; versions[0] != MinAgentVersion ||
		!strings.Contains(string(makefile), want) {
		t.Errorf("results of %q: run make versions", versions)
	}
	page, err := os.ReadFile("docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "|---|---|---|\n"+table.String()+"\n") {
		t.Errorf("docs/compatibility.md lacks this table:\n%s", table.String())
	}
}
