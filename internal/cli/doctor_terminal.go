package cli

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
)

type terminalDetails struct {
	Stdin   bool   `json:"stdin"` // whether it is a terminal
	Stdout  bool   `json:"stdout"`
	Stderr  bool   `json:"stderr"`
	Columns int    `json:"columns,omitempty"`
	Term    string `json:"term"`
	Colours string `json:"colours"`
	UTF8    bool   `json:"utf8"`
}

// checkTerminal tells what the terminal can do.
func checkTerminal(s Streams) []diagnosis {
	d := terminalDetails{
		Stdin: isTerminal(s.In), Stdout: isTerminal(s.Out), Stderr: isTerminal(s.Err), Term: os.Getenv("TERM"),
		Colours: colours(s), UTF8: speaksUTF8(),
	}
	if !d.Stdout {
		return []diagnosis{{State: healthy, Found: "stdout is no terminal: plain output", Details: d}}
	}
	d.Columns = terminalWidth(s.Out)
	found := fmt.Sprintf("%d columns, TERM is %s, colours: %s", d.Columns, cmp.Or(d.Term, "not set"), d.Colours)
	state, advice := healthy, ""
	switch {
	case !d.UTF8:
		state, found = worrying, found+"; the locale is not UTF-8"
		advice = "Set LANG to one that is, such as C.UTF-8, or letters may look wrong."
	case d.Term == "dumb" || d.Term == "" && runtime.GOOS != "windows":
		state, advice = noted, "Without a TERM that can clear a line, there are no colours and no progress."
	case d.Columns < narrow:
		state, advice = noted, fmt.Sprintf("With %d columns or more, lists have more to show.", narrow)
	case !d.Stdin || !d.Stderr:
		state, advice = noted, "clew run can ask for permissions only where stdin and stderr are terminals, too."
	}
	return []diagnosis{{State: state, Found: found, Advice: advice, Details: d}}
}

func colours(s Streams) string {
	switch setting := os.Getenv("CLEW_COLOR"); {
	case setting == "always" || setting == "never":
		return setting + ", by the setting color"
	case os.Getenv("NO_COLOR") != "":
		return "none, by NO_COLOR"
	case !coloured(s.Out):
		return "none"
	}
	switch os.Getenv("COLORTERM") {
	case "truecolor", "24bit":
		return "16 million"
	}
	if strings.Contains(os.Getenv("TERM"), "256color") {
		return "256"
	}
	return "16"
}

// speaksUTF8 reports whether the locale has UTF-8. On Windows and macOS, terminals do whatever it says.
func speaksUTF8() bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return true
	}
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}
