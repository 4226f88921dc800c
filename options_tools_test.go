package clew

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckRule(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"Read":                 "",
		"--evil":               "",
		"mcp__server__*":       "",
		"Bash(git log:*,x)":    "",
		"Bash(npm run test *)": "",
		`Bash(echo "a)b")`:     "",
		"Edit(docs/ü.md)":      "",
		"":                     "is empty",
		"Read,Write":           "would be taken for several rules",
		"Read Write":           "would be taken for several rules",
		" Read":                "would be taken for several rules",
		"Bash(a),Write":        "would be taken for several rules",
		"Bash(echo (a) b)":     "would be taken for several rules",
		`X(a\) b)`:             "would be taken for several rules",
		"Write(c":              "has a parenthesis that is not closed",
		"Read\tWrite":          "has a control character",
		"Edit(\n)":             "has a control character",
	}
	for rule, want := range tests {
		if got := checkRule(rule); got != want {
			t.Errorf("%q: %q, want %q", rule, got, want)
		}
	}
}

func TestCheckSkill(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pdf", "my skill", "plugin:skill", `dir\sub`, "a*b", "schön"} {
		if reason := checkSkill(name); reason != "" {
			t.Errorf("%q %s", name, reason)
		}
	}
	for _, name := range []string{
		"", "x),Bash(*", "a,b", "pdf:*", "pdf *", "*", "/pdf", " pdf", "pdf\n", `a\\b`, `a\`, "\uFEFFpdf", "a\x01", "a\x7f",
		"a\u0085b", "a\xffb",
	} {
		if checkSkill(name) == "" {
			t.Errorf("%q was accepted", name)
		}
	}
}

func TestSkillsLeaveTheCallersListAlone(t *testing.T) {
	t.Parallel()
	rules := append(make([]string, 0, 8), "Read")
	o := &Options{AllowedTools: rules, Skills: []string{"pdf"}}
	if diff := cmp.Diff([]string{"Read", "Skill(pdf)"}, o.allowedTools()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Read", ""}, rules[:2]); diff != "" {
		t.Errorf("the caller's rules (-want +got):\n%s", diff)
	}
}

func TestOptionsWarnings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    *Options
		want []string
	}{
		{"nil", nil, nil},
		{"no callback", &Options{PermissionMode: PermissionModeBypassPermissions, AllowedTools: []string{"Read"}}, nil},
		{"callback alone", &Options{CanUseTool: nopCanUseTool}, nil},
		{"bypass", &Options{CanUseTool: nopCanUseTool, PermissionMode: PermissionModeBypassPermissions},
			[]string{"is not asked: PermissionMode is bypassPermissions"}},
		{"don't ask", &Options{CanUseTool: nopCanUseTool, PermissionMode: PermissionModeDontAsk},
			[]string{"is not asked, and what it could permit is refused: PermissionMode is dontAsk"}},
		{"edits", &Options{CanUseTool: nopCanUseTool, PermissionMode: PermissionModeAcceptEdits},
			[]string{"is not asked about edits and simple file commands in the working folders: " +
				"PermissionMode is acceptEdits"}},
		{"auto", &Options{CanUseTool: nopCanUseTool, PermissionMode: PermissionModeAuto},
			[]string{"is not asked about what the agent's own classifier decides: PermissionMode is auto"}},
		{"plan", &Options{CanUseTool: nopCanUseTool, PermissionMode: PermissionModePlan}, nil},
		{"nobody", &Options{CanUseTool: nopCanUseTool, PermissionPrompts: PermissionPromptsNone},
			[]string{"is not asked: PermissionPrompts is none"}},
		{"whole tools",
			&Options{CanUseTool: nopCanUseTool, AllowedTools: []string{"Read", "Bash(ls:*)", "Edit()", "Write(*)", "Read(*)"}},
			[]string{"is not asked about tools that are always allowed: Read, Edit, Write"}},
		{"all skills", &Options{CanUseTool: nopCanUseTool, Skills: []string{AllSkills}},
			[]string{"is not asked about tools that are always allowed: Skill"}},
		{"one skill", &Options{CanUseTool: nopCanUseTool, Skills: []string{"pdf"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, w := range tt.o.Warnings() {
				if w.Option != "CanUseTool" {
					t.Errorf("warning about %s", w.Option)
				}
				got = append(got, w.Reason)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLaunchLogsWarnings(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	o := &Options{CanUseTool: nopCanUseTool, AllowedTools: []string{"Read"}, Logger: logger}
	if _, err := o.launch("claude"); err != nil {
		t.Fatal(err)
	}
	const want = `level=WARN msg="an option hardly does what was meant" option=CanUseTool ` +
		`reason="is not asked about tools that are always allowed: Read"`
	if _, got, _ := strings.Cut(log.String(), " "); got != want+"\n" {
		t.Errorf("log: %s", got)
	}
	o.Logger = nil
	if _, err := o.launch("claude"); err != nil {
		t.Fatal(err)
	}
}
