package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/internal/polltest"
)

// A runnerCase is an agent's output in a turn, and its outcome.
type runnerCase struct {
	name   string
	output string
	text   string // that "clew run" prints
	result string // of "clew run --output-format json"
	shown  string // by "clew show -"
	stderr string // a part of the stderr of "clew run", or ""
	failed bool
}

const (
	resultOne = `{"type":"result","subtype":"success","is_error":false,"result":"One two.","session_id":"s",` +
		`"duration_ms":1500,"uuid":"r"}` + "\n"
	resultEmpty = `{"type":"result","subtype":"success","session_id":"s","uuid":"r"}` + "\n"
	oneTwo      = "agent\n  One two.\n\n"
)

// message returns a message of the model, of these blocks.
func message(id, blocks string) string {
	return `{"type":"assistant","message":{"id":"` + id + `","content":[` + blocks + `]},"session_id":"s","uuid":"` + id + `"}` + "\n"
}

func textBlock(text string) string { return `{"type":"text","text":"` + text + `"}` }

var runnerCases = []runnerCase{
	{
		name: "text deltas",
		output: clitest.TextDelta("One ") +
			`{"index":0,"delta":{"text":"two.","type":"text_delta"},"type":"content_block_delta"}` + "\n" + resultOne,
		text: "One two.\n", result: "One two.", shown: oneTwo,
	}, {
		name:   "text deltas in frames",
		output: clitest.Framed(clitest.TextDelta("One ")) + clitest.Framed(clitest.TextDelta("two.")) + resultOne,
		text:   "One two.\n", result: "One two.", shown: oneTwo,
	}, {
		name: "deltas that miss something",
		output: clitest.Delta("") + clitest.Delta(`,"delta":{"type":"text_delta"}`) + clitest.Delta(`,"delta":{"text":"untyped"}`) +
			clitest.TextDelta("One two.") + resultEmpty,
		text: "One two.\n", result: "One two.", shown: oneTwo,
	}, {
		name: "deltas of other kinds",
		output: clitest.Delta(`,"delta":{"type":"thinking_delta","thinking":"hidden"}`) +
			clitest.Delta(`,"delta":{"type":"input_json_delta","partial_json":"{}","text":"hidden"}`) +
			clitest.Delta(`,"delta":{"type":"of_tomorrow","text":"hidden"}`) + clitest.TextDelta("One two.") + resultEmpty,
		text: "One two.\n", result: "One two.", shown: oneTwo,
	}, {
		name: "streamed, then whole",
		output: clitest.Framed(`{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}`) +
			clitest.Framed(clitest.TextDelta("One ")) + message("m", textBlock("One two.")) + resultOne,
		text: "One two.\n", result: "One two.", shown: oneTwo,
	}, {
		name: "an assistant message",
		output: `{"message":{"role":"assistant","content":[{"text":"One two.","type":"text"}]},"type":"assistant"}` + "\n" +
			resultOne,
		text: "One two.\n", result: "One two.", shown: oneTwo,
	}, {
		name: "text blocks in order",
		output: message("m", textBlock("One ")+`,{"type":"thinking","thinking":"hidden","signature":""},`+textBlock("two.")) +
			resultEmpty,
		text: "One two.\n", result: "One two.", shown: "agent\n  One\n\n  two.\n\n",
	}, {
		name: "messages that miss something",
		output: `{"type":"assistant","session_id":"s"}` + "\n" + `{"type":"assistant","message":{},"session_id":"s"}` + "\n" +
			message("m", `{"text":"untyped"},{"type":"text"},7,{"type":"hologram"},`+textBlock("One two.")) + resultEmpty,
		text: "One two.\n", result: "One two.",
		shown:  "agent\n  {\"text\":\"untyped\"}\n\n  {\"type\":\"text\"}\n\n  7\n\n  {\"type\":\"hologram\"}\n\n  One two.\n\n",
		stderr: "the agent wrote a frame of type assistant with a field that does not fit: /message: required field is missing\n",
	}, {
		name: "a call of a tool",
		output: message("m", textBlock("One ")+`,{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}`) +
			`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a.txt"}]},` +
			`"session_id":"s","uuid":"u"}` + "\n" + message("n", textBlock("two.")) +
			`{"type":"result","subtype":"success","result":"two.","session_id":"s","uuid":"r"}` + "\n",
		text: "One \ntwo.\n", result: "two.",
		shown:  "agent\n  One\n\n  Bash   ls\n         a.txt\n\n  two.\n\n",
		stderr: "* Bash: ls\n",
	}, {
		name: "a result alone", output: resultOne,
		text: "One two.\n", result: "One two.", shown: "result\n  One two.\n\n",
	}, {
		name:   "a result without a text",
		output: message("m", textBlock("One two.")) + resultEmpty,
		text:   "One two.\n", result: "One two.", shown: oneTwo,
	}, {
		name:   "a result of another text",
		output: message("m", textBlock("Zero")) + resultOne,
		text:   "Zero\nOne two.\n", result: "One two.", shown: "agent\n  Zero\nresult\n  One two.\n\n",
	}, {
		name:   "a failure",
		output: `{"type":"result","subtype":"success","is_error":true,"result":"No credit","session_id":"s","uuid":"r"}` + "\n",
		shown:  "failed\n  No credit\n\n", stderr: "clew run: the turn failed: No credit\n", failed: true,
	}, {
		name:   "a failure by its subtype",
		output: `{"type":"result","subtype":"error_max_turns","errors":["3 turns"],"session_id":"s","uuid":"r"}` + "\n",
		shown:  "failed\n  3 turns\n\n", stderr: "clew run: the turn failed: 3 turns\n", failed: true,
	}, {
		name:   "lines that are not JSON",
		output: clitest.TextDelta("One") + "  Warning: \x1b[31mold \n" + clitest.TextDelta(" two.") + resultEmpty,
		text:   "One\nWarning: \\x1b[31mold\n two.\n", result: "One two.",
		shown: "agent\n  One\nWarning: \\x1b[31mold\n   two.\n\n",
	}, {
		name:   "lines that are not JSON before a result",
		output: "Warning: old\n" + resultOne,
		text:   "Warning: old\nOne two.\n", result: "One two.", shown: "Warning: old\nresult\n  One two.\n\n",
	}, {
		name:   "lines of the terminal recorder",
		output: "Script started on 2026-11-15\n\n   \n" + resultOne,
		text:   "One two.\n", result: "One two.", shown: "result\n  One two.\n\n",
	}, {
		name:   "half a frame",
		output: `{"type":"assistant","message":{"content":[{"type":"te` + "\n" + message("m", textBlock("One two.")) + resultOne,
		text:   "One two.\n", result: "One two.", shown: oneTwo, stderr: "the agent wrote an invalid frame: ",
	}, {
		name:   "bytes that are not UTF-8",
		output: message("m", textBlock("One\xff two.")) + resultEmpty,
		text:   "One\ufffd two.\n", result: "One\ufffd two.", shown: "agent\n  One\ufffd two.\n\n",
	}, {
		name: "white space around frames",
		output: "  " + strings.TrimSpace(message("m", textBlock("One two."))) + "\t\r\n\r\n" +
			strings.TrimSpace(resultOne) + "\r\n",
		text: "One two.\n", result: "One two.", shown: oneTwo,
	},
}

