package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/export"
)

// An exportFormat is a flag for the format of a document. "" means that the name
// of the file tells.
type exportFormat string

// Type is what the help calls the value.
func (f *exportFormat) Type() string { return "format" }

func (f *exportFormat) String() string { return string(*f) }

// Set reads the name of a format.
func (f *exportFormat) Set(text string) error {
	if text == "md" {
		text = export.Markdown
	}
	if !slices.Contains(export.Formats(), text) {
		return errors.New("it is html, markdown or json")
	}
	*f = exportFormat(text)
	return nil
}

// formatOf returns the format that the name of a file asks for.
func formatOf(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".markdown":
		return export.Markdown
	case ".json":
		return export.JSON
	}
	return export.HTML
}

// untilDone is a writer that fails once a context has ended.
type untilDone struct {
	ctx context.Context
	w   io.Writer
}

func (u *untilDone) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(p)
}

// A counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
