package transcript

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/wire"
)

func sawPrompt(text string) *UserMsg { return &UserMsg{Timestamp: lineTime, Text: text} }

func TestClassifyPrompts(t *testing.T) {
	const image = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}}`
	const document = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"aGVsbG8="}}`
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{name: "text", line: saidLine("Write it"), want: sawPrompt("Write it")},
		{
			name: "permission mode", line: userLine(`"Write it"`, `"permissionMode":"acceptEdits"`),
			want: &UserMsg{Timestamp: lineTime, Text: "Write it", PermissionMode: "acceptEdits"},
		},
		{name: "white space around", line: saidLine("\n Write it \n"), want: sawPrompt("Write it")},
		{
			name: "text with escapes", line: userLine(`"a \"b\" \u00e4 \u001b[31mred"`, ""),
			want: sawPrompt("a \"b\" ä \x1b[31mred"),
		},
		{name: "one block", line: userLine(`[{"type":"text","text":"Write it"}]`, ""), want: sawPrompt("Write it")},
		{
			name: "indented block",
			line: userLine(`[{"type":"text","text":"Why?"},{"type":"text","text":"    if x {\n\t\ty()\n    }\n"},{"type":"text","text":"  z"}]`, ""),
			want: sawPrompt("Why?\n    if x {\n\t\ty()\n    }\n\n  z"),
		}, {
			name: "two blocks", line: userLine(`[{"type":"text","text":"a"},{"text":"b","type":"text"}]`, ""),
			want: sawPrompt("a\nb"),
		},
		{name: "strings among blocks", line: userLine(`["a",{"type":"text","text":"b"}]`, ""), want: sawPrompt("a\nb")},
		{
			name: "picture alone", line: userLine("["+image+"]", ""),
			want: &UserMsg{Timestamp: lineTime, Text: "[Image]", Images: 1},
		}, {
			name: "pictures alone", line: userLine("["+image+","+image+"]", ""),
			want: &UserMsg{Timestamp: lineTime, Text: "[2 images]", Images: 2},
		}, {
			name: "document alone", line: userLine("["+document+"]", ""),
			want: &UserMsg{Timestamp: lineTime, Text: "[Document]", Documents: 1},
		}, {
			name: "pictures and documents", line: userLine("["+image+","+document+","+document+"]", ""),
			want: &UserMsg{Timestamp: lineTime, Text: "[Image, 2 documents]", Images: 1, Documents: 2},
		}, {
			name: "picture with text", line: userLine("["+image+`,{"type":"text","text":"What is it?"}]`, ""),
			want: &UserMsg{Timestamp: lineTime, Text: "What is it?", Images: 1},
		}, {
			name: "picture with a reminder",
			line: userLine("["+image+`,{"type":"text","text":"<system-reminder>x</system-reminder>"}]`, ""),
			want: &UserMsg{Timestamp: lineTime, Text: "[Image]", Images: 1},
		},
		{name: "block of tomorrow with text", line: userLine(`[{"type":"audio"},{"type":"text","text":"a"}]`, ""), want: sawPrompt("a")},
		{name: "no message", line: `{"type":"user","uuid":"u"}`, noise: "empty"},
		{name: "no content", line: `{"type":"user","uuid":"u","message":{"role":"user"}}`, noise: "empty"},
		{name: "null", line: userLine(`null`, ""), noise: "empty"},
		{name: "empty list", line: userLine(`[]`, ""), noise: "empty"},
		{name: "empty text", line: saidLine(""), noise: "empty"},
		{name: "blank text", line: saidLine(" \n\t "), noise: "empty"},
		{name: "blank block", line: userLine(`[{"type":"text","text":" "}]`, ""), noise: "empty"},
		{
			name: "tags inside", line: saidLine("How do I strip <system-reminder>keep me</system-reminder> from this?"),
			want: sawPrompt("How do I strip <system-reminder>keep me</system-reminder> from this?"),
		}, {
			name: "tags at the end of a sentence", line: saidLine("How do I strip <system-reminder>keep me</system-reminder>"),
			want: sawPrompt("How do I strip <system-reminder>keep me</system-reminder>"),
		}, {
			name: "tags in code", line: saidLine("Strip this:\n```\n<system-reminder>a</system-reminder>\n```\n"),
			want: sawPrompt("Strip this:\n```\n<system-reminder>a</system-reminder>\n```"),
		}, {
			name: "tags in code without an end", line: saidLine("Strip this:\n```\n<system-reminder>a</system-reminder>"),
			want: sawPrompt("Strip this:\n```\n<system-reminder>a</system-reminder>"),
		}, {
			name: "command tags inside", line: saidLine("Does <command-name>/x</command-name> or <bash-input>ls</bash-input> match?"),
			want: sawPrompt("Does <command-name>/x</command-name> or <bash-input>ls</bash-input> match?"),
		}, {
			name: "tags in the middle of one of several blocks",
			line: userLine(`["<ide_selection>x</ide_selection>","Drop <tick>a</tick> too","<system-reminder>b</system-reminder>"]`, ""),
			want: sawPrompt("Drop <tick>a</tick> too"),
		}, {
			name: "reminders on lines of their own at the end",
			line: saidLine("Go on\n\n<system-reminder>a</system-reminder>\n<system-reminder>b\n</system-reminder>\n"), want: sawPrompt("Go on"),
		}, {
			name: "words after a command", line: saidLine("<command-name>/x</command-name>\n<command-args>y</command-args> means what?"),
			want: sawPrompt("/x y\nmeans what?"),
		}, {
			name: "words after a shell command", line: saidLine("<bash-input>ls</bash-input> means what?"), want: sawPrompt("ls\nmeans what?"),
		},
	})
}

