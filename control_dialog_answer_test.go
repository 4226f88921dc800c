package clew

import "testing"

func TestRecordedDialogs(t *testing.T) {
	t.Parallel()
	none := []string{}
	for subtype, want := range map[string]any{
		"get_memory_dialog": &MemoryReport{
			Files: []MemoryFile{
				{"project", "/home/dev/project/CLAUDE.md", "Project instructions", "Checked in at ./CLAUDE.md", true},
				{"user", "/home/dev/.claude/CLAUDE.md", "User instructions", "Saved in ~/.claude/CLAUDE.md", false},
			},
			Folders: []MemoryFile{{
				Kind: "auto", Path: "/home/dev/.claude/projects/-home-dev-project/memory/", Label: "Open auto-memory folder",
			}},
			Memories:   []MemoryFile{},
			AutoMemory: MemorySwitch{Enabled: true, Toggleable: true, Status: "on"},
			AutoDream:  MemorySwitch{Toggleable: true, Status: "off"},
		},
		"get_skills_dialog": &skillsDialogAnswer{[]SkillInfo{{"hello", "hello", "says hello", "project", "on", true, 5}}},
		"get_sandbox_dialog": &SandboxStatus{
			Supported: true, Mode: "disabled", PolicyOrigins: none,
			AutoAllowAvailable: true, NoSandboxAllowed: true, UnsandboxedFallback: true,
			Dependencies: SandboxDependencies{
				Errors: []string{"bubblewrap (bwrap) not installed", "socat not installed"}, Warnings: none,
			},
			ExcludedCommands: none,
			Restrictions: SandboxRestrictions{
				AllowRead: none, DenyRead: none, AllowWrite: none, DenyWrite: none, AllowedDomains: none,
				DeniedDomains: none, UnixSockets: none, IgnoredPatterns: none,
			},
		},
		"get_chrome_dialog": &ChromeStatus{Allowed: true, URLs: map[string]string{
			"install": "https://claude.ai/chrome", "reconnect": "https://clau.de/chrome/reconnect",
			"permissions": "https://clau.de/chrome/permissions",
		}},
		"get_workspace_diff": &workspaceDiffAnswer{Diff: WorkspaceDiff{
			Stats: DiffStats{Files: 1, LinesAdded: 1}, Files: []ChangedFile{{Path: "notes.txt", Added: 1, Status: "modified"}},
			Hunks:        []FileHunks{{"notes.txt", []DiffHunk{{1, 2, 1, 3, []string{" one", " two", "+three"}}}}},
			SkippedLarge: none, Restricted: none, Omitted: OmittedFiles{Exact: true}, Source: DiffSource{"working-tree"},
		}},
	} {
		t.Run(subtype, func(t *testing.T) {
			t.Parallel()
			checkAnswer(t, recordedAnswer(t, subtype), want)
		})
	}
}
