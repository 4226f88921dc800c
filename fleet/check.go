package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The functions of this file have the rules for what engines are given, so that all refuse the same. Engines add their
// name to the errors.

const (
	// MaxRecord is the maximum size of a record's data, in bytes.
	MaxRecord = 256 << 10

	maxLabel   = 2 << 10 // bytes
	maxKeyName = 512     // of keys, names of files and subjects, in bytes
	maxSet     = 1000    // records of one call
)

// CheckTable returns an error unless there is a table.
func CheckTable(t Table) error {
	if !slices.Contains(Tables, t) {
		return fmt.Errorf("there is no table %q", t)
	}
	return nil
}

// CheckKey returns an error unless records can have a key.
func CheckKey(key string) error { return checkChars("key", key, "-_.") }

// CheckGroup returns an error unless records can have a group: see [Engine].
func CheckGroup(group string) error { return checkChars("group", group, "-_") }

// CheckFile returns an error unless files can have a name.
func CheckFile(name string) error { return checkChars("file name", name, "-_./") }

// CheckSubject returns an error unless messages can have a subject.
func CheckSubject(subject string) error { return checkChars("subject", subject, "-_./") }

func checkChars(what, s, others string) error {
	if s == "" || len(s) > maxKeyName {
		return fmt.Errorf("%s must be 1 to %d bytes, got %d", what, maxKeyName, len(s))
	}
	for _, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte(others, c) < 0 {
			return fmt.Errorf("%s %q must consist of letters, digits and %q", what, s, others)
		}
	}
	return nil
}

// CheckRecords returns an error unless one call can set these records.
func CheckRecords(records []Record) error {
	if len(records) > maxSet {
		return fmt.Errorf("%d records at a time are too many; at most %d are allowed", len(records), maxSet)
	}
	keys := make(map[string]bool, len(records))
	for _, r := range records {
		if err := CheckKey(r.Key); err != nil {
			return err
		}
		if keys[r.Key] {
			return fmt.Errorf("record %s is there twice", r.Key)
		}
		keys[r.Key] = true
		if len(r.Data) > MaxRecord {
			return fmt.Errorf("record %s has %d bytes; at most %d are allowed", r.Key, len(r.Data), MaxRecord)
		}
		if err := checkLabel(r.Label); err != nil {
			return fmt.Errorf("record %s: %w", r.Key, err)
		}
	}
	return nil
}

func checkLabel(label string) error {
	if len(label) > maxLabel {
		return fmt.Errorf("a label of %d bytes is too long; at most %d are allowed", len(label), maxLabel)
	}
	for _, c := range []byte(label) {
		if c < ' ' || c > '~' {
			return errors.New("a label consists of ASCII without control characters")
		}
	}
	return nil
}
