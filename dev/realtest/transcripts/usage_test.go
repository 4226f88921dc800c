package transcripts_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

func agent(name, prompt string, background bool) wire.Block {
	return clewtest.ToolUse("Agent", map[string]any{
		"description": name, "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": background,
	})
}

func notified(r *clewtest.Request) bool {
	return strings.Contains(r.Turn().Text(), "<task-notification>")
}

// An account is a project with everything that repeats lines or omits them: tool calls at once,
// subagents of subagents and in the background, a failure and a retry, an interrupt, a compaction,
// a new conversation in the same process, a resume, and forks of both kinds.
type account struct {
	script
	opts *clew.Options
	ids  map[string]string      // the names of the sessions by ID
	live *transcript.Transcript // of the first process
	// total is the cost of the first session in dollars, according to the agent's last result.
	total       float64
	interrupted int // the index of the interrupted reply
}

// The summary of a compaction is an answer that is in no transcript.
var summaryUsage = usage.Usage{InputTokens: 10, OutputTokens: 20}

func (a *account) scriptFirst() {
	m := a.model
	a.add(m.On("Do both"), "first", "",
		clewtest.Thinking("Both, then.", "signature"), clewtest.Text("Both."), bash("echo one"), bash("echo two"))
	a.add(m.OnToolResult("two"), "first", "", clewtest.Text("Done"), clewtest.Text("both."))

	a.add(m.On("Delegate"), "first", "", agent("Outer", "OUTER", false), agent("Other", "OTHER", false))
	a.add(m.On("OUTER"), "first", "Outer", agent("Inner", "INNER", false))
	a.add(m.On("INNER"), "first", "Inner", bash("echo inside"))
	a.add(m.OnToolResult("inside"), "first", "Inner", clewtest.Text("Inner answer."))
	a.add(m.OnToolResult("Inner answer."), "first", "Outer", clewtest.Text("Outer answer."))
	a.add(m.On("OTHER"), "first", "Other", clewtest.Text("Other answer."))
	a.add(m.OnToolResult("Outer answer."), "first", "", clewtest.Text("Delegated."))

	a.add(m.On("Behind"), "first", "", agent("Hidden", "HIDDEN", true))
	a.add(m.On("HIDDEN"), "first", "Hidden", bash(untilGo+"; echo hidden"))
	a.add(m.OnToolResult("agent launched"), "first", "", clewtest.Text("Started."))
	a.add(m.OnToolResult("hidden"), "first", "Hidden", clewtest.Text("Hidden answer."))
	a.add(m.When(notified), "first", "", clewtest.Text("It is over."))

	m.On("Overloaded").Fail(529).Once()
	a.add(m.On("Overloaded"), "first", "", clewtest.Text("At last."))
	a.add(m.On("Long"), "first", "", clewtest.Text(strings.Repeat("word ", 500))).ChunkSize(10).Pace(20 * time.Millisecond)
	a.interrupted = len(a.replies) - 1
	a.replies[a.interrupted].Usage.OutputTokens = 1 // the usage at the start of the answer
	m.On("CRITICAL: Respond with TEXT ONLY").Reply(clewtest.Text("<summary>\nAll that.\n</summary>")).
		Usage(summaryUsage.InputTokens, summaryUsage.OutputTokens, 0, 0)
	a.add(m.On("After that"), "first", "", clewtest.Text("Afterwards."))
	m.On("Refused").Fail(400).Message("scripted refusal") // the next prompt repeats it
}

func (a *account) scriptRest() {
	m := a.model
	a.add(m.On("Anew"), "second", "", clewtest.Text("New."))
	a.add(m.On("Resumed"), "first", "", clewtest.Text("Again."))
	a.add(m.On("Forked"), "fork", "", clewtest.Text("Apart."))
	a.add(m.On("Copied"), "copy", "", clewtest.Text("Copy."))
}

func openAccount(t *testing.T) *account {
	model := clewtest.NewModel(t)
	a := &account{script: script{model: model}, opts: sceneOptions(t, model), ids: map[string]string{}}
	a.opts.IncludePartialMessages = true
	a.opts.Env = append(a.opts.Env, "CLAUDE_CODE_MAX_RETRIES=1")
	a.scriptRest()
	a.scriptFirst()
	return a
}

// run runs all sessions, one process after the other.
func (a *account) run(t *testing.T) {
	p := play(t, a.opts)
	p.ask(t, "Do both", "Delegate", "Behind")
	letGo(t, a.opts.Dir)
	p.wait(t)
	p.ask(t, "Overloaded")
	if err := p.say(t, clew.Text("Refused"), nil); err == nil {
		t.Error("no error of a call that was refused")
	}
	var once sync.Once
	err := p.say(t, clew.Text("Long"), func(msg wire.Message) {
		if e, ok := msg.(*wire.StreamEventMessage); ok && e.Event.EventType() == "content_block_delta" {
			once.Do(func() { _, _ = p.Interrupt(t.Context(), nil) })
		}
	})
	if err == nil {
		t.Error("no error of a turn that was interrupted")
	}
	p.ask(t, "/compact", "After that")
	a.ids[p.ID()], a.total = "first", p.result.TotalCostUSD
	p.ask(t, "/clear", "Anew")
	a.live = p.live.Transcript()
	transcript.Link(a.live, transcript.InlineAgents(a.live))
	a.ids[p.end(t)] = "second"
	a.again(t)
}

