package transcript

import (
	"testing"
	"time"
)

func systemLine(members string) string {
	return `{"parentUuid":"p","type":"system",` + members + `,"uuid":"u",` + lineTimeText + `}`
}

func sawNotice(text string) *SystemMsg { return &SystemMsg{Timestamp: lineTime, Output: text} }

func sawError(text string) *SystemMsg {
	return &SystemMsg{Timestamp: lineTime, Output: text, IsError: true}
}

func TestClassifySystem(t *testing.T) {
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{
			name: "compaction", want: &CompactMsg{
				Timestamp: lineTime, Text: "Conversation compacted", Trigger: "auto", PreTokens: 165914, PostTokens: 21000,
				Duration: 61 * time.Second,
			},
			line: systemLine(`"subtype":"compact_boundary","content":"Conversation compacted",
				"compactMetadata":{"trigger":"auto","preTokens":165914,"postTokens":21000,"durationMs":61000.4}`),
		},
		{name: "bare compaction", line: systemLine(`"subtype":"compact_boundary"`), want: &CompactMsg{Timestamp: lineTime}},
		{name: "turn", line: systemLine(`"subtype":"turn_duration","durationMs":75264`), noise: "system:turn_duration"},
		{
			name: "small compaction", noise: "system:microcompact_boundary",
			line: systemLine(`"subtype":"microcompact_boundary","content":"Context microcompacted"`),
		},
		{name: "init", line: systemLine(`"subtype":"init","content":"x"`), noise: "system:init"},
		{name: "bridge", line: systemLine(`"subtype":"bridge_status","content":"x"`), noise: "system:bridge_status"},
		{name: "thinking", line: systemLine(`"subtype":"thinking","content":"x"`), noise: "system:thinking"},
		{
			name: "command", want: sawPrompt("/model"),
			line: systemLine(`"subtype":"local_command","content":"<command-name>/model</command-name>\n   ` +
				`<command-message>model</command-message>\n   <command-args></command-args>","level":"info"`),
		}, {
			name: "output", want: sawNotice("Set model to Opus"),
			line: systemLine(`"subtype":"local_command","content":"<local-command-stdout>Set model to Opus</local-command-stdout>"`),
		}, {
			name: "errors", want: sawError("No such model"),
			line: systemLine(`"subtype":"local_command","content":"<local-command-stderr>No such model</local-command-stderr>"`),
		},
		{
			name: "empty output", noise: "empty",
			line: systemLine(`"subtype":"local_command","content":"<local-command-stdout></local-command-stdout>"`),
		},
		{name: "no command", line: systemLine(`"subtype":"local_command"`), noise: "system:local_command"},
		{name: "other words of a command", line: systemLine(`"subtype":"local_command","content":"Done"`), want: sawNotice("Done")},
		{name: "recap", line: systemLine(`"subtype":"away_summary","content":"Fixed it."`), want: sawNotice("Fixed it.")},
		{
			name: "information", want: sawNotice("Note"),
			line: systemLine(`"subtype":"informational","content":"Note","level":"info"`),
		}, {
			name: "error", want: sawError("No"),
			line: systemLine(`"subtype":"informational","content":"No","level":"error"`),
		},
		{name: "oldest form", line: systemLine(`"content":"Running hook...","level":"info"`), want: sawNotice("Running hook...")},
		{name: "oldest form, empty", line: systemLine(`"content":""`), noise: "system:untyped"},
		{name: "of tomorrow", line: systemLine(`"subtype":"of_tomorrow","content":"News"`), want: sawNotice("News")},
		{name: "of tomorrow, blocks", line: systemLine(`"subtype":"x","content":[{"type":"text","text":"News"}]`), want: sawNotice("News")},
		{name: "of tomorrow, no text", line: systemLine(`"subtype":"of_tomorrow","content":{"a":1}`), noise: "system:of_tomorrow"},
		{name: "task", line: systemLine(`"subtype":"scheduled_task_fire","content":"Running the check"`), want: sawNotice("Running the check")},
		{name: "task without text", line: systemLine(`"subtype":"scheduled_task_fire","prompt":"check"`), want: sawNotice("Scheduled task started: check")},
		{
			name: "memory", want: sawNotice("Memory saved: a.md, b.md"),
			line: systemLine(`"subtype":"memory_saved","writtenPaths":["a.md","b.md"]`),
		},
		{name: "memory without paths", line: systemLine(`"subtype":"memory_saved"`), want: sawNotice("Memory saved")},
		{name: "retry", line: systemLine(`"subtype":"permission_retry","commands":["ls"]`), want: sawNotice("Allowed on a second try: ls")},
		{
			name: "fallback", want: sawNotice("a declined to answer, b took over"),
			line: systemLine(`"subtype":"model_refusal_fallback","originalModel":"a","fallbackModel":"b"`),
		}, {
			name: "unnamed fallback", want: sawNotice("The model declined to answer, another took over"),
			line: systemLine(`"subtype":"model_refusal_fallback"`),
		},
	})
}

