package jobview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/render"
)

// A message is shown once, and a result only if the agent has not just said it.
func TestConversation(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	c := NewConversation(render.Options{Width: 80})
	add := func(uuid, text string) string {
		line := fmt.Appendf(nil, `{"type":"assistant","uuid":%q,"message":{"id":%[1]q,"role":"assistant","content":[{"type":"text","text":%q}]}}`, uuid, text)
		shown, _ := c.Add(line, at)
		return shown
	}
	c.Begin(1, at)
	if text := add("a", "It works."); !strings.Contains(text, "It works.") || !c.Seen("a") {
		t.Errorf("a message is %q", text)
	}
	if text := add("a", "It works."); text != "" {
		t.Errorf("a message is shown again: %q", text)
	}
	if text, ok := c.Add([]byte("not a message"), at); text != "" || ok {
		t.Errorf("another line is %q", text)
	}
	if text := c.End(&fleet.Result{Text: "It works.\n"}); strings.Contains(text, "It works.") {
		t.Errorf("the result is shown again: %q", text)
	}
	c.Begin(2, at)
	if add("b", "Again."); c.Len() != 1 || c.Attempt != 2 {
		t.Errorf("attempt %d has %d messages", c.Attempt, c.Len())
	}
	if text := c.End(&fleet.Result{Text: "It broke.", Failed: true}); !strings.Contains(text, "failed") || !strings.Contains(text, "It broke.") {
		t.Errorf("the end is %q", text)
	}
}
