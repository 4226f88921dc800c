package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const before = `
export declare const BUILTIN_TOOL_NAMES: readonly ['Bash', 'Read'];
export declare const HOOK_EVENTS: readonly ['PreToolUse'];
export type BashOutput = {
    /** gone?: "x" */
    stdout: string;
    kind?: "a" | "b";
};
export declare type SDKControlPingRequest = {
    subtype: 'ping';
};
`

// Things that a release has and an older one lacks are listed by their subject. Tools and hook events
// that this repository knows are not new.
func TestCompare(t *testing.T) {
	t.Parallel()
	after := strings.NewReplacer(
		"'Read']", "'Read', 'Teleport']", "'PreToolUse']", "'PreToolUse', 'Dawn']", `"a" | "b"`, `"a" | "c"`,
		"    stdout: string;\n", "    stdout: string;\n    inner?: {\n      deep: string;\n    };\n    last: number;\n",
		"'ping'", "'pong'",
	).Replace(before)
	old := &release{types: before, help: "  -v, --verbose  Talk\n  --model <m>  A --nonsense\n"}
	fresh := &release{types: after, help: old.help + "  --new-flag [x]  New\n"}
	want := []work{
		{"tools", "Teleport"}, {"hook events", "Dawn"}, {"control requests", "pong"}, {"flags", "--new-flag"},
		{"declarations that are gone", "BashOutput.kind=b"}, {"declarations that are gone", "SDKControlPingRequest.subtype=ping"},
		{"declarations", "BUILTIN_TOOL_NAMES=Teleport"}, {"declarations", "BashOutput.inner"},
		{"declarations", "BashOutput.inner.deep"}, {"declarations", "BashOutput.kind=c"}, {"declarations", "BashOutput.last"},
		{"declarations", "HOOK_EVENTS=Dawn"}, {"declarations", "SDKControlPingRequest.subtype=pong"},
	}
	if diff := cmp.Diff(want, compare(old, fresh), cmp.AllowUnexported(work{})); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if list := compare(old, old); len(list) > 0 {
		t.Errorf("a release beside itself: %q", list)
	}
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := framesOf(dir); err == nil {
		t.Error("no dialogues are no error")
	}
	if _, err := unknownEntries(dir); err == nil {
		t.Error("no transcripts are no error")
	}
	write("a.txt", "# CLI 1\n> {\"type\":\"user\"}\n< {\"type\":\"system\",\"subtype\":\"init\",\"tools\":[{\"x\":1}]}\n")
	frames, err := framesOf(dir)
	if err != nil || string(frames) != `{"type":"system","subtype":"init","tools":[{"x":1}]}`+"\n" {
		t.Fatalf("frames %q, %v", frames, err)
	}
	newer := strings.Replace(string(frames), `{"x":1}`, `{"x":1,"y":{"z":2}}`, 1)
	want := []work{{"members in recordings", "system/init.tools.y"}, {"members in recordings", "system/init.tools.y.z"}}
	if diff := cmp.Diff(want, newMembers(frames, []byte(newer)), cmp.AllowUnexported(work{})); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	write("a.jsonl", `{"type":"user","uuid":"u","brandNew":1}`+"\n")
	drift, err := unknownEntries(dir)
	if err != nil || len(drift) != 1 || !strings.Contains(drift[0].name, "brandNew") {
		t.Errorf("drift %q, %v", drift, err)
	}
}

func TestInspected(t *testing.T) {
	t.Parallel()
	got, err := inspected(`{"type":"system","subtype":"dawn","known":false,"problem":""}
{"type":"assistant","subtype":"","known":true,"problem":"bad","unknown_fields":["/a"],"unknown_blocks":["b"],"unknown_event":"e"}
`)
	want := []work{
		{"blocks", "b"}, {"events", "e"}, {"fields", "assistant /a"}, {"frames", "system/dawn"}, {"problems", "assistant: bad"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(work{})); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if _, err := inspected("no JSON"); err == nil {
		t.Error("no error")
	}
	list := "# Claude Code 2, beside 1\n\n## Blocks\n\n- [ ] b\n\n## Events\n\n- [ ] e\n"
	if text := text("1", "2", want[:2]); text != list {
		t.Errorf("list %q", text)
	}
}
