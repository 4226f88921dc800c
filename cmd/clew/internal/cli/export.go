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

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/redact"
)

type exportOptions struct {
	selection
	streams   Streams
	format    exportFormat
	output    string
	force     bool
	listRules bool
	json      bool
	project   string
	activity  *clikit.Activity
}

const exportLong = `Write a session to a file as an HTML page, Markdown or JSON, and print the path of
the file. Name the session as for "clew show".

The page needs no network and no scripts. It shows prompts, answers, tools, diffs
and subagents, with long parts collapsed, and the session's usage and cost. It
follows the reader's light or dark mode, and can be printed. JSON contains
everything; "clew show FILE" and "clew export FILE" read it.

The agent's thinking and rewound messages are included unless --thinking=false or
--branches=false is given. In HTML and Markdown, results are cut at 16 KiB, and
further in long sessions, to keep a page below 10 MB. Use --full to include
everything.

In HTML and Markdown, answers keep their formatting, but tags are shown as text and
images as links. Answers that are longer than 64 KiB, or that would take very long
to convert, are shown as plain text.

--redact removes keys, tokens, passwords, addresses, names of home directories and
images. Its rules recognize secrets by their form, not by their meaning: read the
result before you share it.

Only you can read the file. An existing file is not overwritten without --force.`

func newExport(s Streams) *cobra.Command {
	o := &exportOptions{streams: s, selection: selection{branches: true, style: style{thinking: true}}}
	cmd := &cobra.Command{
		Use:   "export ID|FILE|-",
		Short: "Write a session to a file",
		Long:  exportLong,
		Example: `  clew export last
  clew export 4f1c --redact -o session.html
  clew export last --format markdown -o - | less
  clew export --list-rules`,
		Args: o.args,
		RunE: clikit.RunE(o.run),
	}
	cmd.Flags().Var(&o.format, "format", "output format: html, markdown or json (default: from the file name, or html)")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to this `file`; - means stdout (default clew-ID.html)")
	clikit.AddOnOff(cmd, &o.force, "force", "overwrite an existing file")
	clikit.AddOnOff(cmd, &o.listRules, "list-rules", "list what --redact removes")
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object about the file or, with --list-rules, per rule")
	input.AddProjectFlag(cmd, &o.project)
	o.selection.addFlags(cmd)
	return cmd
}

func (o *exportOptions) args(cmd *cobra.Command, args []string) error {
	if o.listRules {
		return clikit.AtMost(0)(cmd, args)
	}
	return clikit.ExactlyOne("a session, a file, or -")(cmd, args)
}

func (o *exportOptions) run(ctx context.Context, args []string) error {
	switch {
	case o.listRules:
		return o.printRules()
	case o.output == "-" && o.json:
		return clikit.UsageError("--json and -o - both print to stdout", "Leave out one of them.")
	}
	format := cmp.Or(string(o.format), formatOf(o.output))
	if o.output != "" && o.output != "-" {
		if err := o.free(o.output); err != nil {
			return err // before a long session is read
		}
	}
	o.full = o.full || format == export.JSON // which contains everything
	src, err := input.Find(ctx, o.project, args[0])
	if err != nil {
		return err
	}
	o.activity = clikit.StartActivity(o.streams.Err, "reading")
	defer o.activity.End()
	if err := src.Open(ctx, o.streams.In); err != nil {
		return err
	}
	defer src.Close()
	if size := src.Size(); size >= 0 {
		o.activity.Now("reading " + wording.Size(size))
	}
	r, err := src.Read(ctx, o.warn)
	if err != nil {
		return err
	}
	defer r.Close()
	o.release = true
	return o.write(ctx, r, format)
}

// warn reports something that is not exported.
func (o *exportOptions) warn(text string) {
	o.activity.Hide()
	clikit.Remark(o.streams.Err, tty.Waiting, "clew export", text)
}

