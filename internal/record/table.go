package record

import (
	"fmt"
	"strings"
)

// A Coverage is what is known to work with one version of the agent.
type Coverage struct {
	Version string
	// Played is how many scenarios the tests run against this version; it is 0 for all but the pinned one.
	Played int
	// Dialogues is how many recorded dialogues of this version decode in full.
	Dialogues int
}

// Table returns the compatibility table of the README, in Markdown.
func Table(list []Coverage) string {
	var b strings.Builder
	b.WriteString("| Claude Code | scenarios run against it in every test run | recorded dialogues that decode in full |\n|---|---|---|\n")
	for _, c := range list {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", c.Version, c.Played, c.Dialogues)
	}
	return b.String()
}
