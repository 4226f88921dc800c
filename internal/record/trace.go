package record

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// Traces returns what a redacted text still tells of the machine and of the run: nothing, if all is well.
func (r *Redactor) Traces(text string) []string {
	found := traces(text, machineNames())
	for _, pair := range r.Replace {
		if pair[0] != "" && strings.Contains(text, pair[0]) {
			found = append(found, pair[0])
		}
	}
	return found
}

// machineNames returns the folders of this machine, its name and the user's, without those that say nothing.
func machineNames() []string {
	names := []string{os.TempDir(), os.Getenv("USER")}
	if home, err := os.UserHomeDir(); err == nil {
		names = append(names, home)
	}
	if host, err := os.Hostname(); err == nil {
		names = append(names, host)
	}
	common := append(strings.Split(placeWork, "/"), placeHome, "localhost", "root", "/")
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(common, name) })
}

// traces returns which of the names stand in text, as words of their own: a path behind another path is not one, and
// neither is a part of an encoded picture.
func traces(text string, names []string) []string {
	var found []string
	for _, name := range names {
		word := regexp.MustCompile(`(^|[^\w./+=-])` + regexp.QuoteMeta(name) + `($|[^\w+=-])`)
		if word.MatchString(text) {
			found = append(found, name)
		}
	}
	return found
}
