package clew

import (
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

func (o *Options) checkStore() error {
	if o.Store == nil {
		return o.checkNoStore()
	}
	switch {
	case o.Ephemeral:
		return badOption("Store", "not together with Ephemeral")
	case o.EnableFileCheckpointing:
		return badOption("Store", "not together with EnableFileCheckpointing: it does not keep the files")
	case o.Resume != "" && !uuidPattern.MatchString(o.Resume):
		return badOption("Resume", "with a Store it must be the ID of a session, not %q", o.Resume)
	case (o.Resume != "" || o.Continue) && !o.onThisMachine():
		return badOption("Store", "can't resume with this Transport: the agent may not see a folder of this machine")
	case o.StoreProject == "":
		return nil
	}
	key := wire.SessionKey{Project: o.StoreProject, SessionID: "any"}
	if key.Check() != nil {
		return badOption("StoreProject", "%q can't be the name of a folder", o.StoreProject)
	}
	return nil
}

func (o *Options) checkNoStore() error {
	switch {
	case o.StoreProject != "":
		return badOption("StoreProject", "needs Store")
	case o.StoreEager:
		return badOption("StoreEager", "needs Store")
	case o.StoreTimeout != 0:
		return badOption("StoreTimeout", "needs Store")
	}
	return nil
}

// onThisMachine reports whether the agent certainly sees the same files as this process.
func (o *Options) onThisMachine() bool {
	local, ok := o.Transport.(*ProcessTransport)
	return o.Transport == nil || ok && local.Wrap == nil
}

// A configPlace is where an agent on this machine has its settings.
type configPlace struct {
	env   environment // of the agent
	dir   string      // the folder of its settings
	home  string      // the folder that .claude.json lies in
	named bool        // whether a variable names them
}

func (o *Options) configPlace() configPlace {
	p := configPlace{env: environment{fold: runtime.GOOS == "windows", entries: o.environ(os.Environ())}}
	if dir := p.env.value("CLAUDE_CONFIG_DIR"); dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(o.workingFolder(), dir)
		}
		p.dir, p.home, p.named = dir, dir, true
		return p
	}
	p.home = homeFolder(&p.env)
	p.dir = filepath.Join(p.home, ".claude")
	return p
}

// homeFolder returns the home of the user, as the agent sees it.
func homeFolder(env *environment) string {
	variable := "HOME"
	if runtime.GOOS == "windows" {
		variable = "USERPROFILE"
	}
	if home := env.value(variable); home != "" {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// workingFolder returns the real path of the agent's working folder.
func (o *Options) workingFolder() string {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o.Dir
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// projectNamePattern is what CLAUDE_CODE_PROJECT_DIR_NAME must look like.
var projectNamePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// project returns the name that the agent gives to its working folder, with the settings where they are or, if named is
// true, in a folder that a variable names.
func (p *configPlace) project(dir string, named bool) string {
	if name := p.env.value("CLAUDE_CODE_PROJECT_DIR_NAME"); named && projectNamePattern.MatchString(name) {
		return name
	}
	return sessionfile.ProjectName(dir)
}
