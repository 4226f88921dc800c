package cli

import (
	"testing"
)

func TestCutsLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm-256color"}, false},
		{map[string]string{"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(390)"}, true},
		{map[string]string{"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(390)", "VTE_VERSION": "7600"}, false},
		{map[string]string{"TERM": "screen-256color", "TMUX": "/tmp/tmux"}, false},
		{map[string]string{"TERM": "xterm", "STY": "1.pts"}, true},
		{map[string]string{"TERM": "linux"}, true},
		{map[string]string{"TERM": "st-256color"}, true},
		{nil, false},
	} {
		if got := cutsLines(func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%v: %t, want %t", tt.env, got, tt.want)
		}
	}
}

func TestKnowsLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		terminal, program string
		want              bool
	}{
		{"xterm-256color", "iTerm.app", true}, {"xterm-256color", "", true}, {"tmux-256color", "tmux", true},
		{"xterm-256color", "Apple_Terminal", false}, {"linux", "", false}, {"screen-256color", "tmux", false},
	} {
		if got := knowsLinks(tt.terminal, tt.program); got != tt.want {
			t.Errorf("knowsLinks(%q, %q) = %t", tt.terminal, tt.program, got)
		}
	}
}
