package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A hostile agent reaches the terminal in no format: not by what the model says, by calls of tools, by lines that are no
// frames, by its result, nor by what it writes to stderr before it dies.
func TestHostileRun(t *testing.T) {
	stream, err := os.ReadFile(filepath.Join("testdata", "hostile", "stream.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	const evil = `\u001b]0;owned\u0007\u001b[2J\u009b1A\u202egnp.exe\u2066\u2028`
	endings := map[string]func(*clewtest.Scenario) *clewtest.Scenario{
		"success": func(s *clewtest.Scenario) *clewtest.Scenario {
			return s.Send(`{"type":"result","subtype":"success","result":"owned ` + evil + `","session_id":"` + evil + `","uuid":"r"}`)
		},
		"failure": func(s *clewtest.Scenario) *clewtest.Scenario {
			return s.Send(`{"type":"result","subtype":"success","is_error":true,"result":"owned ` + evil + `","session_id":"s","uuid":"r"}`)
		},
		"death": func(s *clewtest.Scenario) *clewtest.Scenario {
			return s.Stderr("owned \x1b]0;owned\x07\x1b[2J\u202e\n").Exit(1)
		},
	}
	for ending, end := range endings {
		for _, format := range []string{"text", "json", "stream-json"} {
			t.Run(ending+" in "+format, func(t *testing.T) {
				s := new(clewtest.Scenario).
					Expect(`{"type":"control_request","request_id":"hello","request":{"subtype":"initialize"}}`).
					Send(`{"type":"control_response","response":{"request_id":"hello","subtype":"success","response":{}}}`).
					Expect(`{"type":"user","message":{"role":"user"}}`).
					Do(clewtest.Garbage(string(stream)))
				useAgent(t, end(s))
				var out, errs bytes.Buffer
				args := []string{"run", "--output-format", format, "--include-partial-messages", "Hi"}
				code := execute(t.Context(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
				if failed := ending != "success"; failed != (code == exitFailed) || !strings.Contains(out.String()+errs.String(), "owned") {
					t.Errorf("exit code %d: %s", code, errs.String())
				}
				checkHarmless(t, "stdout", out.String())
				checkHarmless(t, "stderr", errs.String())
			})
		}
	}
}

// Nor does it by its questions.
func TestHostileQuestions(t *testing.T) {
	const evil = "owned \x1b]0;owned\x07\x1b[2J\u009b1A\u202egnp.exe\u2066\u2028\r\n\x00"
	checkHarmless(t, "a question", describeQuestion(&clew.Question{
		Question: evil, Options: []clew.QuestionOption{{Label: evil, Description: evil, Preview: evil}},
	}))
	for _, input := range []map[string]string{{"command": evil}, {"plan": evil}, {"other": evil}, {
		"file_path": evil, "old_string": evil, "new_string": evil + "!",
	}} {
		text, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"Bash", "Edit", evil} {
			checkHarmless(t, "a request", describe(&clew.PermissionRequest{ToolName: tool, Input: wire.JSON(text), DecisionReason: evil}, false))
		}
	}
}
