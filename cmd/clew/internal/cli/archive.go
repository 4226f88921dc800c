package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/engine"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
)

const archiveHelp = `Copy all sessions to an archive, which keeps them when Claude Code deletes its own:
30 days after their last change, unless its setting cleanupPeriodDays is different.
The archive has each file byte for byte: transcripts, subagents, long results, tasks
and the copies of files for rewinding. They are compressed and have checksums.

Run it as often as you like: only what is new is written, and nothing in an archive
is ever deleted or overwritten. --watch saves whenever sessions have changed, and
--print-cron and --print-systemd print what you need to run it every hour.

An archive is a directory, a SQLite file (sqlite:FILE) or a NATS server with
JetStream (nats://SERVER). Several machines can share one; each saves its sessions
under the name of its host, or of --machine. Without --to, the archive is that of
the setting archive (CLEW_ARCHIVE), or a directory with your other data.

All commands that read sessions read the archive as well if --from or the setting
archive names it, each session once. "clew restore ID" puts a session back, so that
Claude Code can resume it.`

type archiveOptions struct {
	streams Streams
	st      *settings
	to      string
	machine string
	every   time.Duration

	dryRun, watch, status, verify, cron, systemd, json bool
}

func newArchive(s Streams, st *settings) *cobra.Command {
	o := &archiveOptions{streams: s, st: st}
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Keep copies of all sessions",
		Long:  archiveHelp,
		Example: `  clew archive
  clew archive --to ~/sync/claude --machine laptop
  clew archive --to sqlite:sessions.db
  clew archive --print-cron
  clew ls --all --from ~/sync/claude`,
		Args: clikit.AtMost(0),
		RunE: clikit.RunE(o.run),
	}
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "the `archive`: a directory, sqlite:FILE or nats://SERVER")
	f.StringVar(&o.machine, "machine", "", "save under this `name` instead of that of the host")
	clikit.AddOnOff(cmd, &o.dryRun, "dry-run", "print what would be saved, and write nothing")
	clikit.AddOnOff(cmd, &o.watch, "watch", "keep running, and save when sessions have changed")
	f.DurationVar(&o.every, "every", 5*time.Minute, "how long --watch gathers changes before it saves them")
	clikit.AddOnOff(cmd, &o.status, "status", "print what the archive has, by machine")
	clikit.AddOnOff(cmd, &o.verify, "verify", "read everything in the archive and compare it with its checksums")
	clikit.AddOnOff(cmd, &o.cron, "print-cron", "print a line for crontab that saves every hour")
	clikit.AddOnOff(cmd, &o.systemd, "print-systemd", "print units for systemd that save every hour")
	clikit.AddOnOff(cmd, &o.json, "json", "print JSON")
	return cmd
}

func (o *archiveOptions) run(ctx context.Context, _ []string) error {
	if err := clikit.AtMostOne([]clikit.GivenFlag{
		{Name: "dry-run", On: o.dryRun}, {Name: "watch", On: o.watch}, {Name: "status", On: o.status}, {Name: "verify", On: o.verify}, {Name: "print-cron", On: o.cron},
		{Name: "print-systemd", On: o.systemd},
	}); err != nil {
		return err
	}
	if machine := cmp.Or(o.machine, os.Getenv("CLEW_MACHINE")); machine != "" && archive.CheckMachine(machine) != nil {
		return clikit.UsageError(clikit.Printable(machine)+" can't be the name of a machine", "Use letters, digits, dots and dashes.")
	}
	if o.cron || o.systemd {
		return o.printSchedule()
	}
	at, err := archiveNamed(o.to)
	if err != nil {
		return err
	}
	target, err := o.open(ctx, at)
	if err != nil {
		return err
	}
	if o.watch { // it opens the archive again each time
		if err := target.Close(); err != nil {
			return err
		}
		return o.saveAgain(ctx, at)
	}
	defer target.Close() //nolint:errcheck // the data is on disk
	a := archive.New(target)
	switch {
	case o.status:
		return o.printStatus(ctx, a, at)
	case o.verify:
		return o.printVerified(ctx, a, at)
	}
	return o.save(ctx, a, at, o.machineName())
}

