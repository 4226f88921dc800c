package tty

import "testing"

func TestShellWord(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "''", "m4k": "m4k", "./a/b-c_d.e": "./a/b-c_d.e", "tls://host:4222?sync=always": "'tls://host:4222?sync=always'",
		"it's": `'it'\''s'`, "$(rm -rf ~)": "'$(rm -rf ~)'", "a b": "'a b'", `C:\x`: `'C:\x'`, "~/x": "'~/x'", "ä": "'ä'",
	} {
		if got := ShellWord(in); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", in, got, want)
		}
	}
}
