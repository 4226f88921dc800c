package search

import (
	"fmt"
	"os"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// spillLines returns a Bash call at 9:00:01 and its result at 9:05, which is in a spill.
func spillLines(path string) string {
	return `{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-08-01T09:00:01Z","message":{"role":"assistant",` +
		`"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}` + "\n" +
		`{"type":"user","uuid":"r1","parentUuid":"a1","timestamp":"2026-08-01T09:05:00Z","message":{"role":"user","content":[` +
		`{"type":"tool_result","tool_use_id":"t1","content":"<persisted-output>\nOutput too large (9KB). Full output saved to: ` + path +
		`\n\nPreview (first 2KB):\nok\n</persisted-output>"}]}}` + "\n"
}

// placed describes where hits are.
func placed(r *Result) (list []string) {
	for _, h := range r.Hits {
		list = append(list, fmt.Sprintf("%s %s turn %d agent %q %q %s", h.Time.UTC().Format(time.DateTime), h.Tool, h.Turn, h.AgentID, h.Directory, h.SessionID))
	}
	return list
}

// A spill has the time, the turn, the tool and the directory of its call, whatever wrote the path
// and in which order the files became known.
func TestSpillHasItsCall(t *testing.T) {
	t.Parallel()
	const main, spill = deskSession + ".jsonl", deskSession + "/tool-results/b1.txt"
	first := `{"type":"user","uuid":"u1","cwd":"/srv/acme.one","timestamp":"2026-08-01T09:00:00Z","message":{"role":"user","content":"Build it"}}` + "\n"
	call := `2026-08-01 09:00:01 Bash turn 1 agent "" "acme.one" ` + deskSession
	for _, test := range []struct {
		name  string
		write func(d *fixture)
		want  string // "" means the time of the file, and no call
	}{
		{"here", func(d *fixture) { d.write(main, first+spillLines(d.path(spill)), os.O_APPEND) }, call},
		{"from another machine", func(d *fixture) {
			d.write(main, first+spillLines(`C:\\Users\\me\\.claude\\projects\\x\\`+deskSession+`\\tool-results\\b1.txt`), os.O_APPEND)
		}, call},
		{"call after an update", func(d *fixture) {
			d.write(main, first, os.O_APPEND)
			d.find("kiwi")
			d.write(main, spillLines("/x/tool-results/b1.txt"), os.O_APPEND)
		}, call},
		{"updated after the call", func(d *fixture) {
			d.write(main, first+spillLines("/x/tool-results/b1.txt"), os.O_APPEND)
			d.find("kiwi")
			d.write(main, promptLine(9, "next"), os.O_APPEND)
		}, call},
		{"of a subagent", func(d *fixture) {
			d.write(main, first, os.O_APPEND)
			d.write(deskSession+"/subagents/agent-abc.jsonl", first+spillLines("/x/tool-results/b1.txt"), os.O_APPEND)
		}, `2026-08-01 09:00:01 Bash turn 0 agent "abc" "acme.one" ` + deskSession},
		{"of a rewound session", func(d *fixture) {
			d.write(main, first+promptLine(2, "no")+
				`{"type":"user","uuid":"u3","parentUuid":"u1","message":{"role":"user","content":"Go on"}}`+"\n"+
				spillLines("/x/tool-results/b1.txt"), os.O_APPEND)
		}, ""},
		{"without a call", func(d *fixture) { d.write(main, first, os.O_APPEND) }, ""},
		{"without a transcript", func(*fixture) {}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			d.write(spill, "one\nkiwi\n", os.O_APPEND)
			test.write(d)
			for _, order := range []Order{Newest, Relevance} {
				d.checkSpill(order, test.want)
			}
		})
	}
}

// checkSpill searches for the spill of TestSpillHasItsCall in both ways.
func (d *fixture) checkSpill(order Order, want string) {
	d.t.Helper()
	var last []string
	for name, search := range d.bothSearches() {
		q := words(d.t, "kiwi")
		q.Order = order
		result, err := search(d.t.Context(), q)
		if err != nil || len(result.Hits) != 1 || result.Hits[0].Line != 2 {
			d.t.Fatalf("%s: %+v, error %v", name, result, err)
		}
		got := placed(result)
		if diff := gocmp.Diff([]string{want}, got); want != "" && diff != "" {
			d.t.Errorf("%s, order %d (-want +got):\n%s", name, order, diff)
		}
		if diff := gocmp.Diff(last, got); last != nil && diff != "" {
			d.t.Errorf("%s differs:\n%s", name, diff)
		}
		last = got
	}
}

