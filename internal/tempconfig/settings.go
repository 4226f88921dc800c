package tempconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Source is where the agent would have had its settings from.
type Source struct {
	// Dir is the folder of its settings.
	Dir string
	// HomeDir is the folder that .claude.json lies in: Dir, if a variable names that, and else the user's home.
	HomeDir string
	// Credentials returns what is kept elsewhere than in Dir, or nothing. Nil means nowhere else.
	Credentials func(ctx context.Context) []byte
}

// CopySettings copies what the agent needs of its settings. It leaves out refresh tokens: they can be used only once,
// and whoever uses one takes it away from the others. It also leaves out plugins, which lie in the folder itself. What
// is missing, not a regular file or not readable is skipped, and so are credentials and settings that are not JSON
// objects.
func (f *Folder) CopySettings(ctx context.Context, from Source) error {
	files := []struct {
		dir, name string
		change    func(map[string]any)
	}{
		{from.HomeDir, ".claude.json", nil},
		{from.Dir, ".config.json", nil},
		{from.Dir, ".credentials.json", removeRefreshTokens},
		{from.Dir, "settings.json", removePlugins},
		{from.Dir, "cowork_settings.json", removePlugins},
	}
	for _, file := range files {
		content := readRegular(filepath.Join(file.dir, file.name))
		if file.name == ".credentials.json" && from.Credentials != nil {
			if kept := from.Credentials(ctx); len(kept) > 0 {
				content = kept
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

// readRegular returns the content of a file, or nil if there is none to read. It does not wait for a pipe.
func readRegular(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return content
}

// changed returns a JSON object after a change, or nil if it is none.
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

// removeRefreshTokens removes those of the agent itself and those of its MCP servers, wherever they are.
func removeRefreshTokens(object map[string]any) {
	for name, value := range object {
		if strings.EqualFold(strings.ReplaceAll(name, "_", ""), "refreshToken") {
			delete(object, name)
			continue
		}
		walkObjects(value, removeRefreshTokens)
	}
}

// walkObjects calls visit for an object, or for the objects in a list.
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

// removePlugins removes what would have the agent look for plugins in the folder, or for its settings elsewhere.
func removePlugins(settings map[string]any) {
	for _, name := range []string{"enabledPlugins", "extraKnownMarketplaces", "additionalMarketplaces"} {
		delete(settings, name)
	}
	if env, ok := settings["env"].(map[string]any); ok {
		delete(env, "CLAUDE_CONFIG_DIR")
	}
}