func TestClassifyCommands(t *testing.T) {
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{
			name: "command without arguments",
			line: saidLine("<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n" +
				"            <command-args></command-args>"),
			want: sawPrompt("/compact"),
		}, {
			name: "message first, with arguments",
			line: saidLine("<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n" +
				"<command-args>the last\ncommit</command-args>"),
			want: sawPrompt("/review the last\ncommit"),
		}, {
			name: "skill without a slash",
			line: saidLine("<command-message>pdf</command-message>\n<command-name>pdf</command-name>\n" +
				"<command-args>a.pdf</command-args>\n<skill-format>true</skill-format>"),
			want: sawPrompt("/pdf a.pdf"),
		},
		{name: "command without a name", line: saidLine("<command-name></command-name>"), noise: "empty"},
		{name: "shell command", line: saidLine("<bash-input>git status</bash-input>"), want: sawPrompt("git status")},
		{
			name: "what a command printed", line: saidLine("<local-command-stdout>Compacted </local-command-stdout>"),
			want: &SystemMsg{Timestamp: lineTime, Output: "Compacted"},
		}, {
			name: "indented output", line: saidLine("<local-command-stdout>\n\n  a\nb\n</local-command-stdout>"),
			want: &SystemMsg{Timestamp: lineTime, Output: "  a\nb"},
		}, {
			name: "errors of a command", line: saidLine("<local-command-stderr>Error: no</local-command-stderr>"),
			want: &SystemMsg{Timestamp: lineTime, Output: "Error: no", IsError: true},
		},
		{name: "no output", line: saidLine("<local-command-stdout></local-command-stdout>"), noise: "empty"},
		{name: "no errors", line: saidLine("<local-command-stderr></local-command-stderr>"), noise: "empty"},
		{
			name: "output without an end", line: saidLine("<local-command-stdout>cut"),
			want: &SystemMsg{Timestamp: lineTime, Output: "cut"},
		}, {
			name: "shell output", line: saidLine("<bash-stdout>main.go</bash-stdout><bash-stderr></bash-stderr>"),
			want: &SystemMsg{Timestamp: lineTime, Output: "main.go"},
		}, {
			name: "shell errors", line: saidLine("<bash-stdout></bash-stdout><bash-stderr>not found\n</bash-stderr>"),
			want: &SystemMsg{Timestamp: lineTime, Output: "not found", IsError: true},
		}, {
			name: "shell output and errors", line: saidLine("<bash-stdout>a</bash-stdout><bash-stderr>b</bash-stderr>"),
			want: &SystemMsg{Timestamp: lineTime, Output: "a", Stderr: "b", IsError: true},
		}, {
			name: "shell errors first", line: saidLine("<bash-stderr>b</bash-stderr><bash-stdout>a</bash-stdout>"),
			want: &SystemMsg{Timestamp: lineTime, Output: "a", Stderr: "b", IsError: true},
		}, {
			name: "blank shell errors", line: saidLine("<bash-stdout>a</bash-stdout><bash-stderr> \n</bash-stderr>"),
			want: &SystemMsg{Timestamp: lineTime, Output: "a"},
		},
		{name: "silent shell", line: saidLine("<bash-stdout></bash-stdout><bash-stderr></bash-stderr>"), noise: "empty"},
		{
			name: "tags in output", line: saidLine("<bash-stdout>see <bash-stderr> there</bash-stdout><bash-stderr></bash-stderr>"),
			want: &SystemMsg{Timestamp: lineTime, Output: "see <bash-stderr> there"},
		},
	})
}

