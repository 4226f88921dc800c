package wire

import (
	"encoding/json"
	"testing"
)

// Messages that are made by hand have the members that readers require.
func TestEncodeByHand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		msg  json.Marshaler
		want string
	}{
		{&UserMessage{UUID: "u"}, `{"type":"user","message":{"content":[]},"uuid":"u"}`},
		{
			&ControlResponseMessage{Response: ControlResponse{PendingPermissionRequests: []ControlRequestMessage{{RequestID: "r1"}}}},
			`{"type":"control_response","response":{"subtype":"","request_id":"","pending_permission_requests":[{"type":"control_request","request_id":"r1"}]}}`,
		},
	} {
		if got, err := json.Marshal(tt.msg); err != nil || string(got) != tt.want {
			t.Errorf("%s, %v; want %s", got, err, tt.want)
		}
	}
}
