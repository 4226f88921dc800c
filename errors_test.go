package clew

import (
	"testing"

	"github.com/clewdev/clew/wire"
)

// The text of an error ends up in logs; what the agent said is in its fields.
func TestErrorsHideSecrets(t *testing.T) {
	t.Parallel()
	const secret = "no access with sk-ant-api03-abc"
	refused := &ControlError{Subtype: "mcp_call", Message: secret}
	failed := &ResultError{Result: &wire.ResultMessage{Errors: []string{secret}}}
	for err, want := range map[error]string{
		refused: "clew: the agent refused mcp_call: no access with sk-ant-***",
		failed:  "clew: the turn failed: no access with sk-ant-***",
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
	if refused.Message != secret || failed.Text() != secret {
		t.Errorf("message %q, text %q", refused.Message, failed.Text())
	}
}
