package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

type manOptions struct {
	streams Streams
	cmd     *cobra.Command
	dir     string
}

const manHelp = `Prints the manual page of a command, or of the program, as roff, which man
formats. It says what the help says.

With --dir, the pages of all commands are written to files in a folder, which is
made if it is not there: clew.1, clew-run.1 and so on. Where man looks for pages
is what manpath prints; below a prefix such as ~/.local it is share/man/man1.`

func newMan(s Streams) *cobra.Command {
	o := &manOptions{streams: s}
	o.cmd = &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print manual pages",
		Long:  manHelp,
		Example: `  clew man run | man -l -
  clew man --dir ~/.local/share/man/man1 && man clew-run`,
		RunE: runE(o.run),
	}
	o.cmd.Flags().StringVar(&o.dir, "dir", "", "write the pages of all commands to this `folder`")
	return o.cmd
}

func (o *manOptions) run(ctx context.Context, args []string) error {
	if o.cmd.Flags().Changed("dir") {
		return o.writeAll(ctx, args)
	}
	topic, err := findTopic(o.cmd, args)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(o.streams.Out, manPage(topic)); err != nil {
		return outputError(err)
	}
	return nil
}

// writeAll writes the pages of all commands that the help shows.
func (o *manOptions) writeAll(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0:
		return usageError("--dir writes the pages of all commands", "Leave out "+printable(strings.Join(args, " "))+".")
	case o.dir == "":
		return usageError("the name of the folder is empty", "")
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return unwritable(o.dir, err)
	}
	for _, cmd := range commandsOf(o.cmd.Root()) {
		if ctx.Err() != nil {
			return errStopped()
		}
		path := filepath.Join(o.dir, manName(cmd)+".1")
		if err := os.WriteFile(path, []byte(manPage(cmd)), 0o644); err != nil {
			return unwritable(path, err)
		}
	}
	return nil
}

func unwritable(path string, err error) error {
	return &failure{code: exitFailed, err: fmt.Errorf("%s cannot be written: %w", printable(path), cause(err))}
}

// commandsOf returns a command and those below it that the help shows.
func commandsOf(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, commandsOf(sub)...)
		}
	}
	return all
}

// manName is what man is asked for, such as clew-run.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }
