package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/config"
	"github.com/clewdev/clew/sessions"
)

// checkSettings tells of the settings of clew.
func checkSettings(c *config.Config) []diagnosis {
	var all []diagnosis
	for _, p := range c.Problems {
		all = append(all, diagnosis{State: unhealthy, Found: p.Error(), Advice: p.Hint})
	}
	if len(all) > 0 {
		return all
	}
	found := "no clew.yaml; \"clew config init --user\" writes one"
	if c.File != "" {
		found = fmt.Sprintf("%s is right", c.File)
	}
	all = append(all, diagnosis{State: healthy, Found: found})
	if len(c.PassedOver) > 0 {
		all = append(all, diagnosis{
			State:  noted,
			Found:  strings.Join(c.PassedOver, " and ") + " not read, since " + c.File + " comes first",
			Advice: "Name the file that you want with --config, or put all settings into one.",
		})
	}
	return append(all, strangeVariables(os.Environ())...)
}

// strangeVariables tells of variables that look like settings and are none.
func strangeVariables(environ []string) []diagnosis {
	strangers := config.Strangers(environ)
	var all []diagnosis
	for _, name := range slices.Sorted(maps.Keys(strangers)) {
		d := diagnosis{State: noted, Found: name + " is set, and no variable of clew", Advice: "Unset it."}
		if near := strangers[name]; near != "" {
			d.Advice = "Did you mean " + near + "?"
		}
		all = append(all, d)
	}
	return all
}

// The agentSettings are what of a file of settings of the agent is looked at.
type agentSettings struct {
	CleanupDays *float64 `json:"cleanupPeriodDays"`
	KeyHelper   string   `json:"apiKeyHelper"`
}

// maxAgentSettings is how long such a file may be.
const maxAgentSettings = 16 << 20

func readAgentSettings(path string) (agentSettings, error) {
	var s agentSettings
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if !info.Mode().IsRegular() {
		return s, errors.New("it is not a file")
	}
	data, err := readAtMost(path, maxAgentSettings)
	if err != nil {
		return s, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &object); err != nil {
		return s, jsonFault(data, err)
	}
	// A member of another type is as if it were not there.
	_ = json.Unmarshal(object["cleanupPeriodDays"], &s.CleanupDays)
	_ = json.Unmarshal(object["apiKeyHelper"], &s.KeyHelper)
	return s, nil
}

// jsonFault says in which line a file is no JSON. It quotes nothing: there are secrets in settings.
func jsonFault(data []byte, err error) error {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return errors.New("it is not a JSON object")
	}
	before := data[:min(max(int(syntax.Offset), 0), len(data))]
	return fmt.Errorf("it is not JSON: there is a mistake in line %d", 1+strings.Count(string(before), "\n"))
}

// agentSettingsFiles are those that an agent reads in this folder, the one that counts least first.
func agentSettingsFiles() []string {
	var files []string
	if roots, err := sessions.Roots(); err == nil {
		for _, root := range roots {
			files = append(files, filepath.Join(root, "settings.json"))
		}
	}
	return append(files, filepath.Join(".claude", "settings.json"), filepath.Join(".claude", "settings.local.json"))
}

// checkAgentSettings looks whether the agent can read its settings.
func checkAgentSettings() []diagnosis {
	var all []diagnosis
	var right []string
	for _, path := range agentSettingsFiles() {
		_, err := readAgentSettings(path)
		switch {
		case err == nil:
			right = append(right, path)
		case !errors.Is(err, fs.ErrNotExist):
			all = append(all, diagnosis{
				State: worrying, Found: fmt.Sprintf("%s: %v", path, cause(err)),
				Advice: "Correct it: the agent does without it, or refuses to start.",
			})
		}
	}
	if len(all) > 0 {
		return all
	}
	if len(right) == 0 {
		return []diagnosis{{State: healthy, Found: "none"}}
	}
	return []diagnosis{{State: healthy, Found: strings.Join(right, ", ")}}
}
