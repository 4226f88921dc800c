package clew

import (
	"context"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/wire"
)

// hookInputExamples has one input of every event, with all its fields, none of them zero.
var hookInputExamples = []struct {
	event hook.Event
	input hook.Input
	json  string
}{
	{hook.PreToolUse, new(hook.PreToolUseInput), `{"hook_event_name":"PreToolUse","session_id":"s","transcript_path":"/t",
		"cwd":"/c","prompt_id":"p","permission_mode":"plan","agent_id":"a","agent_type":"Explore",
		"effort":{"level":"high"},"tool_name":"mcp__calc__add","tool_input":{"a":1},"tool_use_id":"toolu_1",
		"mcp_server":{"name":"calc","source":"sdk"}}`},
	{hook.PostToolUse, new(hook.PostToolUseInput), `{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"a":1},
		"tool_response":{"stdout":"x"},"tool_use_id":"t","duration_ms":4.5,"mcp_server":{"name":"n","source":"user"}}`},
	{hook.PostToolUseFailure, new(hook.PostToolUseFailureInput), `{"hook_event_name":"PostToolUseFailure","tool_name":"Bash",
		"tool_input":{"a":1},"tool_use_id":"t","error":"E","is_interrupt":true,"duration_ms":4,
		"mcp_server":{"name":"n","source":"user"}}`},
	{hook.PostToolBatch, new(hook.PostToolBatchInput), `{"hook_event_name":"PostToolBatch","tool_calls":[
		{"tool_name":"Bash","tool_input":{"a":1},"tool_use_id":"t","tool_response":"x"}]}`},
	{hook.PermissionRequest, new(hook.PermissionRequestInput), `{"hook_event_name":"PermissionRequest","tool_name":"Bash",
		"tool_input":{"a":1},"permission_suggestions":[{"type":"setMode","mode":"plan","new":1}],
		"mcp_server":{"name":"n","source":"user"}}`},
	{hook.PermissionDenied, new(hook.PermissionDeniedInput), `{"hook_event_name":"PermissionDenied","tool_name":"Bash",
		"tool_input":{"a":1},"tool_use_id":"t","reason":"R","mcp_server":{"name":"n","source":"user"}}`},
	{hook.UserPromptSubmit, new(hook.UserPromptSubmitInput), `{"hook_event_name":"UserPromptSubmit","prompt":"P","source":"sdk",
		"session_title":"T"}`},
	{hook.UserPromptExpansion, new(hook.UserPromptExpansionInput), `{"hook_event_name":"UserPromptExpansion",
		"expansion_type":"slash_command","command_name":"c","command_args":"a","command_source":"s","prompt":"P"}`},
	{hook.MessageDisplay, new(hook.MessageDisplayInput), `{"hook_event_name":"MessageDisplay","turn_id":"t","message_id":"m",
		"index":2,"final":true,"delta":"d"}`},
	{hook.Notification, new(hook.NotificationInput), `{"hook_event_name":"Notification","message":"M","title":"T",
		"notification_type":"idle"}`},
	{hook.Stop, new(hook.StopInput), `{"hook_event_name":"Stop","stop_hook_active":true,
		"last_assistant_message":"M",` + goingOn},
	{hook.StopFailure, new(hook.StopFailureInput), `{"hook_event_name":"StopFailure","error":"rate_limit","error_details":"D",
		"last_assistant_message":"M"}`},
	{hook.Setup, new(hook.SetupInput), `{"hook_event_name":"Setup","trigger":"init"}`},
	{hook.SessionStart, new(hook.SessionStartInput), `{"hook_event_name":"SessionStart","source":"resume","agent_type":"a",
		"model":"m","session_title":"T","seconds_since_last_response":1.5,"context_tokens":10,
		"prompt_cache_likely_expired":true,"estimated_cache_write_usd":0.25}`},
	{hook.SessionEnd, new(hook.SessionEndInput), `{"hook_event_name":"SessionEnd","reason":"clear"}`},
	{hook.PreCompact, new(hook.PreCompactInput), `{"hook_event_name":"PreCompact","trigger":"auto",
		"custom_instructions":"C"}`},
	{hook.PostCompact, new(hook.PostCompactInput), `{"hook_event_name":"PostCompact","trigger":"manual",
		"compact_summary":"S"}`},
	{hook.PreModelSwitch, new(hook.PreModelSwitchInput), `{"hook_event_name":"PreModelSwitch",` + modelSwitch},
	{hook.PostModelSwitch, new(hook.PostModelSwitchInput), `{"hook_event_name":"PostModelSwitch",` + modelSwitch},
	{hook.SubagentStart, new(hook.SubagentStartInput), `{"hook_event_name":"SubagentStart","agent_id":"a",
		"agent_type":"Explore"}`},
	{hook.SubagentStop, new(hook.SubagentStopInput), `{"hook_event_name":"SubagentStop","stop_hook_active":true,"agent_id":"a",
		"agent_transcript_path":"/a","agent_type":"Explore","last_assistant_message":"M",` + goingOn},
	{hook.TeammateIdle, new(hook.TeammateIdleInput), `{"hook_event_name":"TeammateIdle","teammate_name":"n","team_name":"t"}`},
	{hook.TaskCreated, new(hook.TaskCreatedInput), `{"hook_event_name":"TaskCreated",` + listedTask},
	{hook.TaskCompleted, new(hook.TaskCompletedInput), `{"hook_event_name":"TaskCompleted",` + listedTask},
	{hook.Elicitation, new(hook.ElicitationInput), `{"hook_event_name":"Elicitation","mcp_server_name":"calc","message":"Who?",
		"mode":"url","url":"https://e.test","elicitation_id":"e","requested_schema":{"type":"object"}}`},
	{hook.ElicitationResult, new(hook.ElicitationResultInput), `{"hook_event_name":"ElicitationResult","mcp_server_name":"calc",
		"elicitation_id":"e","mode":"form","action":"accept","content":{"a":1}}`},
	{hook.ConfigChange, new(hook.ConfigChangeInput), `{"hook_event_name":"ConfigChange","source":"skills","file_path":"/f"}`},
	{hook.InstructionsLoaded, new(hook.InstructionsLoadedInput), `{"hook_event_name":"InstructionsLoaded","file_path":"/f",
		"memory_type":"User","load_reason":"include","globs":["*.go"],"trigger_file_path":"/t","parent_file_path":"/p"}`},
	{hook.CWDChanged, new(hook.CWDChangedInput), `{"hook_event_name":"CwdChanged","old_cwd":"/o","new_cwd":"/n"}`},
	{hook.DirectoryAdded, new(hook.DirectoryAddedInput), `{"hook_event_name":"DirectoryAdded","directory":"/d",
		"source":"slash_command"}`},
	{hook.FileChanged, new(hook.FileChangedInput), `{"hook_event_name":"FileChanged","file_path":"/f","event":"add"}`},
	{hook.WorktreeCreate, new(hook.WorktreeCreateInput), `{"hook_event_name":"WorktreeCreate","name":"n"}`},
	{hook.WorktreeRemove, new(hook.WorktreeRemoveInput), `{"hook_event_name":"WorktreeRemove","worktree_path":"/w"}`},
	{"BrandNew", new(hook.UnknownInput), `{"hook_event_name":"BrandNew","session_id":"s"}`},
}

