package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/export"
	"github.com/clewdev/clew/internal/redact"
)

type exportOptions struct {
	streams   Streams
	show      showOptions
	format    exportFormat
	output    string
	force     bool
	listRules bool
	json      bool
}

const exportLong = `Writes a session into a file: a page for a browser, Markdown or JSON. The session
is named as for "clew show". The path of the file is printed.

The page needs nothing else: no network, no script. It has prompts, answers,
tools, diffs and subagents, folded where they are long, and what the session
used and cost. It follows the light or dark mode of the reader, and can be
printed. JSON has everything; "clew show FILE" and "clew export FILE" read it.

What the agent thought and what rewinds left behind is there, unless it is turned
off. Results of more than 16 KiB are cut on the page and in Markdown, and a page
stays below 10 MB: of a long session, results are cut more. With --full, all is
there.

With --redact, keys, tokens, passwords, addresses and names of home folders are
taken out, and pictures, too. Rules know the forms of such things, not their
meaning: read the result before you give it away.

The file is for you alone to read, and an existing one is not overwritten
without --force.`

func newExport(s Streams) *cobra.Command {
	o := &exportOptions{streams: s, show: showOptions{streams: s, name: "clew export"}}
	o.show.part = part{branches: true, look: look{thinking: true}}
	cmd := &cobra.Command{
		Use:   "export ID|FILE|-",
		Short: "Write a session into a file",
		Long:  exportLong,
		Example: `  clew export last
  clew export 4f1c --redact -o session.html
  clew export last --format markdown -o - | less
  clew export --list-rules`,
		Args: o.args,
		RunE: runE(o.run),
	}
	cmd.Flags().Var(&o.format, "format", "html, markdown or json (default by the name of the file, else html)")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to this `file`, or to stdout for - (default clew-ID.html, in this folder)")
	addOnOff(cmd, &o.force, "force", "overwrite the file")
	addOnOff(cmd, &o.listRules, "list-rules", "list what --redact takes out")
	addOnOff(cmd, &o.json, "json", "print one JSON object about the file, or with --list-rules one per rule")
	o.show.part.addFlags(cmd)
	return cmd
}

func (o *exportOptions) args(cmd *cobra.Command, args []string) error {
	if o.listRules {
		return atMost(0)(cmd, args)
	}
	return exactlyOne("a session, a file, or -")(cmd, args)
}

func (o *exportOptions) run(ctx context.Context, args []string) error {
	switch {
	case o.listRules:
		return o.printRules()
	case o.output == "-" && o.json:
		return &failure{code: exitUsage, err: errors.New("--json and -o - both print to stdout"), hint: "Leave out one of them."}
	}
	format := cmp.Or(string(o.format), formatOf(o.output))
	if o.output != "" && o.output != "-" {
		if err := o.free(o.output); err != nil {
			return err // before a long session is read
		}
	}
	o.show.format = showFormat(format)
	o.show.full = o.show.full || format == export.JSON // which has everything
	o.show.to = func(r reading) error { return o.write(ctx, r, format) }
	return o.show.run(ctx, args)
}

// free reports a file that is in the way.
func (o *exportOptions) free(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil //nolint:nilerr // what else is wrong will show when the file is made
	case info.IsDir():
		return &failure{code: exitUsage, err: fmt.Errorf("%s is a folder", printable(path)), hint: "Give the path of a file."}
	case o.force:
		return nil
	}
	return &failure{
		code: exitUsage, err: fmt.Errorf("there is a file %s already", printable(path)),
		hint: "Use --force to overwrite it, or -o to give another name.",
	}
}

func (o *exportOptions) write(ctx context.Context, r reading, format string) error {
	doc, found, err := o.show.document(ctx, r)
	if err != nil {
		return err
	}
	view := o.show.view()
	if o.output == "-" {
		return o.failed(ctx, export.Write(&untilDone{ctx: ctx, w: o.streams.Out}, doc, format, view))
	}
	path := cmp.Or(o.output, defaultName(doc, format))
	if err := o.free(path); err != nil {
		return err
	}
	size, err := o.writeFile(path, func(w io.Writer) error {
		return export.Write(&untilDone{ctx: ctx, w: w}, doc, format, view)
	})
	if err != nil {
		return o.failed(ctx, err)
	}
	return o.report(exportReport{Path: path, Format: format, Bytes: size, Redactions: found})
}

// failed says why a document was not written.
func (o *exportOptions) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errInterrupted()
	}
	return outputError(err)
}

// defaultName returns the name of a file that nobody has named.
func defaultName(doc *export.Document, format string) string {
	id := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, doc.SessionID)
	ending := map[string]string{export.HTML: ".html", export.Markdown: ".md", export.JSON: ".json"}[format]
	return "clew-" + cmp.Or(id[:min(len(id), 8)], "session") + ending
}

// writeFile makes a file that only the user can read, or nothing if that fails.
func (o *exportOptions) writeFile(path string, write func(io.Writer) error) (int64, error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".clew-export-*") // with mode 0600
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // after a success it is not there any more
	counted := &counter{w: file}
	if err := errors.Join(write(counted), file.Close()); err != nil {
		return 0, err
	}
	return counted.n, o.place(file.Name(), path)
}

// place gives a finished file its name. A link, other than a rename, never takes
// the place of a file that has come meanwhile.
func (o *exportOptions) place(temp, path string) error {
	if o.force {
		return os.Rename(temp, path)
	}
	err := os.Link(temp, path)
	if err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	// There are file systems without links.
	if _, err := os.Lstat(path); err == nil {
		return os.ErrExist
	}
	return os.Rename(temp, path)
}

// An exportReport is what is told of a file.
type exportReport struct {
	Path       string         `json:"path"`
	Format     string         `json:"format"`
	Bytes      int64          `json:"bytes"`
	Redactions map[string]int `json:"redactions"`
}

func (o *exportOptions) report(r exportReport) error {
	if o.json {
		if r.Redactions == nil {
			r.Redactions = map[string]int{}
		}
		return o.print(writeJSON(o.streams.Out, r))
	}
	if r.Redactions != nil {
		o.show.warn(redactionLine(r.Redactions))
	}
	_, err := fmt.Fprintln(o.streams.Out, printable(r.Path))
	return o.print(err)
}

func redactionLine(found map[string]int) string {
	if len(found) == 0 {
		return "nothing was found to redact"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, found[name]))
	}
	return "redacted: " + strings.Join(parts, ", ")
}

func (o *exportOptions) printRules() error {
	t := newTable("RULE", "TAKES OUT")
	for _, rule := range redact.Rules() {
		if o.json {
			if err := writeJSON(o.streams.Out, rule); err != nil {
				return outputError(err)
			}
			continue
		}
		t.add(rule.Name, rule.About)
	}
	var b strings.Builder
	if !o.json {
		t.print(&b, textWidth(o.streams.Out, 80))
	}
	_, err := io.WriteString(o.streams.Out, b.String())
	return o.print(err)
}

func (o *exportOptions) print(err error) error {
	if err != nil {
		return outputError(err)
	}
	return nil
}

// newRedactor returns a redactor that knows the user's home.
func newRedactor() *redact.Redactor {
	home, _ := os.UserHomeDir() // without one, there is none to take out
	return &redact.Redactor{Home: home}
}
