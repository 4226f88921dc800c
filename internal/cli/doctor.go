package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/config"
	"github.com/spf13/cobra"
)

type doctorOptions struct {
	streams  Streams
	settings *settings
	now      func() time.Time
	limit    time.Duration // for each check
	patience time.Duration // after which it is told what is still looked at
	json     bool
}

const doctorHelp = `Looks at what clew and the agent need on this machine, and says what is wrong and
what to do about it: the agent binary and its version, key or login, files of
settings, the folders of transcripts with their sizes, when the agent deletes old
ones, what of them clew does not know, and the terminal.

Each line is ok, a note, a warning or a problem. The exit code is 1 if there is a
problem. Nothing is changed, no secret is shown, and nothing is waited for longer
than 10 seconds. The agent is only asked for its version.

With --json, there is one object with the list "checks". Each has the members
check, state, found, advice and, for some, details.`

func newDoctor(s Streams, st *settings) *cobra.Command {
	o := &doctorOptions{streams: s, settings: st, now: time.Now, limit: 10 * time.Second, patience: time.Second}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong on this machine, and what to do about it",
		Long:  doctorHelp,
		Example: `  clew doctor
  clew doctor --json | jq '.checks[] | select(.state == "problem")'`,
		Args: atMost(0),
	}
	cmd.RunE = runE(func(ctx context.Context, _ []string) error { return o.run(ctx, cmd) })
	addOnOff(cmd, &o.json, "json", "print one JSON object")
	return cmd
}

// A diagnosis is what a check has found.
type diagnosis struct {
	Check   string `json:"check"`
	State   health `json:"state"`
	Found   string `json:"found"`
	Advice  string `json:"advice,omitempty"`
	Details any    `json:"details,omitempty"`
}

// A health says how good that is.
type health string

const (
	healthy   health = "ok"
	noted     health = "note"
	worrying  health = "warning"
	unhealthy health = "problem"
)

// A check looks at something, and is given up when its context ends.
type check struct {
	name string
	look func(ctx context.Context) []diagnosis
}

func (o *doctorOptions) run(ctx context.Context, cmd *cobra.Command) error {
	c, err := o.settings.load(ctx)
	if err != nil {
		return errStopped()
	}
	if err := applySettings(cmd, c); err != nil {
		return err
	}
	found := o.examine(ctx, o.checks(c))
	if ctx.Err() != nil {
		return errStopped()
	}
	if err := o.print(found); err != nil {
		return outputError(err)
	}
	problems := 0
	for _, d := range found {
		if d.State == unhealthy {
			problems++
		}
	}
	switch problems {
	case 0:
		return nil
	case 1:
		return errors.New("there is a problem")
	}
	return fmt.Errorf("there are %d problems", problems)
}

func (o *doctorOptions) checks(c *config.Config) []check {
	shelf := newShelf(o.now())
	return []check{
		{"clew", checkBuild},
		{"agent", func(ctx context.Context) []diagnosis { return checkAgent(ctx, c.Values["agent_path"]) }},
		{"login", func(context.Context) []diagnosis { return checkLogin() }},
		{"settings", func(context.Context) []diagnosis { return checkSettings(c) }},
		{"agent settings", func(context.Context) []diagnosis { return checkAgentSettings() }},
		{"transcripts", shelf.checkFolders},
		{"retention", shelf.checkRetention},
		{"format", shelf.checkFormat},
		{"search index", func(context.Context) []diagnosis { return checkIndex(indexPath) }},
		{"terminal", func(context.Context) []diagnosis { return checkTerminal(o.streams) }},
	}
}

// examine runs the checks at the same time, and returns what they find in their order.
func (o *doctorOptions) examine(ctx context.Context, checks []check) []diagnosis {
	results := make([]chan []diagnosis, len(checks))
	limited, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	for i, c := range checks {
		results[i] = make(chan []diagnosis, 1)
		go func() { results[i] <- c.look(limited) }()
	}
	waiting := o.newWaiting()
	defer waiting.done()
	var all []diagnosis
	for i, c := range checks {
		all = append(all, o.await(ctx, results[i], c.name, waiting)...)
	}
	return all
}

// grace is how long a check may take to notice that its time is over.
const grace = 500 * time.Millisecond

// await waits for a check, but not for one that hangs in the system.
func (o *doctorOptions) await(ctx context.Context, result <-chan []diagnosis, name string, w *waiting) []diagnosis {
	for {
		select {
		case found := <-result:
			return named(found, name)
		case <-w.patience.C:
			w.tell(name)
			continue
		case <-w.end.C:
			w.end.Reset(0) // for the others
		case <-ctx.Done():
			return nil
		}
		select {
		case found := <-result: // it has ended meanwhile
			return named(found, name)
		default:
		}
		return []diagnosis{{
			Check: name, State: worrying, Found: fmt.Sprintf("it was given up after %v", o.limit),
			Advice: "Look whether the disk is slow, or a folder on a network cannot be reached.",
		}}
	}
}

func named(found []diagnosis, name string) []diagnosis {
	for i := range found {
		found[i].Check = name
	}
	return found
}

// A waiting tells on a terminal what is waited for.
type waiting struct {
	w        io.Writer // nil where nothing is told
	patience *time.Timer
	end      *time.Timer
	visible  bool
}

func (o *doctorOptions) newWaiting() *waiting {
	w := &waiting{patience: time.NewTimer(o.patience), end: time.NewTimer(o.limit + grace)}
	if isTerminal(o.streams.Err) && os.Getenv("TERM") != "dumb" {
		w.w = o.streams.Err
	}
	return w
}

func (w *waiting) tell(name string) {
	w.patience.Reset(redrawInterval)
	if w.w != nil {
		w.visible = true
		_, _ = io.WriteString(w.w, clearLine+fitLine("looking at: "+name, terminalWidth(w.w)))
	}
}

func (w *waiting) done() {
	w.patience.Stop()
	w.end.Stop()
	if w.visible {
		_, _ = io.WriteString(w.w, clearLine)
	}
}

func (o *doctorOptions) print(found []diagnosis) error {
	text := ""
	if o.json {
		line, err := jsonLine(map[string][]diagnosis{"checks": found})
		if err != nil {
			return err
		}
		text = string(line)
	} else {
		text = doctorText(found, textWidth(o.streams.Out, 0), coloured(o.streams.Out))
	}
	_, err := io.WriteString(o.streams.Out, text)
	return err
}

// doctorText returns what was found in two columns, or where there is no room, as paragraphs.
func doctorText(found []diagnosis, columns int, colour bool) string {
	const label = len("problem  agent settings  ")
	indent := label
	if columns > 0 && columns < narrow {
		indent = 2
	}
	var b strings.Builder
	for _, d := range found {
		head := fmt.Sprintf("%-7s  %-14s  ", d.State, d.Check)
		if indent < label {
			head = strings.TrimSpace(head) + "\n" + strings.Repeat(" ", indent)
		}
		lines := brokenLines(escaped(d.Found), "", columns-indent)
		if d.Advice != "" {
			lines = append(lines, brokenLines(escaped(d.Advice), "> ", columns-indent)...)
		}
		text := head + strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n"
		b.WriteString(painted(text, d.State, colour))
	}
	return b.String()
}

// painted gives the first word of a text the colour of its state.
func painted(text string, state health, colour bool) string {
	codes := map[health]string{healthy: "32", noted: "36", worrying: "33", unhealthy: "31"}
	rest, ok := strings.CutPrefix(text, string(state))
	if !colour || !ok {
		return text
	}
	return "\x1b[" + codes[state] + "m" + string(state) + "\x1b[0m" + rest
}