func TestClassifyStopHooks(t *testing.T) {
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{
			name: "well", noise: "system:stop_hook_summary",
			line: systemLine(`"subtype":"stop_hook_summary","hookCount":1,"hookErrors":[],"preventedContinuation":false,"stopReason":""`),
		}, {
			name: "errors", want: sawError("Stop hook error: a\nb"),
			line: systemLine(`"subtype":"stop_hook_summary","hookErrors":["a","b"],"preventedContinuation":false`),
		}, {
			name: "errors that are no strings", want: sawError(`Stop hook error: {"code":1}`),
			line: systemLine(`"subtype":"stop_hook_summary","hookErrors":[{"code":1}]`),
		}, {
			name: "stopped", want: sawNotice("Stop hook stopped the agent: enough"),
			line: systemLine(`"subtype":"stop_hook_summary","hookErrors":[],"preventedContinuation":true,"stopReason":"enough"`),
		}, {
			name: "both", want: sawError("Stop hook error: a\nStop hook stopped the agent"),
			line: systemLine(`"subtype":"stop_hook_summary","hookErrors":["a"],"preventedContinuation":true,"stopReason":""`),
		},
	})
}

func TestClassifyAPIErrors(t *testing.T) {
	for members, want := range map[string]string{
		`"error":{"status":529,"error":{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}},
			"retryInMs":514.73,"retryAttempt":1,"maxRetries":10`: "API error 529: Overloaded (retry 1 of 10 in 514ms)",
		`"error":{"status":429,"message":"Slow down"},"retryAttempt":2,"maxRetries":10`:                              "API error 429: Slow down (retry 2 of 10)",
		`"error":{"message":"529 {\"type\":\"error\"}","status":529,"formatted":"529 Overloaded","noResponse":null}`: "API error 529: Overloaded",
		`"error":{"cause":{"code":"ECONNRESET"}},"retryAttempt":3`:                                                   "API error: ECONNRESET (retry 3)",
		`"cause":{"code":"ENOTFOUND","message":"no host"},"error":{}`:                                                "API error: no host",
		`"error":"broken"`:                         "API error: broken",
		`"error":{"type":"api_error"}`:             "API error: api_error",
		`"error":null`:                             "API error",
		`"error":{"status":"x"},"retryAttempt":-1`: "API error",
	} {
		runClassify(t, classifier{}, []classifyCase{{
			name: members, line: systemLine(`"subtype":"api_error","level":"error",` + members), want: sawError(want),
		}})
	}
}

func attachmentLine(attachment string) string {
	return `{"parentUuid":"p","attachment":` + attachment + `,"type":"attachment","uuid":"u",` + lineTimeText + `}`
}

