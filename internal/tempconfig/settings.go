package tempconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/internal/files"
)

// A Source holds the locations of the agent's settings.
type Source struct {
	// Dir is the directory of the settings.
	Dir string
	// HomeDir is the directory that has .claude.json: Dir if an environment variable names that,
	// otherwise the user's home directory.
	HomeDir string
	// Credentials returns credentials that are not kept in Dir, or nil if there are none. It may be
	// nil.
	Credentials func(ctx context.Context) []byte
}

// maxSettings is more than a file of settings has.
const maxSettings = 64 << 20

// CopySettings copies the settings that the agent needs. It leaves out refresh tokens: each can be
// used only once, so using one here would invalidate it for the user's other agents. It also leaves
// out plugins, which are in the directory itself. Files that are missing, not regular or not
// readable are skipped, and so are credentials and settings that are not JSON objects.
func (f *Folder) CopySettings(ctx context.Context, from Source) error {
	kept := []struct {
		dir, name string
		change    func(map[string]any)
	}{
		{from.HomeDir, ".claude.json", nil},
		{from.Dir, ".config.json", nil},
		{from.Dir, ".credentials.json", removeRefreshTokens},
		{from.Dir, "settings.json", removePlugins},
		{from.Dir, "cowork_settings.json", removePlugins},
	}
	for _, file := range kept {
		content, _ := files.ReadSmall(filepath.Join(file.dir, file.name), maxSettings) // nil with an error
		if file.name == ".credentials.json" && from.Credentials != nil {
			if current := from.Credentials(ctx); len(current) > 0 {
				content = current
			}
		}
		if file.change != nil {
			content = changed(content, file.change)
		}
		if content == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(f.path, file.name), content, fileMode); err != nil {
			return fmt.Errorf("tempconfig: %w", err)
		}
	}
	return nil
}

// WriteFlagSettings writes settings that are given to the agent by a flag, and returns the path of
// their file. The agent does not read that file unless the flag names it.
func (f *Folder) WriteFlagSettings(content []byte) (path string, err error) {
	path = filepath.Join(f.path, "flag-settings.json")
	if err := os.WriteFile(path, content, fileMode); err != nil {
		return "", fmt.Errorf("tempconfig: %w", err)
	}
	return path, nil
}

// changed returns a JSON object after a change, or nil if the text is not an object.
func changed(content []byte, change func(map[string]any)) []byte {
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil || object == nil || decoder.More() {
		return nil
	}
	change(object)
	text, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	return text
}

// removeRefreshTokens removes the refresh tokens of the agent and of its MCP servers, at any depth.
func removeRefreshTokens(object map[string]any) {
	for name, value := range object {
		if strings.EqualFold(strings.ReplaceAll(name, "_", ""), "refreshToken") {
			delete(object, name)
			continue
		}
		walkObjects(value, removeRefreshTokens)
	}
}

// walkObjects calls visit for an object, or for each object in a list.
func walkObjects(value any, visit func(map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		visit(v)
	case []any:
		for _, element := range v {
			walkObjects(element, visit)
		}
	}
}

// removePlugins removes settings that would make the agent look for plugins in the directory, or
// for its settings elsewhere.
func removePlugins(settings map[string]any) {
	for _, name := range []string{"enabledPlugins", "extraKnownMarketplaces", "additionalMarketplaces"} {
		delete(settings, name)
	}
	if env, ok := settings["env"].(map[string]any); ok {
		delete(env, "CLAUDE_CONFIG_DIR")
	}
}