// again resumes the first session, and forks it.
func (a *account) again(t *testing.T) {
	opts := *a.opts
	opts.Session.Resume = a.id("first")
	a.next(t, &opts, "first", "Resumed")
	opts.Session.Fork = true
	a.next(t, &opts, "fork", "Forked")
	copied, err := sessions.Fork(t.Context(), opts.Session.Resume, &sessions.ForkOptions{Store: projects(a.model)})
	if err != nil {
		t.Fatal(err)
	}
	opts.Session.Resume, opts.Session.Fork = copied, false
	a.next(t, &opts, "copy", "Copied")
}

func (a *account) next(t *testing.T, opts *clew.Options, name, prompt string) {
	p := play(t, opts)
	p.ask(t, prompt)
	a.ids[p.end(t)] = name
}

// id returns the ID of a session.
func (a *account) id(name string) string {
	for id, n := range a.ids {
		if n == name {
			return id
		}
	}
	return ""
}

// Each answer counts once, for the session and the subagent that got it, and costs what the agent
// says, if the agent has written it to a transcript.
func TestRealUsage(t *testing.T) {
	t.Parallel()
	a := openAccount(t)
	a.run(t)
	transcripts := map[string]*transcript.Transcript{}
	agents := map[string]string{}
	for id, name := range a.ids {
		transcripts[name] = recorded(t, a.model, id)
		for id, agent := range agentsOf(transcripts[name]) {
			agents[id] = agent.Description()
		}
	}
	calls := a.usage(t)
	if diff := cmp.Diff(a.said(""), told(t, calls, a.ids, agents)); diff != "" {
		t.Errorf("all (-script +transcripts):\n%s", diff)
	}
	for _, name := range []string{"first", "second"} {
		if diff := cmp.Diff(a.said(name), told(t, transcripts[name].Calls(), a.ids, agents)); diff != "" {
			t.Errorf("%s (-script +transcript):\n%s", name, diff)
		}
	}
	a.testReport(t, calls, agents)
	a.testCosts(t, calls, transcripts)
	a.testLive(t, transcripts)
}

func (a *account) usage(t *testing.T) []usage.Call {
	t.Helper()
	report, err := sessions.ScanUsage(t.Context(), &sessions.UsageOptions{Store: projects(a.model)})
	if err != nil || report.BadLines > 0 || len(report.Unread) > 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	return report.Tally.Calls()
}

// testReport compares the costs of each subagent of each session.
func (a *account) testReport(t *testing.T, calls []usage.Call, agents map[string]string) {
	type owner struct{ session, agent string }
	want, got := map[owner]usage.Money{}, map[owner]usage.Money{}
	for _, r := range a.replies {
		want[owner{r.Session, r.Agent}] += cost(r.Usage)
	}
	report := usage.NewReport(calls, &usage.ReportOptions{By: []usage.Dimension{usage.BySession, usage.ByAgent}})
	for _, row := range report.Rows {
		got[owner{a.ids[row.Key.Session], agents[row.Key.Agent]}] += row.Cost
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(owner{})); diff != "" {
		t.Errorf("costs (-script +report):\n%s", diff)
	}
}

// testCosts compares the transcripts with the agent's own account. The account includes the
// summary, which is in no transcript, and the agent's guess about the interrupted answer, whose
// usage in the transcript is from its start.
func (a *account) testCosts(t *testing.T, calls []usage.Call, transcripts map[string]*transcript.Transcript) {
	var states []usage.CostState
	for _, tr := range transcripts {
		states = append(states, tr.CostStates...)
	}
	r := usage.Reconcile(calls, states, usage.DefaultPrices())
	if len(r.Models) != 1 || r.Models[0].Reason != usage.ReasonUnwritten {
		t.Fatalf("got %+v", r)
	}
	got := r.Models[0].Usage
	guessed := got.OutputTokens - summaryUsage.OutputTokens // of the text that came before the interrupt
	if guessed < 1 {
		t.Errorf("the agent counts %d tokens of the interrupted answer", guessed)
	}
	want := usage.Sum{InputTokens: summaryUsage.InputTokens, OutputTokens: summaryUsage.OutputTokens + guessed}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the difference (-want +got):\n%s", diff)
	}
	difference := usage.Usage{InputTokens: want.InputTokens, OutputTokens: want.OutputTokens}
	if r.Difference.String() != cost(difference).String() {
		t.Errorf("the difference is %s", r.Difference.Decimal())
	}
	if own := transcripts["first"].CostStates[0].TotalCost.Dollars(); own != a.total {
		t.Errorf("the agent has told of $%v, and written down $%v", a.total, own)
	}
}

// testLive compares the chunks of the first process with those built while it ran. Its second
// conversation has replaced the first.
func (a *account) testLive(t *testing.T, transcripts map[string]*transcript.Transcript) {
	if diff := cmp.Diff(transcripts["second"].Chunks, a.live.Chunks, notStreamed); diff != "" {
		t.Errorf("second (-disk +live):\n%s", diff)
	}
	if len(a.live.Branches) != 1 {
		t.Fatalf("%d branches", len(a.live.Branches))
	}
	first := transcripts["first"].Chunks
	if diff := cmp.Diff(first[:len(first)-2], a.live.Branches[0].Chunks, notStreamed); diff != "" { // it was resumed
		t.Errorf("first (-disk +live):\n%s", diff)
	}
}
