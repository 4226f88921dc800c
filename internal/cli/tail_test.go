package cli

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// A tailing is a session and its subagents while they are followed.
type tailing struct {
	options  *tailOptions
	builders map[string]*transcript.Builder
	lines    int
}

func newTailing() *tailing {
	return &tailing{
		options: &tailOptions{
			streams: Streams{Out: io.Discard}, lines: 100, started: time.Now(), feeds: map[string]*render.Feed{},
		},
		builders: map[string]*transcript.Builder{},
	}
}

// prompt adds a prompt to the session or a subagent, and returns what is shown then.
func (f *tailing) prompt(agent, text string) string {
	return f.add(agent, `{"type":"user","uuid":"%[1]s%[2]d","message":{"role":"user","content":"`+text+`"}}`)
}

// call adds a call of a tool and its result.
func (f *tailing) call(agent, command string) string {
	return f.add(agent, `{"type":"assistant","uuid":"%[1]sc%[2]d","message":{"id":"m%[2]d","model":"claude-x","content":[`+
		`{"type":"tool_use","id":"%[1]st%[2]d","name":"Bash","input":{"command":"`+command+`"}}]}}`+"\n"+
		`{"type":"user","uuid":"%[1]sr%[2]d","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"%[1]st%[2]d","content":"ok"}]}}`)
}

func (f *tailing) add(agent, lines string) string {
	f.lines++
	b := f.builders[agent]
	if b == nil {
		b = transcript.NewBuilder(nil)
		f.builders[agent] = b
	}
	_, _ = fmt.Fprintf(b, lines+"\n", agent, f.lines)
	u := &sessions.Update{First: b.Changed(), Transcript: b.Transcript()}
	if agent != "" {
		u.Agent = &transcript.Agent{ID: agent, Transcript: u.Transcript, Meta: transcript.AgentMeta{AgentType: "Explore"}}
	}
	return f.options.text(u)
}

// Each line stands below a heading that names its speaker, however the speakers take turns.
func TestTailNamesTheSpeaker(t *testing.T) {
	t.Parallel()
	f := newTailing()
	shown := f.prompt("", "Go") + f.call("", "one") + f.prompt("ada", "Look") + f.call("ada", "two") + f.call("", "three") +
		f.call("", "four") + f.prompt("bob", "See") + f.call("ada", "five") + f.call("bob", "six") + f.call("ada", "seven") + f.call("", "eight")
	var got []string
	for line := range strings.Lines(shown) {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" && line != "ok" {
			got = append(got, line)
		}
	}
	want := []string{
		"> Go #1", "x", "Bash one",
		"@ agent ada, Explore", "> Look #1", "@ agent ada, Explore", "x", "Bash two",
		"@ session", "x", "Bash three", "Bash four",
		"@ agent bob, Explore", "> See #1",
		"@ agent ada, Explore", "x", "Bash five",
		"@ agent bob, Explore", "x", "Bash six",
		"@ agent ada, Explore", "x", "Bash seven",
		"@ session", "x", "Bash eight",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, shown)
	}
	if strings.Contains(shown, "\n\n\n") {
		t.Errorf("two empty lines in a row:\n%s", shown)
	}
}
