package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"

	"github.com/clewdev/clew/internal/render"
	"github.com/spf13/cobra"
)

// A look is how conversations are shown as text.
type look struct {
	expand   bool
	thinking bool
}

func (l *look) addFlags(cmd *cobra.Command) {
	addOnOff(cmd, &l.expand, "expand", "show inputs and results of tools whole, and what subagents did")
	addOnOff(cmd, &l.thinking, "thinking", "show what the agent thought")
}

func (l *look) options(s Streams) render.Options {
	return render.Options{
		Width:    textWidth(s.Out, 80),
		Colour:   coloured(s.Out),
		Expand:   l.expand,
		Thinking: l.thinking,
	}
}

// coloured reports whether a stream may get colours.
func coloured(stream any) bool {
	switch os.Getenv("CLEW_COLOR") {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("CLICOLOR") != "0" && os.Getenv("TERM") != "dumb"
}

func emphasized(line string) string { return "\x1b[1m" + line + "\x1b[0m" }

// textWidth returns how many columns text may take: those of the terminal, or of
// COLUMNS where there is none, or a number for want of both.
func textWidth(stream any, otherwise int) int {
	if isTerminal(stream) {
		return terminalWidth(stream)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// jsonLine returns v as a line of JSON that a terminal can show.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return escapeLine(b.Bytes()), nil
}
