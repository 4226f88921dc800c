//go:build linux

package faulttest

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// A fault is one thing that an agent does at one stage.
type fault struct {
	name  string
	stage stage
	act   func(*agent)
	// want matches the error that callers get. Empty means that they get the answer.
	want string
	// words is the number of messages that were sent whole before the fault or in spite of it.
	words int
	// lives means that the agent does not exit by itself: the host must not wait for long.
	lives bool
	// silent means that it is up to the caller to give up.
	silent bool
}

// interrupts reports whether callers interrupt the agent after its first message.
func (f *fault) interrupts() bool { return f.stage == atInterrupt }

// late reports whether the fault comes after the answer: only callers that wait for the end of the
// agent see it.
func (f *fault) late() bool { return f.stage == atResult || f.stage == atEnd }

// An action is an agent's behavior at any stage.
type action struct {
	name string
	act  func(*agent)
	want string // empty if the dialogue continues
	// wantLate is want after the result.
	wantLate string
	lives    bool
	silent   bool
}

const (
	ended    = "ended without a result|exited with code 0 before it was ready|has ended"
	gaveUp   = "silent for too long|not ready within|context canceled"
	noInput  = "closed its input|" + gaveUp
	noOutput = "closed its output"
	// interrupted is the error of callers that interrupt the agent, by a request or by their
	// context.
	interrupted = "the turn failed: interrupted|context canceled|context deadline exceeded"
)

var actions = []action{
	{name: "exits with 0", act: exit(0, "bye\n"), want: ended},
	{name: "exits with 1", act: exit(1, "no key\n"), want: "exited with code 1; stderr ends with: no key", wantLate: "exited with code 1"},
	{name: "gets SIGKILL", act: killed(syscall.SIGKILL), want: "ended by a signal .killed", wantLate: "ended by a signal .killed"},
	{name: "cuts a frame off", act: cut, want: ended},
	{name: "hangs", act: hang, want: gaveUp, lives: true, silent: true},
	{name: "closes its output", act: closeOutput, want: noOutput, lives: true},
	{name: "closes its input", act: closeInput, want: noInput, lives: true, silent: true},
	{name: "writes garbage", act: garbage},
	{name: "confuses requests", act: confuse},
	{name: "floods stderr", act: noisyStderr},
	{name: "leaves a process", act: leave},
	{name: "leaves a process and dies", act: then(leave, exit(1, "oh\n")), want: "exited with code 1", wantLate: "exited with code 1"},
}

var stages = []stage{atStart, atInitialize, atReady, atPrompt, atAnswer, atInterrupt, atPermission, atHook, atMCP, atResult, atEnd}

// allFaults returns every action at every stage, and the faults of one stage alone.
func allFaults() []*fault {
	var all []*fault
	for _, s := range stages {
		for _, a := range actions {
			f := &fault{name: a.name + " " + string(s), stage: s, act: a.act, want: a.want, words: wordsBefore[s], lives: a.lives, silent: a.silent}
			switch {
			case s == atInterrupt:
				f.want = strings.TrimPrefix(a.want+"|"+interrupted, "|")
			case f.late():
				f.want = a.wantLate
			case a.want == "":
				f.words = wordsBefore[atEnd]
			}
			all = append(all, f)
		}
	}
	return slices.Concat(all, versionFaults(), specialFaults())
}

// versionFaults returns the faults of an agent that can't say its version. It answers all the same.
func versionFaults() []*fault {
	asked := func(name string, act func(*agent)) *fault {
		return &fault{name: name + " " + string(atVersion), stage: atVersion, act: act, words: wordsBefore[atEnd]}
	}
	return []*fault{
		asked("exits with 1", exit(1, "no\n")),
		asked("gets SIGKILL", killed(syscall.SIGKILL)),
		asked("hangs", hangForGood),
		asked("writes without end", endless),
		asked("writes garbage", garbage),
		asked("leaves a process", leave),
	}
}

