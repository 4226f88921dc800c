package transcripts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
	"github.com/google/go-cmp/cmp"
)

// outline says what chunks show, each in a line: the tools with ! for one that failed, and what came back to a user.
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

// wantAgreement checks that a session gives the same chunks from disk and as it ran, and returns those from disk.
func (s *scene) wantAgreement(t *testing.T, disk *transcript.Transcript) {
	t.Helper()
	live := s.live.Transcript()
	if unlinked := transcript.Link(live, transcript.InlineAgents(live)); len(unlinked) > 0 {
		t.Errorf("subagents without a call: %v", unlinked)
	}
	if diff := cmp.Diff(parts(disk), parts(live), notStreamed); diff != "" {
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
		clew.NewUserMessage(clew.Image("image/png", []byte(dot)), clew.Text("With words")),
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

// interject sends prompts in the middle of turns: one that the agent takes up with the result of a tool, and one that
// waits for the end of the turn.
func (s *scene) interject(t *testing.T, dir string) {
	t.Helper()
	also, later := clew.NewUserMessage(clew.Text("And this")), clew.NewUserMessage(clew.Text("Afterwards"))
	send := func(prompt *wire.UserMessage) {
		s.tell(prompt)
		if _, err := s.SendMessage(t.Context(), prompt); err != nil {
			t.Error(err)
		}
	}
	err := s.say(t, clew.NewUserMessage(clew.Text("Wait")), func(msg wire.Message) {
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
	err = s.say(t, clew.NewUserMessage(clew.Text("Slowly")), func(msg wire.Message) {
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
	"user: /usage", "system: Total cost:            $0.0025",
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

// An answer in a given form is a call like others.
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
