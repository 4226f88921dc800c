package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clewdev/clew/internal/config"
	"github.com/spf13/cobra"
)

type configInitOptions struct {
	streams  Streams
	settings *settings
	user     bool
	force    bool
}

const configInitHelp = `Writes a file with all settings as comments: ./clew.yaml, or with --user the one in
your own folder of settings. Nobody else can read it. A file that is there is left
alone, unless --force is given.`

func newConfigInit(s Streams, st *settings) *cobra.Command {
	o := &configInitOptions{streams: s, settings: st}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a file of settings, all of them as comments",
		Long:  configInitHelp,
		Example: `  clew config init --user
  clew config init`,
		Args: atMost(0),
		RunE: runE(o.run),
	}
	addOnOff(cmd, &o.user, "user", "write the file for yourself instead of that of the project")
	addOnOff(cmd, &o.force, "force", "replace a file that is there")
	return cmd
}

func (o *configInitOptions) run(context.Context, []string) error {
	places := o.settings.places()
	path, project := places.Project, true
	switch {
	case places.File != "" && o.user:
		return &failure{
			code: exitUsage, err: errors.New("--config and --user exclude each other"), hint: "Leave out one of them.",
		}
	case places.File != "":
		path, project = places.File, false
	case o.user && places.User == "":
		return &failure{
			code: exitFailed,
			err:  errors.New("you have no folder of settings: there is no home"),
			hint: "Set HOME, or name a file with --config.",
		}
	case o.user:
		path, project = places.User, false
	}
	if err := writePrivate(path, config.Template(project), o.force); err != nil {
		return o.failure(path, err)
	}
	if _, err := fmt.Fprintln(o.streams.Out, printable(path)); err != nil {
		return outputError(err)
	}
	return nil
}

func (o *configInitOptions) failure(path string, err error) error {
	f := &failure{code: exitFailed, err: fmt.Errorf("%s cannot be written: %w", printable(path), cause(err))}
	if errors.Is(err, fs.ErrExist) {
		f.err = fmt.Errorf("there is a file %s already", printable(path))
		f.hint = "Use --force to replace it."
	}
	return f
}

// writePrivate writes a file that only the user can read, with the folders above it. A file that is there is replaced,
// or makes it fail.
func writePrivate(path, text string, replace bool) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if !replace {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		return fill(file, text)
	}
	temp, err := os.CreateTemp(dir, "."+settingsName+"-*") // for the user alone
	if err != nil {
		return err
	}
	if err := fill(temp, text); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		_ = os.Remove(temp.Name()) // the first error says more
		return err
	}
	return nil
}

// fill writes a new file, which is not left behind half.
func fill(file *os.File, text string) error {
	_, err := file.WriteString(text)
	err = errors.Join(err, file.Close())
	if err != nil {
		_ = os.Remove(file.Name()) // the first error says more
	}
	return err
}