const (
	goingOn = `"background_tasks":[{"id":"b","type":"shell","status":"running","description":"D","command":"c",
		"agent_type":"a","server":"s","tool":"t","name":"n"}],
		"session_crons":[{"id":"c","schedule":"* * * * *","recurring":true,"prompt":"P"}]}`
	modelSwitch = `"from_model":"a","to_model":"b","requested_model":"c","source":"sdk","context_tokens":5,
		"prompt_cache_warm":true,"cache_ttl":"1h","estimated_cache_write_usd":0.5,"pricing":"catalog"}`
	listedTask = `"task_id":"1","task_subject":"S","task_description":"D","teammate_name":"n","team_name":"t"}`
)

// Every field of every event gets into a field of its type: written again, it is the same.
func TestHookInputs(t *testing.T) {
	t.Parallel()
	for _, example := range hookInputExamples {
		t.Run(string(example.event), func(t *testing.T) {
			t.Parallel()
			in := received(t, example.json)
			if got, want := reflect.TypeOf(in), reflect.TypeOf(example.input); got != want {
				t.Fatalf("input is a %v, want a %v", got, want)
			}
			if in.Base().Event != example.event || in.Base().RequestToolUseID != "toolu_9" || in.Raw() != wire.JSON(example.json) {
				t.Errorf("base %+v", in.Base())
			}
			again, err := rawjson.Encode(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(value(t, example.json), withoutZeros(value(t, string(again)))); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

// received returns the value that a hook gets for the given input.
func received(t *testing.T, input string) (got hook.Input) {
	t.Helper()
	_, err := serve(t, &Options{Hooks: oneHook(hook.Stop, func(_ context.Context, in hook.Input) (*hook.Output, error) {
		got = in
		return nil, nil
	})}, `{"subtype":"hook_callback","callback_id":"hook_0","tool_use_id":"toolu_9","input":`+input+`}`)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// withoutZeros removes the members of an object that decode like missing ones.
func withoutZeros(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	kept := make(map[string]any)
	for name, member := range object {
		switch member = withoutZeros(member); member {
		case nil, "", false, 0.0:
			continue
		}
		if inner, ok := member.(map[string]any); !ok || len(inner) > 0 {
			kept[name] = member
		}
	}
	return kept
}

func TestHookInputExamplesAreComplete(t *testing.T) {
	t.Parallel()
	shown := make(map[hook.Event]bool)
	for _, example := range hookInputExamples {
		shown[example.event] = true
	}
	events := wire.HookEvents()
	for _, event := range events {
		if !shown[hook.Event(event)] {
			t.Errorf("%s has no example", event)
		}
	}
	if len(events) != 33 {
		t.Errorf("%d events, want 33", len(events))
	}
}

// Unknown fields of an input are in its raw text, and null is the same as a missing field.
func TestHookInputKeepsUnknownFields(t *testing.T) {
	t.Parallel()
	const input = `{"hook_event_name":"PreCompact","trigger":"auto","custom_instructions":null,"effort":null,
		"new":{"a":[1.0]}}`
	in, ok := received(t, input).(*hook.PreCompactInput)
	if !ok || in.Trigger != "auto" || in.CustomInstructions != "" || in.Raw() != input {
		t.Errorf("input %+v", in)
	}
}
