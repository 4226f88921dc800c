package termio

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
		if got := CutsLines(func(name string) string { return tt.env[name] }); got != tt.want {
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
		if got := KnowsLinks(tt.terminal, tt.program); got != tt.want {
			t.Errorf("knowsLinks(%q, %q) = %t", tt.terminal, tt.program, got)
		}
	}
}

func TestNarrowLines(t *testing.T) {
	t.Parallel()
	for locale, want := range map[string]bool{
		"en_US.UTF-8": true, "C.utf8": true, "de_DE.UTF-8@euro": true,
		"": false, "C": false, "POSIX": false, "en_US.ISO-8859-1": false, "ja_JP.UTF-8": false, "zh_CN.utf8": false, "ko_KR.UTF-8": false,
	} {
		if got := narrowLines(locale); got != want {
			t.Errorf("%q: %v", locale, got)
		}
	}
}
