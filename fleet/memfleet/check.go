package memfleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew/fleet"
)

// An engine in memory could keep anything. It refuses what other engines can't keep, so that a test finds it.

func checkTable(t fleet.Table) error {
	if !slices.Contains(fleet.Tables, t) {
		return fmt.Errorf("memfleet: there is no table %q", t)
	}
	return nil
}

func checkKey(key string) error {
	if key == "" || strings.ContainsFunc(key, isOdd) {
		return fmt.Errorf("memfleet: %q can't be a key: letters, digits, dots, - and _ are possible", key)
	}
	return nil
}

func checkGroup(group string) error {
	if strings.Contains(group, ".") {
		return fmt.Errorf("memfleet: %q can't be a group: it has a dot", group)
	}
	return checkKey(group)
}

func checkFile(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r != '/' && isOdd(r) }) {
		return fmt.Errorf("memfleet: %q can't be the name of a file: letters, digits, dots, -, _ and / are possible", name)
	}
	return nil
}

func isOdd(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
}

func checkRecords(records []fleet.Record) error {
	seen := map[string]bool{}
	for _, r := range records {
		if err := checkKey(r.Key); err != nil {
			return err
		}
		switch {
		case seen[r.Key]:
			return fmt.Errorf("memfleet: %s is there twice in one call", r.Key)
		case len(r.Label) > maxLabel:
			return fmt.Errorf("memfleet: the label of %s has %d bytes; %d are possible", r.Key, len(r.Label), maxLabel)
		case strings.ContainsFunc(r.Label, func(c rune) bool { return c < ' ' || c > '~' }):
			return fmt.Errorf("memfleet: the label of %s is not ASCII without control characters: %q", r.Key, r.Label)
		case len(r.Data) > fleet.MaxRecord:
			return fmt.Errorf("memfleet: %s has %d bytes; %d are possible", r.Key, len(r.Data), fleet.MaxRecord)
		}
		seen[r.Key] = true
	}
	return nil
}
