package clewtest

import (
	"os"
	"path/filepath"
	"runtime"
)

// noProxy is this machine as seen from itself.
const noProxy = "127.0.0.1,localhost,::1"

// Env returns the whole environment for a program that drives Claude Code, or for Claude Code itself, over this model.
// Use it as [os/exec.Cmd.Env]; a variable appended to it takes the place of the one before.
//
// Nothing of the caller's own settings, credentials or home is in it: of the caller's variables there is only PATH, and
// on Windows those that programs cannot start without. HOME, CLAUDE_CONFIG_DIR and the folder for temporary files lie
// in a folder of the test. Two things are out of its reach. The agent reads CLAUDE.md and .claude of its working folder
// and of all folders above: set [os/exec.Cmd.Dir], to a folder such as that of [testing.TB.TempDir]. And it obeys the
// settings that an administrator made for the whole machine, such as /etc/claude-code/managed-settings.json on Linux.
//
// Updates and telemetry are off. The proxy variables send every connection that is not to this
// machine to the model, which refuses it: what runs in this environment and keeps to them reaches no network.
func (m *Model) Env() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + m.home,
		"TMPDIR=" + m.temp,
		"LANG=C.UTF-8",
		"CLAUDE_CONFIG_DIR=" + m.config,
		"ANTHROPIC_BASE_URL=" + m.url,
		"ANTHROPIC_API_KEY=clewtest",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
		"HTTP_PROXY=" + m.url,
		"HTTPS_PROXY=" + m.url,
		"NO_PROXY=" + noProxy,
	}
	if runtime.GOOS == "windows" {
		return append(env, m.windowsEnv()...)
	}
	// Some programs know the proxy variables by their lower-case names only.
	env = append(env, "http_proxy="+m.url, "https_proxy="+m.url, "no_proxy="+noProxy)
	if os.Geteuid() == 0 {
		// Without it, the agent refuses to skip permissions as root.
		env = append(env, "IS_SANDBOX=1")
	}
	return env
}

// windowsEnv returns what programs need on Windows besides.
func (m *Model) windowsEnv() []string {
	env := []string{
		"USERPROFILE=" + m.home,
		"APPDATA=" + filepath.Join(m.home, "AppData", "Roaming"),
		"LOCALAPPDATA=" + filepath.Join(m.home, "AppData", "Local"),
		"TMP=" + m.temp,
		"TEMP=" + m.temp,
	}
	for _, name := range []string{"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Home returns the HOME folder of [Model.Env]. It is removed when the test ends.
func (m *Model) Home() string { return m.home }

// ConfigDir returns the CLAUDE_CONFIG_DIR folder of [Model.Env]: the agent's settings, and in its subfolder projects
// the transcripts. It is removed when the test ends.
func (m *Model) ConfigDir() string { return m.config }

// makeFolders makes the folders of the environment below root.
func (m *Model) makeFolders(root string) error {
	m.home, m.config, m.temp = filepath.Join(root, "home"), filepath.Join(root, "config"), filepath.Join(root, "tmp")
	for _, dir := range []string{m.home, m.config, m.temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}