// machineName returns the name under which sessions are saved. The first time, it stores the host's
// name.
func (o *archiveOptions) machineName() string {
	if name := cmp.Or(o.machine, os.Getenv("CLEW_MACHINE")); name != "" {
		return name
	}
	host, kept := archive.MachineName(), keptMachine()
	switch {
	case kept == "" && !o.dryRun:
		if err := keepMachine(host); err != nil {
			clikit.Remark(o.streams.Err, tty.Waiting, "clew archive", "can't keep the name of this machine: "+clikit.Printable(err.Error()))
		}
	case kept != "" && kept != host:
		clikit.Remark(o.streams.Err, tty.Waiting, "clew archive", fmt.Sprintf("this machine is saved as %s, the name that it had the first "+
			"time, although its host is now %s. To choose a name, set machine in clew.yaml, or give --machine.", kept, host))
	}
	return cmp.Or(kept, host)
}

// open opens the archive. One that does not exist is created if something will be written.
func (o *archiveOptions) open(ctx context.Context, at engine.Archive) (archive.Target, error) {
	target, err := at.Open(ctx, false)
	if !errors.Is(err, archive.ErrNotFound) || o.status || o.verify || o.dryRun {
		if o.dryRun && errors.Is(err, archive.ErrNotFound) {
			return nothingSaved{}, nil
		}
		return target, err
	}
	target, err = at.Open(ctx, true)
	if err == nil && o.to == "" && os.Getenv("CLEW_ARCHIVE") == "" {
		clikit.Remark(o.streams.Err, tty.Waiting, "clew archive", "created an archive in "+clikit.Printable(at.Name)+
			". To read it with all commands, set archive to this directory in the settings, or CLEW_ARCHIVE.")
	}
	return target, err
}

// nothingSaved is the target of a dry run before anything was saved.
type nothingSaved struct{ archive.Target }

// Close does nothing.
func (nothingSaved) Close() error { return nil }

// Manifests yields nothing.
func (nothingSaved) Manifests(context.Context, string) iter.Seq2[archive.Manifest, error] {
	return func(func(archive.Manifest, error) bool) {}
}

// A savedRecord is the result of a run in JSON.
type savedRecord struct {
	Archive   string   `json:"archive"`
	Machine   string   `json:"machine"`
	DryRun    bool     `json:"dry_run"`
	Sessions  int      `json:"sessions"`
	New       int      `json:"new"`
	Changed   int      `json:"changed"`
	Bytes     int64    `json:"bytes"`
	NewBytes  int64    `json:"new_bytes"`
	Stored    int64    `json:"stored_bytes"`
	Rewritten int      `json:"rewritten"`
	Seconds   float64  `json:"seconds"`
	Problems  []string `json:"problems,omitempty"`
}

// save saves once, and prints the result.
func (o *archiveOptions) save(ctx context.Context, a *archive.Archive, at engine.Archive, machine string) error {
	begun := clikit.Now()
	bar := clikit.ProgressOn(o.streams.Err, -1, clikit.Now)
	want := &archive.SaveOptions{Machine: machine, DryRun: o.dryRun}
	if show := bar.Func(); show != nil {
		want.Progress = func(p archive.SaveProgress) { show(p.Bytes, p.AllBytes) }
	}
	report, err := a.Save(ctx, want)
	bar.Clear()
	if err != nil {
		return archiveError(ctx, err)
	}
	r := savedRecord{
		Archive: at.Shown(), Machine: report.Machine, DryRun: o.dryRun, Sessions: report.Sessions, New: report.New,
		Changed: report.Changed, Bytes: report.Bytes, NewBytes: report.NewBytes, Stored: report.Stored,
		Rewritten: report.Rewritten, Seconds: clikit.Now().Sub(begun).Seconds(),
	}
	for _, p := range report.Problems {
		r.Problems = append(r.Problems, clikit.Printable(p.Error()))
	}
	if err := o.print(r, r.text()); err != nil {
		return err
	}
	if report.Copies > 0 {
		clikit.Remark(o.streams.Err, tty.Waiting, "clew archive",
			fmt.Sprintf("%s are in several directories of agents; the longest of each was saved", wording.Count(report.Copies, "session")))
	}
	return unreadFailure(o.streams, "clew archive", r.Problems)
}

func (r *savedRecord) text() string {
	if r.New+r.Changed == 0 {
		return fmt.Sprintf("Nothing is new: %s has all %s of %s.\n", clikit.Printable(r.Archive), wording.Count(r.Sessions, "session"), r.Machine)
	}
	verb := "Saved"
	if r.DryRun {
		verb = "Would save"
	}
	text := fmt.Sprintf("%s %s and %d changed of %s as %s in %s: %s new", verb, wording.Count(r.New, "new session"), r.Changed,
		wording.Number(r.Sessions), r.Machine, clikit.Printable(r.Archive), wording.Size(r.NewBytes))
	if !r.DryRun {
		text += fmt.Sprintf(", %s stored", wording.Size(r.Stored))
		if r.Stored > 0 {
			text += fmt.Sprintf(" (1:%.1f)", float64(r.NewBytes)/float64(r.Stored))
		}
		text += ", in " + wording.Duration(time.Duration(r.Seconds*float64(time.Second)))
	}
	return text + "\n"
}

// print prints a value as JSON or as text.
func (o *archiveOptions) print(v any, text string) error {
	return printEither(o.streams.Out, o.json, v, text)
}

func printEither(w io.Writer, asJSON bool, v any, text string) error {
	if asJSON {
		line, err := clikit.JSONLine(v)
		if err != nil {
			return err
		}
		text = string(line)
	} else if clikit.IsTerminal(w) {
		text = clikit.WordsWrapped(text, 0, clikit.TerminalWidth(w))
	}
	if _, err := io.WriteString(w, text); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// unreadFailure warns about problems, and returns the command's error if there are any.
func unreadFailure(s Streams, command string, problems []string) error {
	const most = 10
	for _, p := range problems[:min(most, len(problems))] {
		clikit.Remark(s.Err, tty.Waiting, command, p)
	}
	if len(problems) > 0 {
		return &clikit.Failure{Code: clikit.ExitInput, Err: unreadError(len(problems))}
	}
	return nil
}

// An unreadError is the number of files or sessions that could not be read or saved.
type unreadError int

func (n unreadError) Error() string {
	return wording.Count(int(n), "problem") + "; everything else is complete"
}

// firstRetry is the time until --watch tries again to save to an archive that failed. Tests shorten it.
var firstRetry = 2 * time.Second

// lastRetry is the longest time between two tries.
const lastRetry = 5 * time.Minute

// saveAgain saves, and saves again each time sessions change, until it is interrupted. If the
// archive fails, it tries again, at longer and longer intervals.
func (o *archiveOptions) saveAgain(ctx context.Context, at engine.Archive) error {
	machine := o.machineName()
	changed := make(chan struct{}, 1)
	go func() {
		for range sessions.Watch(ctx, nil) { // it ends with the context
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	for wait := time.Duration(0); ; wait = o.every { // changes until then are saved together
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		err := o.saveAfter(ctx, wait, at, machine)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // that is how it ends
		}
		if err != nil {
			return err
		}
	}
}

// saveAfter waits and saves, until that succeeds. It returns an error if the context ends, or if
// nobody reads the output.
func (o *archiveOptions) saveAfter(ctx context.Context, wait time.Duration, at engine.Archive, machine string) error {
	for retry := firstRetry; ; retry = min(2*retry, lastRetry) {
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
		err := o.saveOnce(ctx, at, machine)
		_, unread := errors.AsType[unreadError](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil || errors.Is(err, syscall.EPIPE):
			return err
		case unread:
			o.remarkWatch(err, "") // it may be readable after the next change
			return nil
		}
		wait = retry
		o.remarkWatch(err, fmt.Sprintf("; trying again in %s", wait))
	}
}

// saveOnce opens the archive, which was there before, and saves. A disk that is no longer mounted does
// not become a new archive.
func (o *archiveOptions) saveOnce(ctx context.Context, at engine.Archive, machine string) error {
	target, err := at.Open(ctx, false)
	if err != nil {
		return err
	}
	return errors.Join(o.save(ctx, archive.New(target), at, machine), target.Close())
}

// remarkWatch warns about an error of --watch.
func (o *archiveOptions) remarkWatch(err error, then string) {
	text := err.Error()
	if f, ok := errors.AsType[*clikit.Failure](err); ok {
		text = f.Err.Error()
	}
	clikit.Remark(o.streams.Err, tty.Waiting, "clew archive", text+then)
}

// A statusRecord describes the contents of an archive in JSON.
type statusRecord struct {
	Archive   string            `json:"archive"`
	Machines  []archive.Machine `json:"machines"`
	LiveBytes int64             `json:"live_bytes"`
	Cache     string            `json:"cache"`
	CacheSize int64             `json:"cache_bytes"`
	Problems  []string          `json:"problems,omitempty"`
}

func (o *archiveOptions) printStatus(ctx context.Context, a *archive.Archive, at engine.Archive) error {
	machines, problems, err := a.Machines(ctx)
	if err != nil {
		return archiveError(ctx, err)
	}
	r := statusRecord{Archive: at.Shown(), Machines: append([]archive.Machine{}, machines...)}
	for f, err := range sessions.Files(ctx, nil) {
		if err == nil { // files that can't be read are reported when saving
			r.LiveBytes += f.Info.Size()
		}
	}
	live, _ := sessions.Roots()
	r.Cache, _ = cacheOf(at.Name, live) // without one there is nothing in it
	_ = filepath.WalkDir(r.Cache, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				r.CacheSize += info.Size()
			}
		}
		return nil
	})
	for _, p := range problems {
		r.Problems = append(r.Problems, clikit.Printable(p.Error()))
	}
	if err := o.print(r, r.text(clikit.TextWidth(o.streams.Out, 0))); err != nil {
		return err
	}
	return unreadFailure(o.streams, "clew archive", r.Problems)
}