// free returns an error if the file exists and must not be overwritten.
func (o *exportOptions) free(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil //nolint:nilerr // other errors show when the file is created
	case info.IsDir():
		return &clikit.Failure{Code: clikit.ExitUsage, Err: fmt.Errorf("%s is a directory", clikit.Printable(path)), Hint: "Give the path of a file."}
	case o.force:
		return nil
	}
	return &clikit.Failure{
		Code: clikit.ExitUsage, Err: fmt.Errorf("%s already exists", clikit.Printable(path)),
		Hint: "Use --force to overwrite it, or -o to choose another name.",
	}
}

func (o *exportOptions) write(ctx context.Context, r *input.Reading, format string) error {
	if o.redact {
		o.activity.Now("redacting")
	}
	doc, found, err := o.document(ctx, r)
	if err != nil {
		return err
	}
	view := o.view()
	if o.output == "-" {
		o.activity.End() // both outputs may be the same terminal
		return o.failed(ctx, "", export.Write(ctx, o.streams.Out, doc, format, view))
	}
	path := cmp.Or(o.output, defaultName(doc, format))
	if err := o.free(path); err != nil {
		return err
	}
	o.activity.Now("writing " + clikit.Printable(path))
	size, err := o.writeFile(path, func(w io.Writer) error {
		return export.Write(ctx, w, doc, format, view)
	})
	o.activity.End()
	if err != nil {
		return o.failed(ctx, path, err)
	}
	return o.report(exportReport{Path: path, Format: format, Bytes: size, Redactions: found})
}

// failed explains why a document was not written to a file, or to stdout if path is "".
func (o *exportOptions) failed(ctx context.Context, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return clikit.Interrupted()
	case path == "":
		return clikit.OutputError(err)
	}
	return clikit.Unwritable(path, err)
}

// defaultName returns the name of the file if the user gives none.
func defaultName(doc *export.Document, format string) string {
	ending := map[string]string{export.HTML: ".html", export.Markdown: ".md", export.JSON: ".json"}[format]
	return view.ExportName(doc.SessionID) + ending
}

// writeFile creates a file that only the user can read, or nothing if it fails.
func (o *exportOptions) writeFile(path string, write func(io.Writer) error) (int64, error) {
	counted := &countingWriter{}
	err := files.WriteFunc(path, files.WriteOptions{New: !o.force}, func(w io.Writer) error {
		counted.w = w
		return write(counted)
	})
	return counted.n, err
}

// An exportReport describes the file.
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
		return o.print(clikit.WriteJSON(o.streams.Out, r))
	}
	if r.Redactions != nil {
		o.warn(redactionLine(r.Redactions))
	}
	_, err := fmt.Fprintln(o.streams.Out, clikit.Printable(r.Path))
	return o.print(err)
}

func redactionLine(found map[string]int) string {
	if len(found) == 0 {
		return "found nothing to redact"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, found[name]))
	}
	return "redacted: " + strings.Join(parts, ", ")
}

func (o *exportOptions) printRules() error {
	t := clikit.NewTable("RULE", "REMOVES")
	t.Color = clikit.Colored(o.streams.Out)
	for _, rule := range redact.Rules() {
		if o.json {
			if err := clikit.WriteJSON(o.streams.Out, rule); err != nil {
				return clikit.OutputError(err)
			}
			continue
		}
		t.Add(rule.Name, rule.About)
	}
	var b strings.Builder
	if !o.json {
		t.Print(&b, clikit.TextWidth(o.streams.Out, 80))
	}
	_, err := io.WriteString(o.streams.Out, b.String())
	return o.print(err)
}

func (o *exportOptions) print(err error) error {
	if err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// An exportFormat is a flag for the format of a document. "" means the format that the name of the
// file implies.
type exportFormat string

// Type names the value in the help.
func (f *exportFormat) Type() string { return "format" }

func (f *exportFormat) String() string { return string(*f) }

// Set reads the name of a format.
func (f *exportFormat) Set(text string) error {
	if text == "md" {
		text = export.Markdown
	}
	if !slices.Contains(export.Formats(), text) {
		return errors.New("must be html, markdown or json")
	}
	*f = exportFormat(text)
	return nil
}

// formatOf returns the format that the name of a file implies.
func formatOf(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".markdown":
		return export.Markdown
	case ".json":
		return export.JSON
	}
	return export.HTML
}

// A countingWriter counts the bytes that are written.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
