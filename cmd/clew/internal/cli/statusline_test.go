package cli

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// The program with one command has the same command as the whole one.
func TestStatuslineRoot(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, root := range []*cobra.Command{newRoot(Streams{}), statuslineRoot(Streams{})} {
		cmd, _, err := root.Find([]string{statuslineName})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, cmd.Long+cmd.UsageString())
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" || texts[0] == "" {
		t.Errorf("(-whole +one)\n%s", diff)
	}
}

// --install and --remove replace only a command in the form that --install writes.
func TestIsStatusline(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"/usr/bin/clew statusline": true,
		"clew statusline":          true,
		"'/home/a b/clew' statusline --format '{model} it'\\''s {today}'":        true,
		`'C:\Program Files\clew.exe' statusline --timezone 'Europe/Berlin'`:      true,
		`clew statusline --format "{model} | {today}" --prices=/etc/prices.json`: true,
		"/opt/tool statusline --format '{model}'":                                true,
		"/opt/tool statusline":                                    true,
		"/opt/other statusline":                                   false,
		"/usr/bin/clew statusline | my-filter":                    false,
		"/usr/bin/clew statusline --format '{model}' | my-filter": false,
		"/opt/tool statusline | my-filter":                        false,
		"my-line; clew statusline":                                false,
		"my-line && /usr/bin/clew statusline":                     false,
		"NO_COLOR=1 clew statusline":                              false,
		"clew statusline; my-line":                                false,
		"clew statusline\nmy-line":                                false,
		"clew statusline --format \"$(my-line)\"":                 false,
		"clew statusline --format '{model}'; my-line":             false,
		"clew statusline > /tmp/line":                             false,
		"my-clew statusline":                                      false,
		"clew ls":                                                 false,
		"":                                                        false,
	} {
		value, err := json.Marshal(map[string]string{"type": "command", "command": command})
		if err != nil {
			t.Fatal(err)
		}
		if got := isStatusline(string(value), "/opt/tool"); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
	if isStatusline("", "/opt/tool") || isStatusline("[]", "/opt/tool") {
		t.Error("what is not an object runs the program")
	}
}