func (r *statusRecord) text(columns int) string {
	t := clikit.NewTable("MACHINE", "SESSIONS>", "SIZE>", "STORED>", "RATIO>", "LAST RUN")
	for _, m := range r.Machines {
		ratio, last := "-", "-"
		if m.Stored > 0 {
			ratio = fmt.Sprintf("1:%.1f", float64(m.Bytes)/float64(m.Stored))
		}
		if !m.LastRun.IsZero() {
			last = m.LastRun.Local().Format("2006-01-02T15:04")
		}
		t.Add(m.Name, wording.Number(m.Sessions), wording.Size(m.Bytes), wording.Size(m.Stored), ratio, last)
	}
	lines := append(t.Lines(columns), "",
		"archive  "+clikit.Printable(r.Archive),
		"live     "+wording.Size(r.LiveBytes)+" in the agent's transcripts",
		"cache    "+wording.Size(r.CacheSize)+" unpacked in "+clikit.Printable(r.Cache))
	return strings.Join(lines, "\n") + "\n"
}

// A verifiedRecord is the result of --verify in JSON.
type verifiedRecord struct {
	Archive  string   `json:"archive"`
	Sessions int      `json:"sessions"`
	Files    int      `json:"files"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems,omitempty"`
}

func (o *archiveOptions) printVerified(ctx context.Context, a *archive.Archive, at engine.Archive) error {
	bar := clikit.ProgressOn(o.streams.Err, -1, clikit.Now)
	var progress func(done, all int)
	if show := bar.Func(); show != nil {
		progress = func(done, all int) { show(int64(done), int64(all)) }
	}
	report, err := a.Verify(ctx, progress)
	bar.Clear()
	if err != nil {
		return archiveError(ctx, err)
	}
	r := verifiedRecord{Archive: at.Shown(), Sessions: report.Sessions, Files: report.Files, Bytes: report.Bytes}
	for _, p := range report.Problems {
		r.Problems = append(r.Problems, clikit.Printable(p.Err.Error()))
	}
	text := fmt.Sprintf("Verified %s: %s with %s, %s.\n", clikit.Printable(r.Archive), wording.Count(r.Sessions, "session"),
		wording.Count(r.Files, "file"), wording.Size(r.Bytes))
	if err := o.print(r, text); err != nil {
		return err
	}
	return unreadFailure(o.streams, "clew archive", r.Problems)
}

