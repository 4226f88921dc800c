package transcripts_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/tools"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// outline describes chunks, each on one line: the tools, with ! for a failed tool, and the text
// that the user sees.
func outline(chunks []transcript.Chunk) []string {
	var lines []string
	for _, c := range chunks {
		line := c.Type.String()
		for _, item := range c.Items {
			if item.ToolName != "" {
				line += " " + item.ToolName + strings.Repeat("!", count(item.ToolError))
			}
		}
		text, _, _ := strings.Cut(c.Text, "\n")
		line += strings.Repeat(" queued", count(c.Queued)) + strings.Repeat(" image", c.Images) + ": " + transcript.Truncate(text, 50)
		lines = append(lines, line)
	}
	return lines
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// wantAgreement checks that the chunks from disk equal the chunks of the running session.
func (s *scene) wantAgreement(t *testing.T, disk *transcript.Transcript) {
	t.Helper()
	live := s.live.Transcript()
	if unlinked := transcript.Link(live, transcript.InlineAgents(live)); len(unlinked) > 0 {
		t.Errorf("subagents without a call: %v", unlinked)
	}
	if diff := cmp.Diff(allChunks(disk), allChunks(live), notStreamed); diff != "" {
		t.Errorf("(-disk +live):\n%s", diff)
	}
}

// One session has a turn for each thing that an agent can do.
func TestRealChunks(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := features(t, model)
	note := writeFile(t, opts.Dir, "note.txt", "one\ntwo\n")
	model.On("Slowly").Reply(clewtest.Text("Now.")).Delay(300 * time.Millisecond).Once()
	scriptCalls(model, note)
	p := play(t, opts)
	p.ask(t, "Denied", "Blocked", "Shout", "Paint", "Bow", "See", "Edit", "Todo", "Task",
		"/cost", "/context", "/greet the cat", "/bow low", "/nonsense", "What of @note.txt?", "Forbidden")
	for _, prompt := range []*wire.UserMessage{
		clew.NewUserMessage(clew.Image("image/png", []byte(dot))),
		clew.NewUserMessage(clew.Image("image/png", []byte(dot)), &clew.TextBlock{Text: "With words"}),
	} {
		if err := p.say(t, prompt, nil); err != nil {
			t.Fatal(err)
		}
	}
	p.interject(t, opts.Dir)
	if err := p.SetPermissionMode(t.Context(), clew.PermissionModePlan); err != nil {
		t.Fatal(err)
	}
	p.ask(t, "Plan")
	disk := recorded(t, model, p.end(t))
	if diff := cmp.Diff(wantFeatures, outline(disk.Chunks)); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
	p.wantAgreement(t, disk)
}

// interject sends prompts in the middle of turns: the agent reads the first with a tool result, and
// the second waits for the end of the turn.
func (s *scene) interject(t *testing.T, dir string) {
	t.Helper()
	also, later := clew.Text("And this"), clew.Text("Afterwards")
	send := func(prompt *wire.UserMessage) {
		s.tell(prompt)
		if _, err := s.Send(t.Context(), prompt); err != nil {
			t.Error(err)
		}
	}
	err := s.say(t, clew.Text("Wait"), func(msg wire.Message) {
		switch msg := msg.(type) {
		case *wire.AssistantMessage:
			if len(msg.Content.ToolUses()) > 0 {
				send(also)
			}
		case *wire.CommandLifecycleMessage:
			if msg.CommandUUID == also.UUID && msg.State == wire.CommandStateQueued {
				letGo(t, dir)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.say(t, clew.Text("Slowly"), func(msg wire.Message) {
		if _, ok := msg.(*wire.InitMessage); ok {
			send(later)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s.wait(t)
}

var wantFeatures = []string{
	"user: Denied", "ai Bash!: So it is.",
	"user: Blocked", "ai Bash!: So it is.",
	"user: Shout", "ai mcp__own__shout: So it is.",
	"user: Paint", "ai AskUserQuestion: So it is.",
	"user: Bow", "ai Skill: So it is.",
	"user: See", "ai Read: So it is.",
	"user: Edit", "ai Edit: So it is.",
	"user: Todo", "ai TodoWrite!: So it is.",
	"user: Task", "ai TaskCreate: So it is.",
	"user: /usage", "system: Estimated cost:        $0.0025",
	"user: /context", "system: ## Context Usage",
	"user: /greet the cat", "ai: Yes.",
	"user: /bow low", "ai: Yes.",
	"user: /nonsense", "ai: Yes.",
	"user: What of @note.txt?", "ai: Yes.",
	"system: UserPromptSubmit operation blocked by hook:",
	"user image: [Image]", "ai: Yes.",
	"user image: With words", "ai: Yes.",
	"user: Wait", "ai Bash: ", "user queued: And this", "ai: So it is.",
	"user: Slowly", "ai: Now.", "user: Afterwards", "ai: Yes.",
	"user: Plan", "ai ExitPlanMode: So it is.",
}

// A structured answer is a tool call like others.
func TestRealStructuredOutput(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := sceneOptions(t, model)
	opts.OutputSchema = `{"type":"object","properties":{"bird":{"type":"string"}},"required":["bird"]}`
	model.On("Name a bird").Reply(clewtest.ToolUse("StructuredOutput", map[string]string{"bird": "wren"}))
	p := play(t, opts)
	p.ask(t, "Name a bird")
	disk := recorded(t, model, p.end(t))
	if got := fmt.Sprint(outline(disk.Chunks)); got != "[user: Name a bird ai StructuredOutput: ]" {
		t.Errorf("got %s", got)
	}
	p.wantAgreement(t, disk)
}

// Every block of an answer is shown, even if one starts like another.
func TestRealBlocksAlike(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Blocks").Reply(clewtest.Text("Same"), clewtest.Text("Same"), clewtest.Text("Same and more"))
	p := play(t, sceneOptions(t, model))
	p.ask(t, "Blocks")
	disk := recorded(t, model, p.end(t))
	if len(disk.Chunks) != 2 || disk.Chunks[1].Text != "Same\nSame\nSame and more" {
		t.Errorf("got %+v", disk.Chunks)
	}
	p.wantAgreement(t, disk)
}

// dot is a picture of one red pixel.
const dot = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde" +
	"\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"

// features returns options with everything that a host can offer: a command, a skill, a tool, a
// person who answers and denies, and hooks that block a command and a prompt.
func features(t *testing.T, model *clewtest.Model) *clew.Options {
	t.Helper()
	opts := sceneOptions(t, model)
	writeFile(t, opts.Dir, ".claude/commands/greet.md", "Greet $ARGUMENTS kindly.\n")
	writeFile(t, opts.Dir, ".claude/skills/bow/SKILL.md", "---\nname: bow\ndescription: bows\n---\nBow first.\n")
	opts.PermissionMode = clew.PermissionModeDefault
	opts.AllowedTools = []string{"Bash(echo *)", "Bash(until *)", "mcp__own", "Skill", "Edit", "TaskCreate"}
	opts.CanUseTool, opts.OnQuestion = permit, answer
	opts.MCPServers = map[string]clew.MCPServer{"own": tools.Server(tools.New("shout", "Shouts", shout))}
	opts.Hooks = map[hook.Event][]hook.Matcher{
		hook.PreToolUse:       {{Matcher: "Bash", Hooks: []hook.Func{block("echo blocked")}}},
		hook.UserPromptSubmit: {{Hooks: []hook.Func{block("Forbidden")}}},
	}
	return opts
}

func permit(_ context.Context, r *permission.Request) (permission.Result, error) {
	if r.ToolName == "ExitPlanMode" {
		return permission.Allow(), nil
	}
	return permission.Deny("not that one"), nil
}

func answer(context.Context, *clew.QuestionRequest) (*clew.QuestionResult, error) {
	return &clew.QuestionResult{Answers: map[string][]string{"Which colour?": {"Red"}}}, nil
}

func shout(_ context.Context, in struct{ Word string }) (string, error) {
	return strings.ToUpper(in.Word), nil
}

// block returns a hook that blocks inputs with the given words.
func block(words string) hook.Func {
	return func(_ context.Context, in hook.Input) (*hook.Output, error) {
		if strings.Contains(string(in.Raw()), words) {
			return &hook.Output{Decision: hook.DecisionBlock, Reason: "the hook says no"}, nil
		}
		return nil, nil
	}
}

// scriptCalls makes the model call a tool for each prompt of one word.
func scriptCalls(model *clewtest.Model, note string) {
	for prompt, call := range map[string]wire.Block{
		"Denied":  bash("touch denied"),
		"Blocked": bash("echo blocked"),
		"Shout":   clewtest.ToolUse("mcp__own__shout", map[string]string{"Word": "hey"}),
		"Paint": clewtest.ToolUse("AskUserQuestion", wire.JSON(`{"questions":[{"question":"Which colour?","header":"Colour",
			"multiSelect":false,"options":[{"label":"Red","description":"a"},{"label":"Blue","description":"b"}]}]}`)),
		"Bow":  clewtest.ToolUse("Skill", map[string]string{"skill": "bow"}),
		"See":  clewtest.ToolUse("Read", map[string]string{"file_path": note}),
		"Edit": clewtest.ToolUse("Edit", map[string]string{"file_path": note, "old_string": "two", "new_string": "three"}),
		"Todo": clewtest.ToolUse("TodoWrite", wire.JSON(`{"todos":[{"content":"a","status":"pending","activeForm":"b"}]}`)),
		"Task": clewtest.ToolUse("TaskCreate", map[string]string{"subject": "a", "description": "b"}),
		"Plan": clewtest.ToolUse("ExitPlanMode", map[string]string{}),
		"Wait": bash(untilGo + "; echo waited"),
	} {
		model.On(prompt).Reply(call).Once()
	}
	model.OnToolResult("").Reply(clewtest.Text("So it is."))
	model.Reply("Yes.")
}

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A script makes the model's replies. Each has a different usage, to expose a copy that is counted
// twice, and a usage that is not final.
type script struct {
	model   *clewtest.Model
	replies []reply
}

// A reply is one answer of the model, and the session and the subagent that got it, by the names
// that the test uses.
type reply struct {
	Session, Agent string
	Usage          usage.Usage
}

// add makes a rule reply once, to a subagent of a session or, if agent is empty, to the session
// itself.
func (s *script) add(rule *clewtest.Rule, session, agent string, blocks ...wire.Block) *clewtest.Rule {
	n := len(s.replies) + 1
	u := usage.Usage{
		InputTokens: 1000 + n, OutputTokens: 2000 + 3*n, CacheReadTokens: 4000 + 7*n, CacheCreationTokens: 900 + 30*n,
		CacheCreation5mTokens: 600 + 19*n, CacheCreation1hTokens: 300 + 11*n, ServiceTier: "standard",
	}
	s.replies = append(s.replies, reply{session, agent, u})
	return rule.Reply(blocks...).Once().
		Usage(u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens).
		UsageMember("cache_creation", map[string]int{
			"ephemeral_5m_input_tokens": u.CacheCreation5mTokens, "ephemeral_1h_input_tokens": u.CacheCreation1hTokens,
		}).
		UsageMember("service_tier", u.ServiceTier)
}

// cost returns what a reply costs. All replies have the same model.
func cost(u usage.Usage) usage.Money {
	money, _ := usage.DefaultPrices().Cost(&usage.Call{Model: "claude-opus-5-5", Usage: u})
	return money
}

// said returns the replies of a session, or of all sessions, in the order of their usages.
func (s *script) said(session string) []reply {
	var list []reply
	for _, r := range s.replies {
		if session == "" || r.Session == session {
			list = append(list, r)
		}
	}
	return sorted(list)
}

func sorted(list []reply) []reply {
	slices.SortFunc(list, func(a, b reply) int { return a.Usage.InputTokens - b.Usage.InputTokens })
	return list
}

// told returns the replies that calls belong to, by the names that the test uses.
func told(t *testing.T, calls []usage.Call, sessions, agents map[string]string) []reply {
	t.Helper()
	var list []reply
	for _, c := range calls {
		r := reply{sessions[c.SessionID], agents[c.AgentID], c.Usage}
		if r.Session == "" || r.Agent == "" && c.AgentID != "" {
			t.Errorf("a call of nobody: %+v", c)
		}
		list = append(list, r)
	}
	return sorted(list)
}
