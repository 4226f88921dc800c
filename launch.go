package clew

import (
	"os"
	"path/filepath"
)

// launch returns how the agent binary at path is started, and logs the warnings. The error is an [*OptionsError].
func (o *Options) launch(path string) (*Launch, error) {
	args, err := o.args()
	if err != nil {
		return nil, err
	}
	dir, err := o.dir()
	if err != nil {
		return nil, err
	}
	o.logWarnings()
	return &Launch{
		Path:         path,
		Args:         args,
		Env:          o.environ(os.Environ()),
		Dir:          dir,
		Stderr:       o.Stderr,
		CloseTimeout: o.closeTimeout(),
	}, nil
}

// dir returns the working folder, which for a process of this machine is absolute: it is PWD as well.
func (o *Options) dir() (string, error) {
	if o.Dir == "" || o.Transport != nil {
		return o.Dir, nil
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", badOption("Dir", "%v", err)
	}
	return dir, nil
}

func (o *Options) logWarnings() {
	if o.Logger == nil {
		return
	}
	for _, w := range o.Warnings() {
		o.Logger.Warn("an option hardly does what was meant", "option", w.Option, "reason", w.Reason)
	}
}

// needsInput reports whether the agent may still ask something after the prompt, so that its input has to stay open.
func (o *Options) needsInput() bool {
	hooks := 0
	for _, matchers := range o.Hooks {
		hooks += len(matchers)
	}
	return hooks > 0 || o.CanUseTool != nil || o.OnQuestion != nil || o.OnElicitation != nil || o.OnUserDialog != nil ||
		o.OnOAuthToken != nil || o.OnHostAuthToken != nil || len(o.inProcessServers()) > 0
}
