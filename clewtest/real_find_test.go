//go:build unix

package clewtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A findTB stands in for a test that looks for the agent, and keeps how it ended.
type findTB struct {
	testing.TB
	log []string
}

// findEnd is the panic that stands for the end of a test.
type findEnd struct{}

func (tb *findTB) Logf(format string, args ...any) { tb.note("log", fmt.Sprintf(format, args...)) }
func (tb *findTB) Fatalf(format string, args ...any) {
	tb.note("fatal", fmt.Sprintf(format, args...))
	panic(findEnd{})
}
func (tb *findTB) Fatal(args ...any) { tb.note("fatal", fmt.Sprint(args...)); panic(findEnd{}) }
func (tb *findTB) Skip(args ...any)  { tb.note("skip", fmt.Sprint(args...)); panic(findEnd{}) }

func (tb *findTB) note(kind, text string) { tb.log = append(tb.log, kind+": "+text) }

// findAgent calls RealAgent and returns its path and what it reported, with root cut from both.
func findAgent(t *testing.T, root string) []string {
	t.Helper()
	tb := &findTB{TB: t}
	func() {
		defer func() {
			if end := recover(); end != nil && end != (findEnd{}) {
				panic(end)
			}
		}()
		tb.note("path", RealAgent(tb))
	}()
	for i := range tb.log {
		tb.log[i] = strings.ReplaceAll(tb.log[i], root, "")
	}
	return tb.log
}

// fakeAgent writes a script that prints a version.
func fakeAgent(t *testing.T, path, version string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho '" + version + " (Claude Code)'\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestRealAgentFind(t *testing.T) {
	tests := []struct {
		name   string
		agents map[string]string // versions by path below the root
		env    string            // CLEW_AGENT, with ROOT for the root
		ci     string
		gomod  string
		want   []string
	}{
		{name: "nothing", want: []string{"skip: " + missingAgent}},
		{name: "nothing in CI", ci: "true", want: []string{"fatal: " + missingAgent}},
		{
			name: "the variable", env: "ROOT/a/claude", agents: map[string]string{"/a/claude": AgentVersion},
			want: []string{"path: /a/claude"},
		},
		{
			name: "the variable, another version", env: "ROOT/a/claude", agents: map[string]string{"/a/claude": "9.9.9"},
			want: []string{"log: clewtest: CLEW_AGENT is Claude Code 9.9.9, not " + AgentVersion, "path: /a/claude"},
		},
		{
			name: "the variable leads nowhere", env: "ROOT/a/claude",
			want: []string{"fatal: clewtest: CLEW_AGENT: /a/claude --version: fork/exec /a/claude: no such file or directory"},
		},
		{
			name: "the variable, a relative path", env: "../../a/claude", agents: map[string]string{"/mod/a/claude": AgentVersion},
			want: []string{"path: /mod/a/claude"},
		},
		{
			name: "the variable, a name", env: "clewtest-claude",
			agents: map[string]string{"/bin/clewtest-claude": AgentVersion, "/mod/sub/folder/clewtest-claude": "9.9.9"},
			want:   []string{"path: /bin/clewtest-claude"},
		},
		{
			name: "the variable, a name that leads nowhere", env: "clewtest-claude",
			want: []string{`fatal: clewtest: CLEW_AGENT: exec: "clewtest-claude": executable file not found in $PATH`},
		},
		{
			name: "the repository", gomod: "// Clew\nmodule github.com/clewdev/clew\n",
			agents: map[string]string{
				"/mod/.cache/agent/" + AgentVersion + "/claude": AgentVersion,
				"/user/clew/agent/" + AgentVersion + "/claude":  AgentVersion,
			},
			want: []string{"path: /mod/.cache/agent/" + AgentVersion + "/claude"},
		},
		{
			name: "another repository", gomod: "module example.com/other\n",
			agents: map[string]string{
				"/mod/.cache/agent/" + AgentVersion + "/claude": AgentVersion,
				"/user/clew/agent/" + AgentVersion + "/claude":  AgentVersion,
			},
			want: []string{"path: /user/clew/agent/" + AgentVersion + "/claude"},
		},
		{
			name:   "a cache with another version",
			agents: map[string]string{"/user/clew/agent/" + AgentVersion + "/claude": "9.9.9"},
			want: []string{"fatal: clewtest: /user/clew/agent/" + AgentVersion + "/claude is version 9.9.9: remove it, and install " +
				AgentVersion},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for path, version := range tt.agents {
				fakeAgent(t, root+path, version)
			}
			work := filepath.Join(root, "mod", "sub", "folder")
			if err := os.MkdirAll(work, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "mod", "go.mod"), []byte(tt.gomod), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Chdir(work)
			t.Setenv("CI", tt.ci)
			t.Setenv("HOME", root)
			t.Setenv("XDG_CACHE_HOME", filepath.Join(root, "user"))
			t.Setenv("PATH", filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
			t.Setenv("CLEW_AGENT", strings.ReplaceAll(tt.env, "ROOT", root))
			if diff := cmp.Diff(tt.want, findAgent(t, root)); diff != "" {
				t.Errorf("RealAgent (-want +got):\n%s", diff)
			}
		})
	}
}