// printSchedule prints what runs the program every hour.
func (o *archiveOptions) printSchedule() error {
	args, err := o.scheduled()
	if err != nil {
		return err
	}
	text := cronText(args)
	if o.systemd {
		text = systemdText(args)
	}
	_, err = io.WriteString(o.streams.Out, text)
	return err
}

// scheduled returns the command for a scheduler. Values from flags and from the environment are
// among its arguments; settings files are read each time.
func (o *archiveOptions) scheduled() ([]string, error) {
	program, err := executable()
	if err != nil {
		return nil, err
	}
	args := []string{program, "archive"}
	if o.st.file != "" {
		file, err := filepath.Abs(o.st.file)
		if err != nil {
			return nil, err
		}
		args = append(args, "--config", file)
	}
	to := engine.Archive{Name: o.to}
	if setting, ok := o.st.values["archive"]; to.Name == "" && (setting.Variable != "" || !ok && os.Getenv("XDG_DATA_HOME") != "") {
		if to, err = archiveNamed(""); err != nil {
			return nil, err
		}
	}
	if to.Name != "" {
		if to.HasPassword() {
			return nil, clikit.UsageError("the archive's password would be readable by others",
				"Set archive in clew.yaml instead of giving --to or CLEW_ARCHIVE. Then the line needs no --to.")
		}
		args = append(args, "--to", to.Absolute().Name)
	}
	if machine := cmp.Or(o.machine, o.st.variable("machine")); machine != "" {
		args = append(args, "--machine", machine)
	}
	return args, nil
}

// scheduledVariables are variables that a scheduler does not have, and that determine which files
// are read.
var scheduledVariables = []string{"CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}

// cronText returns a line for crontab. A percent sign would end the command there.
func cronText(args []string) string {
	var words []string
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	for _, name := range scheduledVariables {
		if value := os.Getenv(name); value != "" {
			words = append(words, name+"="+quote(value))
		}
	}
	for _, arg := range args {
		words = append(words, quote(arg))
	}
	return "17 * * * * " + strings.ReplaceAll(strings.Join(words, " "), "%", `\%`) + "\n"
}

// systemdText returns a service and its timer.
func systemdText(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = systemdQuote(strings.ReplaceAll(arg, "$", "$$"))
	}
	environment := ""
	for _, name := range scheduledVariables {
		if value := os.Getenv(name); value != "" {
			environment += "Environment=" + systemdQuote(name+"="+value) + "\n"
		}
	}
	return `# ~/.config/systemd/user/clew-archive.service
[Unit]
Description=Save the sessions of Claude Code

[Service]
Type=oneshot
Nice=10
` + environment + "ExecStart=" + strings.Join(quoted, " ") + `

# ~/.config/systemd/user/clew-archive.timer
[Unit]
Description=Save the sessions of Claude Code every hour

[Timer]
OnCalendar=hourly
RandomizedDelaySec=5m
Persistent=true

[Install]
WantedBy=timers.target

# systemctl --user daemon-reload && systemctl --user enable --now clew-archive.timer
`
}

func systemdQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(text) + `"`
}