// answering returns the agent that writes the output of the case for an answer.
func (c *runnerCase) answering() *clewtest.Scenario {
	return new(clewtest.Scenario).
		Expect(`{"type":"control_request","request_id":"hello","request":{"subtype":"initialize"}}`).
		Send(`{"type":"control_response","response":{"request_id":"hello","subtype":"success","response":{}}}`).
		Expect(`{"type":"user","message":{"role":"user"}}`).
		Do(clewtest.Garbage(c.output))
}

// run runs "clew run" with an agent that behaves as in the case.
func (c *runnerCase) run(t *testing.T, format string) (stdout, stderr string) {
	t.Helper()
	useAgent(t, c.answering())
	var out, errs bytes.Buffer
	args := []string{"run", "--output-format", format, "Hi"}
	code := execute(t.Context(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if failed := code == clikit.ExitFailed; failed != c.failed || !failed && code != clikit.ExitDone {
		t.Errorf("%s: exit code %d: %s", format, code, errs.String())
	}
	return out.String(), errs.String()
}

// The text is the agent's stream, as it arrives.
func TestStreamRunnerText(t *testing.T) {
	for _, c := range runnerCases {
		t.Run(c.name, func(t *testing.T) {
			text, stderr := c.run(t, "text")
			if diff := cmp.Diff(c.text, text); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if !strings.Contains(stderr, c.stderr) || c.stderr == "" && stderr != "" {
				t.Errorf("stderr is %q, want %q", stderr, c.stderr)
			}
		})
	}
}

// The object has the final result.
func TestStreamRunnerObject(t *testing.T) {
	for _, c := range runnerCases {
		t.Run(c.name, func(t *testing.T) {
			text, _ := c.run(t, "json")
			var got struct {
				Result     string `json:"result"`
				SessionID  string `json:"session_id"`
				DurationMS int    `json:"duration_ms"`
				Error      string `json:"error"`
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil || strings.Count(text, "\n") != 1 {
				t.Fatalf("%q: %v", text, err)
			}
			if got.Result != c.result || got.SessionID != "s" || (got.Error != "") != c.failed {
				t.Errorf("result %q, want %q; session %q, error %q", got.Result, c.result, got.SessionID, got.Error)
			}
			if timed := strings.Contains(c.output, "1500"); timed != (got.DurationMS == 1500) {
				t.Errorf("it took %d ms", got.DurationMS)
			}
		})
	}
}

// The frames come through as they are, and nothing else does.
func TestStreamRunnerFrames(t *testing.T) {
	for _, c := range runnerCases {
		t.Run(c.name, func(t *testing.T) {
			var want []string
			for line := range strings.Lines(strings.ToValidUTF8(c.output, "\ufffd")) {
				if line = strings.TrimSpace(line); json.Valid([]byte(line)) {
					want = append(want, line)
				}
			}
			text, _ := c.run(t, "stream-json")
			if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(text, "\n"), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A pipe shows the same, however its bytes are cut, also without a last line end.
func TestStreamRunnerShow(t *testing.T) {
	for _, c := range runnerCases {
		t.Run(c.name, func(t *testing.T) {
			whole := strings.TrimSuffix(c.output, "\n")
			for cut, in := range map[string]io.Reader{
				"whole": strings.NewReader(c.output), "without an end": strings.NewReader(whole),
				"bytes":                 iotest.OneByteReader(strings.NewReader(c.output)),
				"halves":                iotest.HalfReader(strings.NewReader(c.output)),
				"empty reads":           &stutter{r: strings.NewReader(c.output)},
				"the end with the last": iotest.DataErrReader(strings.NewReader(whole)),
			} {
				var out, errs bytes.Buffer
				code := execute(t.Context(), []string{"show", "-"}, Streams{In: in, Out: &out, Err: &errs})
				if diff := cmp.Diff(c.shown, out.String()); code != clikit.ExitDone || diff != "" {
					t.Errorf("%s: exit code %d, %s\n(-want +got):\n%s", cut, code, errs.String(), diff)
				}
			}
		})
	}
}

// A stutter is a reader that brings nothing every other time.
type stutter struct {
	r     io.Reader
	empty bool
}

func (s *stutter) Read(p []byte) (int, error) {
	if s.empty = !s.empty; s.empty {
		return 0, nil
	}
	return s.r.Read(p[:min(len(p), 7)])
}

// A text is shown while it is written: before its message, and before more input arrives.
func TestShowWhileItIsWritten(t *testing.T) {
	in, feed := io.Pipe()
	send := func(frame string) { go io.WriteString(feed, frame) } //nolint:errcheck // the output shows it
	out := &watcher{text: "One two"}
	out.seen = func() {
		out.text, out.seen = "agent\n  One two three.\n", func() { _ = feed.Close() }
		send(message("m", textBlock("One two three.")))
	}
	send(clitest.Framed(clitest.TextDelta("One two ")))
	code := execute(t.Context(), []string{"show", "-"}, Streams{In: in, Out: out, Err: io.Discard})
	if code != clikit.ExitDone || out.text != "" {
		t.Errorf("exit code %d, %q", code, out.all.String())
	}
}

// Four times as many events cost about four times as much, not sixteen times.
func TestStreamRunnerIsLinear(t *testing.T) {
	allocated := func(events int) uint64 {
		in := strings.NewReader(strings.Repeat(clitest.Framed(clitest.TextDelta("one ")), events) + resultOne)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if code := execute(t.Context(), []string{"show", "-"}, Streams{In: in, Out: io.Discard, Err: io.Discard}); code != clikit.ExitDone {
			t.Errorf("exit code %d", code)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := allocated(2000), allocated(8000)
	if many > 8*few {
		t.Errorf("2000 events cost %d bytes, 8000 events %d", few, many)
	}
}

// TestSignal sends signals to a process: TestMain has put this binary into the path under the name
// of the program.
func TestSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to another process")
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			var errs strings.Builder
			cmd := exec.CommandContext(t.Context(), "clew", "inspect", "--json")
			cmd.Stderr = &errs
			out := startAndRead(t, cmd)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
				t.Errorf("after the signal: %q, %v", rest, err)
			}
			_ = cmd.Wait() // the code says it
			want := "clew inspect: interrupted; the output is incomplete\n"
			if code := cmd.ProcessState.ExitCode(); code != clikit.ExitInterrupted || errs.String() != want {
				t.Errorf("exit code %d, stderr %q; want %d, %q", code, errs.String(), clikit.ExitInterrupted, want)
			}
		})
	}
}

// startAndRead starts a listing, sends it a frame, and waits until that is listed. The process then
// waits for more.
func startAndRead(t *testing.T, cmd *exec.Cmd) io.Reader {
	t.Helper()
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"type":"keep_alive"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "keep_alive") {
		t.Fatalf("listed %q, %v", line, err)
	}
	return lines
}

// repeat is a reader of n copies of a text.
func repeat(text string, n int) io.Reader {
	var copies []io.Reader
	for range n {
		copies = append(copies, strings.NewReader(text))
	}
	return io.MultiReader(copies...)
}

// tempHome returns a directory that is removed after the test. A status line leaves a process that
// computes costs for a moment, and writes there.
func tempHome(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "home-") //nolint:usetesting // t.TempDir fails the test if something is written while it removes.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		polltest.Until(t, "remove "+dir, func() bool { return os.RemoveAll(dir) == nil })
	})
	return dir
}
