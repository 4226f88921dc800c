package clew

import (
	"cmp"
	"context"
	"fmt"
	"runtime"

	"github.com/clewdev/clew/internal/tempconfig"
)

// layOutStored lays the session that is to be resumed into a folder for the agent's settings, if the session is in the
// store, and changes the options so that the agent uses it. Whoever gets a folder must remove it. It is nil if there is
// nothing to resume from a store: the agent has to know the session itself then.
func (o *Options) layOutStored(ctx context.Context) (*tempconfig.Folder, error) {
	if o.Store == nil || o.Resume == "" && !o.Continue {
		return nil, nil
	}
	folder, err := tempconfig.New()
	if err != nil {
		return nil, resumeError(err)
	}
	id, err := o.layOutIn(ctx, folder)
	if err != nil || id == "" {
		o.removeFolder(folder)
		return nil, err
	}
	o.Resume, o.Continue = id, false
	o.Env = append(o.Env, "CLAUDE_CONFIG_DIR="+folder.Path())
	return folder, nil
}

// layOutIn lays a session out in a folder, and returns its ID, or "" if the store does not have it.
func (o *Options) layOutIn(ctx context.Context, folder *tempconfig.Folder) (id string, err error) {
	place, dir := o.configPlace(), o.workingFolder()
	r := &restorer{
		store: o.Store, timeout: o.storeTimeout(), log: o.logger(), folder: folder,
		project: cmp.Or(o.StoreProject, place.project(dir, place.named)),
		name:    place.project(dir, true),
	}
	if o.Continue {
		id, err = r.restoreNewest(ctx)
	} else {
		id, err = r.restore(ctx, o.Resume)
	}
	if err != nil {
		return "", err
	}
	if id == "" {
		r.log.Warn("the session to resume is not in the store", "project", r.project, "resume", o.Resume)
		return "", nil
	}
	if r.name != r.project {
		o.StoreProject = r.project // what the agent writes now belongs there, too
	}
	source := tempconfig.Source{Dir: place.dir, HomeDir: place.home}
	if place.keychain() {
		source.Credentials = tempconfig.Keychain
	}
	if err := folder.CopySettings(ctx, source); err != nil {
		return "", resumeError(err)
	}
	return id, nil
}

// keychain reports whether the agent would look for its credentials in the keychain of macOS.
func (p *configPlace) keychain() bool {
	return runtime.GOOS == "darwin" && !p.named &&
		p.env.value("ANTHROPIC_API_KEY") == "" && p.env.value("CLAUDE_CODE_OAUTH_TOKEN") == ""
}

func resumeError(err error) error { return fmt.Errorf("clew: resuming from the store: %w", err) }

// removeFolder removes a folder, which may be nil.
func (o *Options) removeFolder(folder *tempconfig.Folder) {
	if err := folder.Remove(); err != nil {
		o.logger().Warn("a folder with credentials could not be removed", "folder", folder.Path(), "error", err)
	}
}

// endStore takes the last entries to the store when the agent is gone, and removes the folder of its settings.
func (s *Session) endStore() {
	s.mirror.end()
	s.opts.removeFolder(s.folder)
}
