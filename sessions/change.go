package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// Rename gives a session a title, without the space around it. An empty one is an error.
func Rename(ctx context.Context, id, title string, opts *Options) error {
	title = strings.TrimSpace(title)
	if title == "" {
		return errors.New("sessions: the title of a session is empty")
	}
	p, key, err := opts.find(ctx, id)
	if err != nil {
		return err
	}
	return p.store.Append(ctx, key, []wire.JSON{titleEntry(id, title)})
}

// Tag gives a session a tag in place of the one that it has; "" takes that away. What can't be seen is removed from the
// tag: control and formatting characters, and those that Unicode does not define. One of which nothing is left is an
// error.
func Tag(ctx context.Context, id, tag string, opts *Options) error {
	seen := visibleText(tag)
	if seen == "" && tag != "" {
		return fmt.Errorf("sessions: the tag %q has nothing that can be seen", tag)
	}
	p, key, err := opts.find(ctx, id)
	if err != nil {
		return err
	}
	return p.store.Append(ctx, key, []wire.JSON{textEntry("tag", "tag", seen, id)})
}

func titleEntry(id, title string) wire.JSON {
	return textEntry("custom-title", "customTitle", title, id)
}

// textEntry returns an entry with one text. The order of its members is the agent's.
func textEntry(kind, name, text, id string) wire.JSON {
	entry := []byte(`{"type":"` + kind + `","` + name + `":`)
	entry = jsonlex.AppendQuote(entry, text)
	entry = append(entry, `,"sessionId":`...)
	entry = jsonlex.AppendQuote(entry, id)
	return wire.JSON(append(entry, '}'))
}

func visibleText(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text))
}
