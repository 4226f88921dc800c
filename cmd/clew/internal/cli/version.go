package cli

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/internal/tty"
)

type versionOptions struct {
	streams Streams
	json    bool
}

func newVersion(s Streams) *cobra.Command {
	o := &versionOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of clew",
		Example: `  clew version
  clew version --json | jq -r .revision`,
		Args: clikit.AtMost(0),
		RunE: clikit.RunE(o.run),
	}
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object")
	return cmd
}

func (o *versionOptions) run(context.Context, []string) error {
	b := readBuild()
	text := b.text(canvas{width: clikit.TextWidth(o.streams.Out, 0), color: clikit.Colored(o.streams.Out)})
	if o.json {
		line, err := json.Marshal(b)
		if err != nil {
			return err
		}
		text = string(line) + "\n"
	}
	if _, err := io.WriteString(o.streams.Out, text); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// A build describes how the program was built. Unknown values are empty, except for the version.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Time     string `json:"time"`     // of the revision
	Modified bool   `json:"modified"` // the source differed from the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// text returns the build in three lines, or in more on a narrow screen.
func (b build) text(on canvas) string {
	text := ""
	for _, line := range []struct {
		text  string
		style tty.Style
	}{
		{"clew " + b.Version, tty.Title}, {"revision " + b.revision(), tty.Plain}, {b.Go + " " + b.Platform, tty.Dim},
	} {
		text += line.style.Paint(strings.TrimSuffix(clikit.Wrapped(line.text, on.width), "\n"), on.color) + "\n"
	}
	return text
}

func (b build) revision() string {
	switch {
	case b.Revision == "":
		return "unknown"
	case b.Modified:
		return b.Revision + " with changes"
	}
	return b.Revision
}