func TestClassifyAttachments(t *testing.T) {
	queued := func(text string, images int) *UserMsg {
		return &UserMsg{Timestamp: lineTime, Text: text, Images: images, Queued: true}
	}
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{
			name: "queued prompt", want: queued("Also this", 0),
			line: attachmentLine(`{"type":"queued_command","prompt":"Also this","commandMode":"prompt"}`),
		}, {
			name: "queued blocks", want: queued("Also this", 1),
			line: attachmentLine(`{"type":"queued_command","prompt":[{"type":"text","text":"Also this"},{"type":"image"}]}`),
		}, {
			name: "queued picture", want: queued("[Image]", 1),
			line: attachmentLine(`{"type":"queued_command","prompt":[{"type":"image","source":{}}]}`),
		}, {
			name: "queued notification", want: sawError("Stopped"),
			line: attachmentLine(`{"type":"queued_command","commandMode":"task-notification",` +
				`"prompt":"<task-notification><status>killed</status><summary>Stopped</summary></task-notification>"}`),
		}, {
			name: "queued command", want: queued("/cost", 0),
			line: attachmentLine(`{"type":"queued_command","prompt":"<command-name>/cost</command-name>"}`),
		},
		{name: "queued nothing", line: attachmentLine(`{"type":"queued_command"}`), noise: "empty"},
		{
			name: "blocking hook", want: sawError("PreToolUse:Bash hook error: not this"),
			line: attachmentLine(`{"type":"hook_blocking_error","hookName":"PreToolUse:Bash","hookEvent":"PreToolUse",` +
				`"blockingError":{"blockingError":"not this\n","command":"check"}}`),
		}, {
			name: "hook that failed", want: sawError("Stop hook error: boom"),
			line: attachmentLine(`{"type":"hook_non_blocking_error","hookName":"Stop","stderr":"boom\n","stdout":"x","exitCode":1}`),
		}, {
			name: "hook that broke", want: sawError("Stop hook error: no such file"),
			line: attachmentLine(`{"type":"hook_error_during_execution","hookEvent":"Stop","content":"no such file"}`),
		},
		{name: "hook without words", line: attachmentLine(`{"type":"hook_blocking_error"}`), want: sawError("A hook error")},
		{
			name: "hook's message", want: sawNotice("SessionStart hook: hello"),
			line: attachmentLine(`{"type":"hook_system_message","hookName":"SessionStart","content":"hello"}`),
		},
		{name: "hook's silence", line: attachmentLine(`{"type":"hook_system_message"}`), noise: "attachment:hook_system_message"},
		{name: "turns", line: attachmentLine(`{"type":"max_turns_reached","maxTurns":5,"turnCount":6}`), want: sawNotice("Reached the limit of 5 turns")},
		{name: "turns, no number", line: attachmentLine(`{"type":"max_turns_reached"}`), want: sawNotice("Reached the limit of turns")},
		{name: "goal met", line: attachmentLine(`{"type":"goal_status","met":true,"condition":"tests pass"}`), want: sawNotice("Goal met: tests pass")},
		{name: "goal not met", line: attachmentLine(`{"type":"goal_status","met":false}`), want: sawNotice("Goal not met yet")},
		{name: "no type", line: attachmentLine(`{}`), noise: "attachment:untyped"},
		{name: "no object", line: attachmentLine(`7`), noise: "attachment:untyped"},
	})
	for _, kind := range []string{"environment", "task_reminder", "hook_success", "hook_cancelled", "skill_listing", "of_tomorrow"} {
		runClassify(t, classifier{}, []classifyCase{{
			name: kind, line: attachmentLine(`{"type":"` + kind + `","content":"x"}`), noise: "attachment:" + kind,
		}})
	}
}

// What the agent has queued for itself is for the model.
func TestClassifyQueuedMeta(t *testing.T) {
	for _, prompt := range []string{`"a"`, `[{"type":"image"}]`, `[{"type":"tool_result","tool_use_id":"t"}]`} {
		e, err := DecodeEntry([]byte(attachmentLine(`{"type":"queued_command","isMeta":true,"prompt":` + prompt + `}`)))
		if err != nil {
			t.Fatal(err)
		}
		msg, _ := Classify(e)
		if ai, ok := msg.(*AIMsg); !ok || !ai.IsMeta || len(ai.Blocks) != 1 {
			t.Errorf("%s is %+v", prompt, msg)
		}
	}
}