func TestClassifyAdded(t *testing.T) {
	caveat := caveatStart + " DO NOT respond to these messages or otherwise consider them in your response " + caveatEnd
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{name: "caveat", line: metaLine("<local-command-caveat>The command\nbelow</local-command-caveat>"), noise: "caveat"},
		{name: "caveat not marked", line: saidLine("<local-command-caveat>x</local-command-caveat>"), noise: "caveat"},
		{name: "caveat in words", line: metaLine(caveat), noise: "caveat"},
		{
			name: "caveat in front of a command", line: saidLine(caveat + "\n\n<command-name>/clear</command-name>"),
			want: sawPrompt("/clear"),
		},
		{name: "the user's caveat", line: saidLine("Caveat: it must be fast."), want: sawPrompt("Caveat: it must be fast.")},
		{name: "reminder", line: metaLine("<system-reminder>\nx\n</system-reminder>"), noise: "system-reminder"},
		{name: "reminder in capitals", line: saidLine("<SYSTEM-Reminder>x</system-REMINDER>"), noise: "system-reminder"},
		{
			name: "reminders", line: saidLine("<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder>"),
			noise: "system-reminder",
		},
		{
			name: "reminders around a prompt",
			line: saidLine("<system-reminder>a</system-reminder>Go on<system-reminder>b</system-reminder>"), want: sawPrompt("Go on"),
		},
		{
			name: "reminder in a block of its own",
			line: userLine(`[{"type":"text","text":"<system-reminder>a</system-reminder>"},{"type":"text","text":"Go on"}]`, ""),
			want: sawPrompt("Go on"),
		},
		{name: "reminder without an end", line: saidLine("<system-reminder>x"), want: sawPrompt("<system-reminder>x")},
		{name: "memory", line: saidLine("<user-memory-input>tabs</user-memory-input>"), noise: "user-memory-input"},
		{name: "hook", line: saidLine("<session-start-hook>x</session-start-hook>"), noise: "session-start-hook"},
		{name: "tick", line: saidLine("<tick>12:00</tick>"), noise: "tick"},
		{name: "goal", line: saidLine("<goal>done</goal>"), noise: "goal"},
		{name: "open file", line: saidLine("<ide_opened_file>a.go</ide_opened_file>"), noise: "ide_opened_file"},
		{
			name: "editor in front of a prompt",
			line: saidLine("<ide_opened_file>a.go</ide_opened_file>\n<ide_selection>x\ny</ide_selection>Fix it"), want: sawPrompt("Fix it"),
		},
		{name: "hook in front of a prompt", line: saidLine("<session-start-hook>x</session-start-hook>Go"), want: sawPrompt("Go")},
		{name: "tag of the user", line: saidLine("<div>a</div> looks odd"), want: sawPrompt("<div>a</div> looks odd")},
		{
			name: "stop hook", line: metaLine("Stop hook feedback:\n- [lint]: fix it"),
			want: &SystemMsg{Timestamp: lineTime, Output: "Stop hook feedback:\n- [lint]: fix it"},
		},
		{name: "interruption", line: saidLine("[Request interrupted by user]"), noise: "interruption"},
		{name: "interruption cut off", line: saidLine("[Request interrupted by user"), noise: "interruption"},
		{
			name: "interruption of a tool", noise: "interruption",
			line: userLine(`[{"type":"text","text":"[Request interrupted by user for tool use]"}]`, ""),
		},
		{
			name: "interruption and a prompt", want: sawPrompt("No, the other"),
			line: userLine(`[{"type":"text","text":"[Request interrupted by user]"},{"type":"text","text":"No, the other"}]`, ""),
		},
		{
			name: "interruption behind a reminder", noise: "interruption",
			line: saidLine("<system-reminder>a</system-reminder>[Request interrupted by user]"),
		},
		{name: "talk of interruptions", line: saidLine("What is [Request interrupted by user]?"), want: sawPrompt("What is [Request interrupted by user]?")},
	})
}

