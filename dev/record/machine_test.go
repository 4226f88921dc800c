package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
)

func TestTraces(t *testing.T) {
	names := []string{"/tmp", "/home/ada", "box17", "vm"}
	for text, want := range map[string][]string{
		`{"a":"/tmp/x"}`:                     {"/tmp"},
		`{"a":"see /tmp."}`:                  {"/tmp"},
		`{"a":"/home/dev/tmp/x"}`:            nil,
		`{"a":"/tmpfs"}`:                     nil,
		`{"a":"/home/ada"}`:                  {"/home/ada"},
		`{"a":"/home/adam"}`:                 nil,
		`{"a":"on box17: up"}`:               {"box17"},
		`{"a":"box170"}`:                     nil,
		`{"data":"AA/vm+vm=="}`:              nil,
		`{"a":"/home/ada/x","host":"box17"}`: {"/home/ada", "box17"},
	} {
		if diff := cmp.Diff(want, traces(text, names)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestMachineNames(t *testing.T) {
	t.Setenv("HOME", "/home/dev")
	t.Setenv("USER", "root")
	t.Setenv("TMPDIR", "/scratch")
	names := machineNames()
	if !slices.Contains(names, "/scratch") || slices.Contains(names, "/home/dev") || slices.Contains(names, "root") {
		t.Errorf("%q", names)
	}
}

// The redactor replaces every directory of a run.
func TestNewRedactor(t *testing.T) {
	model := clewtest.NewModel(t)
	stage := newStage(t.Context(), model, workDir(t))
	r := newRedactor(stage, new(Scenario), new(Recording))
	frame := `{"a":` + quote(stage.Path("x")) + `,"b":` + quote(model.ConfigDir()) + `,"c":` + quote(model.Home()) +
		`,"d":"` + directoryName(stage.Work) + `","e":` + quote(filepath.Join(variable(model.Env(), "TMPDIR"), "y")) +
		`,"f":"` + model.URL() + `"}`
	want := `{"a":"/home/dev/project/x","b":"/home/dev/.claude","c":"/home/dev","d":"-home-dev-project",` +
		`"e":"/home/dev/tmp/y","f":"http://127.0.0.1:8080"}`
	got := strings.ReplaceAll(r.Frame(frame), `\\`, "/") // the rest of a path on Windows
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found := r.Traces(got); len(found) > 0 {
		t.Errorf("traces %q", found)
	}
	if found := r.Traces(frame); len(found) < 5 {
		t.Errorf("traces of the frame as it was: %q", found)
	}
}

func TestOwnTexts(t *testing.T) {
	said, own := strings.Repeat("said by the agent ", 4), strings.Repeat("said by the host\n", 4)
	rec := new(Recording)
	rec.add(fromAgent, `{"a":`+quote(said)+`}`)
	rec.add(fromHost, `{"a":`+quote(said)+`,"b":`+quote(own)+`,"c":"short"}`)
	s := &Scenario{Own: []string{"red"}, Files: map[string]string{"x": "content"}}
	if diff := cmp.Diff([]string{own, "content", "red"}, ownTexts(s, rec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// testRedactor removes the traces of a machine that does not exist.
func testRedactor() *Redactor {
	return &Redactor{
		Replace: [][2]string{
			{"/var/t/run", redactedHome},
			{"/var/t/run/here", redactedWork},
			{"-var-t-run-here", "-home-dev-project"},
			{`C:\t\work`, redactedWork},
			{"127.0.0.1:40123", redactedModel},
			{"", "nothing"},
		},
		Own: []string{strings.Repeat("own words ", 20), "a line of the scenario\n"},
	}
}

var long = strings.Repeat("words of the agent ", 6) // 114 characters

func TestRedactFrame(t *testing.T) {
	for name, test := range map[string]struct{ frame, want string }{
		"a path":                            {`{"cwd":"/var/t/run/here"}`, `{"cwd":"/home/dev/project"}`},
		"the longer path counts":            {`{"a":"/var/t/run/here/x","b":"/var/t/run/.x"}`, `{"a":"/home/dev/project/x","b":"/home/dev/.x"}`},
		"a path inside of a text":           {`{"a":"see /var/t/run/here: \"there\""}`, `{"a":"see /home/dev/project: \"there\""}`},
		"a path as a name":                  {`{"/var/t/run/here":1}`, `{"/home/dev/project":1}`},
		"a path as the name of a directory": {`{"a":"/x/-var-t-run-here/y"}`, `{"a":"/x/-home-dev-project/y"}`},
		"a path with escapes":               {`{"a":"C:\\t\\work\\x"}`, `{"a":"/home/dev/project\\x"}`},
		"a port":                            {`{"a":"http://127.0.0.1:40123/v1"}`, `{"a":"http://127.0.0.1:8080/v1"}`},
		"a socket":                          {`{"messaging_socket_path":"/run/x/353.sock","a":1}`, `{"messaging_socket_path":"/home/dev/tmp/cc.sock","a":1}`},
		"a process":                         {`{"pid":353,"ppid":1}`, `{"pid":4242,"ppid":1}`},
		"a long text":                       {`{"a":"` + long + `"}`, `{"a":"(elided 114 characters)"}`},
		"characters, not bytes":             {`{"a":"` + strings.Repeat("ä ", 50) + `"}`, `{"a":"` + strings.Repeat("ä ", 50) + `"}`},
		"escapes count once":                {`{"a":"` + strings.Repeat(`\u00e4\n`, 51) + `"}`, `{"a":"(elided 102 characters)"}`},
		"a long name of a member":           {`{"` + long + `":1}`, `{"` + long + `":1}`},
		"a long word":                       {`{"a":"` + strings.Repeat("abc0", 50) + `"}`, `{"a":"` + strings.Repeat("abc0", 50) + `"}`},
		"a text of the scenario":            {`{"a":"` + strings.Repeat("own words ", 20) + `"}`, `{"a":"` + strings.Repeat("own words ", 20) + `"}`},
		"a part of it":                      {`{"a":"` + strings.Repeat("own words ", 15) + `"}`, `{"a":"` + strings.Repeat("own words ", 15) + `"}`},
		"little around it":                  {`{"a":"see: ` + strings.Repeat(`a line of the scenario\n`, 9) + `"}`, `{"a":"see: ` + strings.Repeat(`a line of the scenario\n`, 9) + `"}`},
		"much around it":                    {`{"a":"` + long + `a line of the scenario\n"}`, `{"a":"(elided 137 characters)"}`},
		"paths and tags":                    {`{"a":"<b> /var/t/run/` + strings.Repeat("x/", 60) + `</b>"}`, `{"a":"<b> /home/dev/` + strings.Repeat("x/", 60) + `</b>"}`},
		"all else":                          {`{ "b":1.50,"a" : [null,true,"x\u00e9\/"],"a":{} }`, `{ "b":1.50,"a" : [null,true,"x\u00e9\/"],"a":{} }`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, testRedactor().Frame(test.frame)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRedactDialogue(t *testing.T) {
	rec := Parse("# args \"--x\" \"/var/t/run/here\"\n> {\"a\":\"/var/t/run\",\"b\":\"" + long + "\"}\n< {\"a\":\"/var/t/run\",\"b\":\"" + long + "\"}\n")
	want := "# args \"--x\" \"/home/dev/project\"\n> {\"a\":\"/home/dev\",\"b\":\"" + long + "\"}\n< {\"a\":\"/home/dev\",\"b\":\"(elided 114 characters)\"}\n"
	r := testRedactor()
	got := r.Redact(rec).String()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found := r.Traces(rec.String()); len(found) == 0 {
		t.Error("no traces before")
	}
}

// Redaction changes only strings in the recorded dialogues.
func TestRedactKeepsTheRest(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(recordedDir, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d dialogues, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, frame := range Parse(string(text)).Frames(fromAgent) {
			same := editStrings(frame, func(raw string, _ bool) string { return escape(unescape(raw)) })
			if diff := cmp.Diff(tokens(t, frame, false), tokens(t, same, false)); diff != "" {
				t.Fatalf("%s: escapes (-want +got):\n%s", path, diff)
			}
			if diff := cmp.Diff(tokens(t, frame, true), tokens(t, testRedactor().Frame(frame), true)); diff != "" {
				t.Fatalf("%s: redacted (-want +got):\n%s", path, diff)
			}
		}
	}
}

// tokens returns the tokens of a JSON text. If blank is set, it replaces strings and whole numbers,
// which redaction may change.
func tokens(t *testing.T, text string, blank bool) []any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var list []any
	for d.More() {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch v := token.(type) {
		case json.Delim:
			token = v.String()
		case string:
			if blank {
				token = ""
			}
		case json.Number:
			if blank && !strings.Contains(v.String(), ".") {
				token = json.Number("0")
			}
		}
		list = append(list, token)
	}
	return list
}

func TestRedactTwiceChangesNothing(t *testing.T) {
	r := testRedactor()
	once := r.Frame(`{"cwd":"/var/t/run/here/-var-t-run-here","pid":77,"text":"` + long + `"}`)
	if diff := cmp.Diff(once, r.Frame(once)); diff != "" {
		t.Errorf("(-once +twice):\n%s", diff)
	}
}
