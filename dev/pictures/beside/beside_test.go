package main

import "testing"

func TestMarkUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, lines, want string }{
		{"plain", "a <b> & c", `<span style="">a &lt;b&gt; &amp; c</span>`},
		{"attributes", "\x1b[1;3mx\x1b[22my\x1b[0mz",
			`<span style="font-weight:bold;font-style:italic;">x</span><span style="font-style:italic;">y</span><span style="">z</span>`},
		{"16 colors", "\x1b[31mx\x1b[39m\x1b[92my", `<span style="color:#e06c6c;">x</span><span style="color:#a8d88a;">y</span>`},
		{"256 colors", "\x1b[38;5;196mx\x1b[38;5;244my\x1b[38;5;1mz",
			`<span style="color:rgb(255,0,0);">x</span><span style="color:rgb(128,128,128);">y</span><span style="color:#e06c6c;">z</span>`},
		{"all colors", "\x1b[38;2;1;2;3;48;2;4;5;6mx", `<span style="color:rgb(1,2,3);background:rgb(4,5,6);">x</span>`},
		{"reversed", "\x1b[7mx", `<span style="color:#1d1f21;background:#d8d8d8;">x</span>`},
		{"link", "\x1b]8;;https://example.com\x1b\\x\x1b]8;;\x1b\\", `<span style="">x</span>`},
		{"color without its numbers", "\x1b[38mx\x1b[38;5mx", `<span style="">x</span><span style="">x</span>`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := dark.markUp(test.lines); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	chosen, err := choose("ls,run")
	if err != nil || len(chosen) != 2 || chosen[0].name != "run" || chosen[1].name != "ls" {
		t.Errorf("got %v, %v", chosen, err)
	}
	if _, err := choose("run,nothing"); err == nil {
		t.Error("there is a picture of nothing")
	}
}