// The time and the tool of a spill's call decide whether a query wants it.
func TestSpillIsFilteredByItsCall(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(deskSession+"/tool-results/b1.txt", "kiwi", os.O_APPEND)
	d.write(deskSession+".jsonl", promptLine(1, "Build it")+spillLines("/x/tool-results/b1.txt"), os.O_APPEND)
	day := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	for name, search := range d.bothSearches() {
		for _, test := range []struct {
			change func(q *Query)
			want   int
		}{
			{func(q *Query) { q.Tool = "bash" }, 1},
			{func(q *Query) { q.Tool = "Read" }, 0},
			{func(q *Query) { q.Since = day }, 1},
			{func(q *Query) { q.Since = day.AddDate(0, 0, 1) }, 0},
			{func(q *Query) { q.Until = day.AddDate(0, 0, 1) }, 1},
			{func(q *Query) { q.Role = Prompt }, 0},
		} {
			q := words(t, "kiwi")
			test.change(q)
			if result, err := search(t.Context(), q); err != nil || len(result.Hits) != test.want {
				t.Errorf("%s: %+v, error %v, want %d hits", name, result, err, test.want)
			}
		}
	}
}

// A prompt that was typed while a tool ran is in the message of its result. It is found as a
// prompt, and starts no turn.
func TestTextBesideResult(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(deskSession+".jsonl", promptLine(1, "apple")+
		`{"type":"user","uuid":"u2","timestamp":"2026-11-15T10:00:02Z","message":{"role":"user","content":[`+
		`{"type":"tool_result","tool_use_id":"t1","content":"a pear"},{"type":"text","text":"no, a kiwi"},`+
		`{"type":"text","text":"<system-reminder>plums</system-reminder>"}]}}`+"\n"+promptLine(3, "kiwi"), os.O_APPEND)
	d.want("pear", 2)
	d.want("plums")
	for name, search := range d.bothSearches() {
		result, err := search(t.Context(), words(t, "kiwi"))
		if err != nil || len(result.Hits) != 2 {
			t.Fatalf("%s: %+v, error %v", name, result, err)
		}
		if h := result.Hits[1]; h.Role != Prompt || h.Line != 2 || h.Turn != 1 || h.Text != "no, a kiwi" || result.Hits[0].Turn != 2 {
			t.Errorf("%s: %+v", name, result.Hits)
		}
	}
}

// A branch that starts with a note of the agent is a rewind like any other, even if the index was
// written in between. A note that nothing follows is none.
func TestTurnsAfterRewindToNote(t *testing.T) {
	t.Parallel()
	line := func(kind, uuid, parent, members string) string {
		return fmt.Sprintf(`{"type":"%s","uuid":"%s","parentUuid":"%s","timestamp":"2026-11-15T10:00:09Z",%s}`, kind, uuid, parent, members) + "\n"
	}
	note := func(uuid, parent string) string {
		return line("system", uuid, parent, `"subtype":"informational","content":"A note","level":"info"`)
	}
	apple := `"message":{"role":"user","content":"apple"}`
	d := newFixture(t)
	for _, step := range []struct {
		lines string
		want  []int // the turns, the last line first
	}{
		{promptLine(1, "apple") + line("user", "u2", "u1", apple) + line("user", "u3", "u2", apple), []int{3, 2, 1}},
		{note("s1", "u1"), []int{3, 2, 1}},
		{note("s2", "s1") + line("user", "u4", "s2", apple), []int{2, 0, 0, 1}},
		{line("user", "u5", "u4", apple), []int{3, 2, 0, 0, 1}},
	} {
		d.write(deskSession+".jsonl", step.lines, os.O_APPEND)
		for name, search := range d.bothSearches() {
			result, err := search(t.Context(), words(t, "apple"))
			if err != nil {
				t.Fatal(err)
			}
			turns := make([]int, 0, len(result.Hits))
			lines := map[int]int{}
			for _, h := range result.Hits {
				lines[h.Line] = h.Turn
			}
			for at := 12; at > 0; at-- {
				if turn, ok := lines[at]; ok {
					turns = append(turns, turn)
				}
			}
			if diff := gocmp.Diff(step.want, turns); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}
