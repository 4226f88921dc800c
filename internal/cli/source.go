package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/clewdev/clew/sessions"
)

// A source is what a command shows: a session, a file, or stdin.
type source struct {
	info  sessions.Info // of a session; the ID of other sources is ""
	path  string        // of the transcript, or of the file
	stdin bool
}

// findSource tells what a word means: "-", "last", the ID of a session or its
// beginning, or the path of a file.
func findSource(ctx context.Context, word string) (source, error) {
	switch word {
	case "":
		return source{}, &failure{code: exitUsage, err: errors.New("the name is empty"), hint: sourceHint}
	case "-":
		return source{stdin: true}, nil
	case "last":
		return lastSession(ctx)
	}
	if _, err := os.Stat(word); err == nil || strings.ContainsAny(word, `./\`) {
		return source{path: word}, nil
	}
	return sessionBy(ctx, word)
}

const sourceHint = `Give the ID of a session or its beginning, "last", the path of a file, or - for stdin.
Run "clew ls --all" for a list of sessions.`

// lastSession finds the newest session of this project, or of all projects if
// this one has none.
func lastSession(ctx context.Context) (source, error) {
	for _, project := range []string{".", ""} {
		infos, err := sessions.List(ctx, &sessions.ListOptions{Project: project, Limit: 1})
		if len(infos) > 0 {
			return source{info: infos[0], path: infos[0].Path}, nil
		}
		if err != nil {
			return source{}, findError(ctx, err)
		}
	}
	return source{}, &failure{code: exitInput, err: errors.New("there are no sessions yet")}
}

func sessionBy(ctx context.Context, prefix string) (source, error) {
	found, err := sessionsBy(ctx, prefix)
	switch {
	case len(found) == 1:
		return source{info: found[0], path: found[0].Path}, nil
	case len(found) > 1:
		return source{}, ambiguous(prefix, found)
	case err != nil:
		return source{}, findError(ctx, err)
	}
	return source{}, &failure{
		code: exitInput, err: fmt.Errorf("there is no session and no file %s", printable(prefix)), hint: sourceHint,
	}
}

// sessionsBy returns the sessions whose ID begins so.
func sessionsBy(ctx context.Context, prefix string) (found []sessions.Info, err error) {
	infos, err := sessions.List(ctx, nil)
	for _, info := range infos {
		if strings.HasPrefix(info.ID, strings.ToLower(prefix)) {
			found = append(found, info)
		}
	}
	return found, err
}

func findError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted()
	}
	return sessionsError(err)
}

func ambiguous(prefix string, found []sessions.Info) error {
	const most = 5
	var ids []string
	for _, info := range found[:min(most, len(found))] {
		ids = append(ids, info.ID)
	}
	if len(found) > most {
		ids = append(ids, "...")
	}
	return &failure{
		code: exitUsage,
		err:  fmt.Errorf("%d sessions begin with %s", len(found), printable(prefix)),
		hint: "Give more of the ID: " + strings.Join(ids, ", "),
	}
}
