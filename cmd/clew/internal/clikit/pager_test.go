package clikit

import (
	"os"
	"testing"
)

func TestPagerCommand(t *testing.T) {
	for _, test := range []struct{ own, general, want string }{
		{"unset", "unset", "less"}, {"unset", "more -s", "more -s"}, {"most", "more", "most"}, {"cat", "more", ""}, {"", "more", ""}, {"unset", "cat", ""},
	} {
		for name, value := range map[string]string{"CLEW_PAGER": test.own, "PAGER": test.general} {
			t.Setenv(name, value) // restores it afterwards
			if value == "unset" {
				if err := os.Unsetenv(name); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := pagerCommand(); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
