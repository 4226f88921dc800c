package tui

import (
	"testing"
	"testing/synctest"
)

// leaves presses esc more often than there are screens, which leads to the first screen and never ends the
// program, and then q, which does.
func (s *story) leaves() {
	s.t.Helper()
	for range 10 {
		s.press("esc")
	}
	s.see("q quits").press("?").see("type to filter").press("esc").see("? help").press("q").ends()
}

// Esc leads back to the first screen from everywhere, and never ends the program.
func TestEscapeStays(t *testing.T) {
	t.Parallel()
	for _, tt := range listStories {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := someSessions()
			f.found = foundResults()
			tell(t, f, 100, 30, listing).see("Fix the flaky").press(tt.keys...).see(tt.see).leaves()
		})
	}
	for _, tt := range sessionStories {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tellSession(t, storyOptions(), 100, 30).walk(tt.steps).leaves()
		})
	}
	for _, tt := range jobStories {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tellJobs(t, storyOptions(), someJobs(t), 100, 30).walkJobs(tt.keys).see(tt.see).leaves()
		})
	}
}

// Esc and the other keys that go back end no program from its first screen, q and ctrl+c do.
func TestFirstScreenStays(t *testing.T) {
	t.Parallel()
	f, info := uploader(t)
	for _, key := range []string{"q", "ctrl+c"} {
		tell(t, f, 80, 24, opens(info, Place{})).see("16/16", "q quit").press("h", "left", "esc").see("q quits").press(key).ends()
		s := tell(t, someSessions(), 80, 24, listing).see("Fix the flaky", "q quit").press("tab").see("[Projects")
		s.press("enter").see("[Recent").press("esc").see("[Projects").press("esc").see("q quits").press("j").unseen("q quits").press(key).ends()
	}
}

// Esc never ends a chat, nor a session that was opened from it.
func TestEscapeStaysInChat(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{nil, {"alt+v"}, {"x"}, {"ctrl+r"}} {
		synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
			c.press(keys...)
			for range 10 {
				c.press("esc")
			}
			if len(c.stack) != 1 || c.ended != nil {
				t.Errorf("after %q: %d screens, ended %v", keys, len(c.stack), c.ended)
			}
			c.press("ctrl+u", "ctrl+d")
			if len(c.ended) != 1 {
				t.Errorf("after %q: ctrl+d ended %v", keys, c.ended)
			}
		}))
	}
}