// specialFaults returns the faults that fit one stage only. Most agents answer in spite of them.
func specialFaults() []*fault {
	late := func(name string, act func(*agent)) *fault {
		return &fault{name: name, stage: atResult, act: act, words: 5}
	}
	inTurn := func(name string, act func(*agent)) *fault {
		return &fault{name: name, stage: atAnswer, act: act, words: 5}
	}
	return []*fault{
		late("sends the result twice", func(a *agent) { a.send(a.result()) }),
		late("answers a prompt that nobody sent", func(a *agent) { a.send(strings.Replace(a.result(), a.prompt, "nobody", 1)) }),
		late("sends a result without an end of line", func(a *agent) { a.write(a.result()) }),
		late("closes its output and exits later", closeOutputAndExit),
		{name: "never exits", stage: atResult, act: hangForGood, words: 5, lives: true},
		{name: "ignores the end of its input", stage: atEnd, act: hangForGood, words: 5, lives: true},
		{name: "closes its output at the end", stage: atEnd, act: closeOutput, words: 5, lives: true},
		inTurn("sends a giant frame", func(a *agent) { a.send(bigFrame(2 << 20)) }),
		inTurn("sends a frame beyond the limit", func(a *agent) { a.send(bigFrame(maxFrame + 100)) }),
		inTurn("sends a flood", func(a *agent) { a.write(strings.Repeat(`{"type":"keep_alive"}`+"\n"+deltaFrame+"\n", 1000)) }),
		inTurn("sends bytes one by one", func(a *agent) { trickle(a, bigFrame(300)) }),
		inTurn("sends CRLF and blanks", func(a *agent) { a.write("  \t\r\n" + deltaFrame + "\r\n\n\n") }),
		inTurn("sends a byte order mark", func(a *agent) { a.write("\ufeff" + deltaFrame + "\n") }),
		inTurn("sends values of other types", wrongTypes),
		inTurn("asks twice with one ID", func(a *agent) { a.send(question("twice")); a.send(question("twice")) }),
		inTurn("asks and withdraws", func(a *agent) { a.send(question("w")); a.send(`{"type":"control_cancel_request","request_id":"w"}`) }),
		inTurn("asks a hundred times", func(a *agent) {
			for i := range 100 {
				a.send(question(fmt.Sprint("q", i)))
			}
		}),
		inTurn("answers initialize again", func(a *agent) { a.send(success("initialize")) }),
		inTurn("starts tasks that never end", func(a *agent) {
			a.send(`{"type":"system","subtype":"task_started","task_id":"t1","task_type":"local_bash","session_id":"s"}`)
		}),
		{name: "sends a result with a cost of another type", stage: atMCP, act: func(a *agent) {
			a.send(strings.Replace(a.result(), `"result":"done"`, `"result":"done","total_cost_usd":{"amount":1},"num_turns":"x"`, 1))
			os.Exit(0)
		}, words: 4},
		{name: "refuses initialize", stage: atInitialize, act: func(a *agent) {
			a.send(`{"type":"control_response","response":{"subtype":"error","request_id":"nobody","error":"no"}}`)
			exit(2, "refused\n")(a)
		}, want: "exited with code 2"},
		{name: "talks before it is ready", stage: atStart, act: func(a *agent) { a.send(deltaFrame); garbage(a) }, words: 5},
		{name: "floods stderr and dies", stage: atPrompt, act: then(noisyStderr, exit(3, "last words\n")), want: "exited with code 3.*last words"},
		{name: "cuts a giant frame off", stage: atAnswer, act: func(a *agent) { a.write(bigFrame(2 << 20)[:1<<20]); os.Exit(1) },
			want: "exited with code 1", words: 1},
		{name: "dies in a flood", stage: atAnswer, act: func(a *agent) {
			a.write(strings.Repeat(deltaFrame+"\n", 2000))
			a.word()
			killed(syscall.SIGKILL)(a)
		}, want: "ended by a signal", words: 2},
		{name: "dies with a question open", stage: atAnswer, act: func(a *agent) { a.send(question("open")); os.Exit(9) }, want: "exited with code 9", words: 1},
		{name: "exits with 143", stage: atAnswer, act: exit(143, ""), want: "exited with code 143", words: 1},
		{name: "gets SIGTERM", stage: atAnswer, act: killed(syscall.SIGTERM), want: "ended by a signal .terminated", words: 1},
		{name: "hangs for good in a turn", stage: atAnswer, act: hangForGood, want: gaveUp, words: 1, lives: true, silent: true},
	}
}

const deltaFrame = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}},` +
	`"session_id":"s","uuid":"d"}`

// maxFrame is the longest frame that the host reads.
const maxFrame = 3 << 20

func bigFrame(size int) string {
	return `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]},"session_id":"s"}`
}

func question(id string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t"}}`, id)
}

func trickle(a *agent, frame string) {
	for _, b := range []byte(frame + "\n") {
		if _, err := a.out.Write([]byte{b}); err != nil {
			os.Exit(70)
		}
		runtime.Gosched() // the host may read it
	}
}

// wrongTypes sends frames of known types whose fields have other types.
func wrongTypes(a *agent) {
	for _, kind := range []string{"assistant", "user", "system", "stream_event", "rate_limit_event"} {
		for _, value := range []string{"7", `"x"`, "[]", "null", "1e999", `{"content":7}`} {
			_, _ = io.WriteString(a.out, fmt.Sprintf(`{"type":%q,"subtype":%s,"message":%s,"event":%s,"session_id":%s}`+"\n",
				kind, value, value, value, value))
		}
	}
}
