package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionOptions struct {
	streams Streams
	json    bool
}

func newVersion(s Streams) *cobra.Command {
	o := &versionOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Example: `  clew version
  clew version --json | jq -r .revision`,
		Args: atMost(0),
		RunE: runE(o.run),
	}
	addOnOff(cmd, &o.json, "json", "print one JSON object")
	return cmd
}

func (o *versionOptions) run(context.Context, []string) error {
	b := readBuild()
	text := fmt.Sprintf("clew %s\nrevision %s\n%s %s\n", b.Version, b.revision(), b.Go, b.Platform)
	if o.json {
		line, err := json.Marshal(b)
		if err != nil {
			return err
		}
		text = string(line) + "\n"
	}
	if _, err := io.WriteString(o.streams.Out, text); err != nil {
		return outputError(err)
	}
	return nil
}

// A build tells what this program was made from. What is not known is empty, but
// for the version.
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

func (b build) revision() string {
	switch {
	case b.Revision == "":
		return "unknown"
	case b.Modified:
		return b.Revision + " with changes"
	}
	return b.Revision
}
