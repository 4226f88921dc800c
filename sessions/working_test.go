package sessions

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A list of sessions and a transcript agree on whether the last turn is over.
func TestWorkingEqualsOngoing(t *testing.T) {
	t.Parallel()
	const (
		asked    = `{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"Do it"}}`
		reminder = `{"type":"user","uuid":"u2","parentUuid":"a1","message":{"role":"user","content":"<system-reminder>x</system-reminder>"}}`
		stopped  = `{"type":"user","uuid":"u2","parentUuid":"a1","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}`
		printed  = `{"type":"user","uuid":"u2","parentUuid":"a1","message":{"role":"user","content":"<bash-stdout>x</bash-stdout>"}}`
	)
	answer := func(block string) string {
		return `{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m","model":"x","role":"assistant","content":[` + block + `]}}`
	}
	call := func(name, input string) string {
		return answer(`{"type":"tool_use","id":"t","name":"` + name + `","input":` + input + `}`)
	}
	result := func(content, structured string) string {
		return `{"type":"user","uuid":"u3","parentUuid":"a1","toolUseResult":` + structured + `,"message":{"role":"user","content":[` +
			`{"type":"tool_result","tool_use_id":"t","content":` + content + `}]}}`
	}
	later := func(id, block string) string {
		return `{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"id":"` + id + `","model":"x","role":"assistant","content":[` + block + `]}}`
	}
	said := answer(`{"type":"text","text":"Done."}`)
	tests := map[string]struct {
		lines []string
		want  bool
	}{
		"a prompt":                 {[]string{asked}, true},
		"an answer":                {[]string{asked, said}, false},
		"thinking":                 {[]string{asked, answer(`{"type":"thinking","thinking":"Hm"}`)}, true},
		"a call":                   {[]string{asked, call("Bash", `{"command":"ls"}`)}, true},
		"a result":                 {[]string{asked, call("Bash", `{}`), result(`"a"`, `{"stdout":"a"}`)}, true},
		"a rejected call":          {[]string{asked, call("Bash", `{}`), result(`"The user said no"`, `"User rejected tool use"`)}, false},
		"rejected in the text":     {[]string{asked, call("Bash", `{}`), result(`"User rejected tool use"`, `null`)}, false},
		"a plan":                   {[]string{asked, call("ExitPlanMode", `{"plan":"p"}`)}, false},
		"an approved shutdown":     {[]string{asked, call("SendMessage", `{"type":"shutdown_response","approve":true}`)}, false},
		"a message":                {[]string{asked, call("SendMessage", `{"to":"x","message":"y"}`)}, true},
		"structured output":        {[]string{asked, call("StructuredOutput", `{}`), result(`"ok"`, `"Structured output provided successfully"`)}, false},
		"an interruption":          {[]string{asked, call("Bash", `{}`), stopped}, false},
		"a lost result":            {[]string{asked, call("Bash", `{}`), later("m2", `{"type":"text","text":"Done."}`)}, false},
		"thinking after one":       {[]string{asked, call("Bash", `{}`), later("m2", `{"type":"thinking","thinking":"Hm"}`)}, true},
		"a call after one":         {[]string{asked, call("Bash", `{}`), later("m2", `{"type":"tool_use","id":"t2","name":"Bash","input":{}}`)}, true},
		"text of the same answer":  {[]string{asked, call("Bash", `{}`), later("m", `{"type":"text","text":"Done."}`)}, true},
		"a plan and a lost result": {[]string{asked, call("Bash", `{}`), later("m2", `{"type":"tool_use","id":"t2","name":"ExitPlanMode","input":{}}`)}, false},
		"a reminder afterwards":    {[]string{asked, said, reminder}, false},
		"output of a command":      {[]string{asked, said, printed}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Summary
			for _, line := range tt.lines {
				s.Add(wire.JSON(line))
			}
			read, err := transcript.Read(strings.NewReader(strings.Join(tt.lines, "\n")+"\n"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if working, ongoing := s.Working(), transcript.Ongoing(read.Chunks); working != tt.want || ongoing != tt.want {
				t.Errorf("working %v, ongoing %v, want %v", working, ongoing, tt.want)
			}
		})
	}
}