func TestClassifyTeammates(t *testing.T) {
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{
			name: "message", line: saidLine("<teammate-message teammate_id=\"ada\" color=\"blue\" summary=\"Found > it\">\nIt's in a.go\n</teammate-message>"),
			want: &TeammateMsg{Timestamp: lineTime, Text: "It's in a.go", TeammateID: "ada", Color: "blue", Summary: "Found > it"},
		}, {
			name: "sanitised", line: saidLine(`<teammate-message teammate_id="ada">a<system-reminder>x</system-reminder></teammate-message>`),
			want: &TeammateMsg{Timestamp: lineTime, Text: "a", TeammateID: "ada"},
		}, {
			name: "other order", line: saidLine(`<teammate-message color="red" teammate_id="ada">a</teammate-message>`),
			want: &TeammateMsg{Timestamp: lineTime, Text: "a", TeammateID: "ada", Color: "red"},
		}, {
			name: "without an end", line: saidLine(`<teammate-message teammate_id="ada">a`),
			want: &TeammateMsg{Timestamp: lineTime, Text: "a", TeammateID: "ada"},
		}, {
			name: "several", line: saidLine(`<teammate-message teammate_id="ada">a</teammate-message>` + "\n\n" +
				`<teammate-message teammate_id="bob" color="red">b</teammate-message>` + "\n" +
				`<teammate-message teammate_id="ada">c</teammate-message>`),
			want: &TeammateMsg{Timestamp: lineTime, Text: "a\n\nbob: b\n\nc", TeammateID: "ada"},
		}, {
			name: "news and a notification", line: saidLine(`<teammate-message teammate_id="ada">{"type":"idle_notification"}</teammate-message>` +
				`<teammate-message teammate_id="bob">b</teammate-message>`),
			want: &TeammateMsg{Timestamp: lineTime, Text: "b", TeammateID: "bob"},
		},
		{
			name: "JSON of its own", line: saidLine(`<teammate-message teammate_id="ada">{"type":"report"}</teammate-message>`),
			want: &TeammateMsg{Timestamp: lineTime, Text: `{"type":"report"}`, TeammateID: "ada"},
		},
		{
			name: "nobody's", line: saidLine(`<teammate-message color="red">a</teammate-message>`),
			want: sawPrompt(`<teammate-message color="red">a</teammate-message>`),
		},
	})
	for _, kind := range []string{
		"idle_notification", "shutdown_approved", "shutdown_request", "teammate_terminated", "task_assignment",
	} {
		runClassify(t, classifier{}, []classifyCase{{
			name: kind, noise: "teammate:" + kind,
			line: saidLine(`<teammate-message teammate_id="ada">` + "\n" + `{"from":"ada","type":"` + kind + `"}</teammate-message>`),
		}})
	}
}

func TestClassifyNotifications(t *testing.T) {
	note := func(members string) string {
		return saidLine("<task-notification>\n<task-id>ab45</task-id>\n" + members + "\n</task-notification>")
	}
	reports := func(id string, tasks ...TaskReport) *SystemMsg {
		m := &SystemMsg{Timestamp: lineTime, Tasks: tasks}
		for i := range tasks {
			tasks[i].TaskID, tasks[i].Time = id, lineTime
			m.Output = joinLines(m.Output, tasks[i].Summary)
			m.IsError = m.IsError || tasks[i].Status == "killed"
		}
		return m
	}
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{
			name: "completed", want: reports("ab45", TaskReport{
				Status: "completed", Summary: `Agent "Count files" finished`, Result: "All <b>7</b>.</result>", DurationMs: 423,
			}),
			line: note("<status>completed</status>\n<summary>Agent \"Count files\" finished</summary>\n<note>n</note>\n" +
				"<result>All <b>7</b>.</result></result>\n<usage><duration_ms>423</duration_ms></usage>"),
		}, {
			name: "killed", want: reports("ab45", TaskReport{Status: "killed", Summary: "Stopped"}),
			line: note("<status>killed</status><summary>Stopped</summary>"),
		}, {
			name: "failed", want: reports("ab45", TaskReport{Status: "failed", Summary: "Exit code 1"}),
			line: note("<status>failed</status><summary>Exit code 1</summary>"),
		}, {
			name: "without a summary", want: reports("ab45", TaskReport{Status: "completed", Summary: "ab45\ncompleted: 1 < 2"}),
			line: note("<status>completed</status>: 1 < 2"),
		}, {
			name: "two", want: reports("", TaskReport{Summary: "a"}, TaskReport{Status: "killed", Summary: "b"}),
			line: saidLine("<task-notification><summary>a</summary></task-notification>\n" +
				"<task-notification><status>killed</status><summary>b</summary></task-notification>"),
		},
		{name: "empty", line: saidLine("<task-notification><task-id></task-id></task-notification>"), noise: "empty"},
	})
}

