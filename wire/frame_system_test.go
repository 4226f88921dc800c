package wire_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestSystemFrames(t *testing.T) {
	t.Run("init keeps its raw data", func(t *testing.T) {
		const frame = `{"type":"system","subtype":"init","cwd":"/p","new":{"a":1}}`
		if msg := decodeAs[*wire.InitMessage](t, frame); msg.Raw() != frame || msg.CWD != "/p" {
			t.Errorf("init %+v", msg)
		}
	})
	t.Run("unknown subtype", func(t *testing.T) {
		const frame = `{"type":"system","subtype":"post_turn_summary","summary":"x","uuid":"u","session_id":"s"}`
		msg := decodeAs[*wire.SystemMessage](t, frame)
		if msg.Raw() != frame || msg.Kind().String() != "system/post_turn_summary" || msg.UUID != "u" || msg.SessionID != "s" {
			t.Errorf("message %+v", msg)
		}
		if wire.Known(msg.Kind()) {
			t.Errorf("%s is known", msg.Kind())
		}
	})
	t.Run("unknown subtype with ids of another type", func(t *testing.T) {
		const frame = `{"type":"system","subtype":"new","uuid":5,"session_id":{}}`
		msg := decodeAs[*wire.SystemMessage](t, frame)
		if msg.UUID != "" || msg.SessionID != "" || string(encoded(t, msg)) != frame {
			t.Errorf("message %+v, encoded %s", msg, encoded(t, msg))
		}
	})
}

// missing checks that a frame lacks the field at pointer.
func missing(t *testing.T, frame, pointer string) {
	t.Helper()
	var field *wire.FieldError
	if msg := invalid(t, frame); !errors.As(msg, &field) || field.Pointer != pointer || !field.Missing {
		t.Errorf("%s: %v, want a missing %s", frame, msg, pointer)
	}
}

func TestTaskFrames(t *testing.T) {
	t.Run("started with the required fields", func(t *testing.T) {
		msg := decodeAs[*wire.TaskStartedMessage](t, `{"type":"system","subtype":"task_started","task_id":"t","description":"d"}`)
		want := &wire.TaskStartedMessage{TaskID: "t", Description: "d"}
		if diff := cmp.Diff(want, msg, exported); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		missing(t, `{"type":"system","subtype":"task_started","task_id":"t"}`, "/description")
	})
	t.Run("progress needs usage", func(t *testing.T) {
		missing(t, `{"type":"system","subtype":"task_progress","task_id":"t","description":"d"}`, "/usage")
	})
	t.Run("notification without usage", func(t *testing.T) {
		msg := decodeAs[*wire.TaskNotificationMessage](t,
			`{"type":"system","subtype":"task_notification","task_id":"t","status":"failed","output_file":"/o","summary":"s"}`)
		if msg.Usage != nil || msg.Status != wire.TaskStatusFailed || !msg.Status.Terminal() {
			t.Errorf("message %+v", msg)
		}
		missing(t, `{"type":"system","subtype":"task_notification","task_id":"t","status":"failed","summary":"s"}`, "/output_file")
	})
	t.Run("terminal statuses", func(t *testing.T) {
		for status, want := range map[string]bool{
			"completed": true, "failed": true, "killed": true, "stopped": true,
			"pending": false, "running": false, "paused": false, "brand_new": false,
		} {
			msg := decodeAs[*wire.TaskUpdatedMessage](t,
				`{"type":"system","subtype":"task_updated","task_id":"t","patch":{"status":"`+status+`"}}`)
			if string(msg.Patch.Status) != status || msg.Patch.Status.Terminal() != want {
				t.Errorf("status %q, terminal %t", msg.Patch.Status, msg.Patch.Status.Terminal())
			}
		}
	})
	t.Run("patch of any shape", func(t *testing.T) {
		for _, member := range []string{
			``, `,"patch":null`, `,"patch":"x"`, `,"patch":[]`, `,"patch":5`, `,"patch":{}`, `,"patch":{"status":5}`,
		} {
			frame := `{"type":"system","subtype":"task_updated"` + member + `}`
			msg := decodeAs[*wire.TaskUpdatedMessage](t, frame)
			if diff := cmp.Diff(wire.TaskPatch{}, msg.Patch, exported); diff != "" || msg.TaskID != "" {
				t.Errorf("%s: task %q (-want +got):\n%s", frame, msg.TaskID, diff)
			}
			if got := encoded(t, msg); string(got) != frame {
				t.Errorf("encoded %s, want %s", got, frame)
			}
		}
	})
}

func TestHookFrames(t *testing.T) {
	for member, want := range map[string]string{
		`,"hook_event":"Stop","hook_name":"Stop:x","hook_event_name":"y"`: "Stop",
		`,"hook_name":"Stop:x","hook_event_name":"y"`:                     "Stop:x",
		`,"hook_event_name":"y"`:                                          "y",
		``:                                                                "",
	} {
		for _, subtype := range []string{"hook_started", "hook_progress", "hook_response"} {
			frame := `{"type":"system","subtype":"` + subtype + `"` + member + `}`
			hook := decodeAs[interface {
				wire.Message
				Event() string
			}](t, frame)
			if hook.Event() != want || hook.Raw() != frame {
				t.Errorf("%s: event %q, want %q", frame, hook.Event(), want)
			}
		}
	}
}