func TestClassifySummaries(t *testing.T) {
	text := continued + ". The summary below covers the earlier portion.\n\n<system-reminder>x</system-reminder>\nTalked."
	want := &CompactMsg{
		Timestamp: lineTime, Summary: true, Text: continued + ". The summary below covers the earlier portion.\n\n\nTalked.",
	}
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{name: "marked", line: userLine(quoteText(text), `"isCompactSummary":true,"isVisibleInTranscriptOnly":true`), want: want},
		{name: "not marked", line: saidLine(text), want: want},
		{
			name: "not marked, in other words, after a reminder",
			line: saidLine("<system-reminder>x</system-reminder>\nThis session is being continued from a previous conversation. It: a."),
			want: &CompactMsg{
				Timestamp: lineTime, Summary: true, Text: "This session is being continued from a previous conversation. It: a.",
			},
		},
		{
			name: "marked, in other words", line: userLine(`[{"type":"text","text":"Talked."}]`, `"isCompactSummary":true`),
			want: &CompactMsg{Timestamp: lineTime, Summary: true, Text: "Talked."},
		}, {
			name: "what a person said", line: saidLine(continued + ".\n\nThey asked:\n\n<system-reminder>x</system-reminder>\n\nEnd."),
			want: &CompactMsg{
				Timestamp: lineTime, Summary: true, Text: continued + ".\n\nThey asked:\n\n<system-reminder>x</system-reminder>\n\nEnd.",
			},
		},
	})
}

func TestClassifyMetaText(t *testing.T) {
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{
			name: "skill", line: userLine(`[{"type":"text","text":"Base directory for this skill: /x\n\nDo it."}]`,
				`"isMeta":true,"sourceToolUseID":"toolu_1"`),
			want: &AIMsg{
				Timestamp: lineTime, IsMeta: true, SourceToolUseID: "toolu_1",
				Blocks: wire.Content{&wire.TextBlock{Text: "Base directory for this skill: /x\n\nDo it."}},
			},
		}, {
			name: "text", line: metaLine("Continue from where you left off."),
			want: &AIMsg{
				Timestamp: lineTime, IsMeta: true, Blocks: wire.Content{&wire.TextBlock{Text: "Continue from where you left off."}},
			},
		}, {
			name: "picture", line: userLine(`[{"type":"image","source":{"type":"base64","data":"eA=="}}]`, `"isMeta":true`),
			want: &AIMsg{
				Timestamp: lineTime, IsMeta: true, Blocks: wire.Content{&wire.ImageBlock{Source: &wire.Source{Type: "base64", Data: "eA=="}}},
			},
		},
		{name: "nothing", line: metaLine(" "), noise: "empty"},
	})
}

// A small prompt must not hold on to the text around it.
func TestOwn(t *testing.T) {
	long := strings.Repeat("x", 1000)
	if n := testing.AllocsPerRun(10, func() { own(long[:600], long) }); n != 0 {
		t.Errorf("%v allocations for most of a text", n)
	}
	if n := testing.AllocsPerRun(10, func() { keepText = own(long[:100], long) }); n != 1 {
		t.Errorf("%v allocations for a small part of a text", n)
	}
}

var keepText string

// The caveat in words that older versions wrote.
const (
	caveatStart = "Caveat: The messages below were generated by the user while running local commands."
	caveatEnd   = "unless the user explicitly asks you to."
)
