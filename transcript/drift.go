package transcript

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/wire"
)

// An Unknown is something in an entry that this package does not know.
type Unknown struct {
	Kind UnknownKind `json:"kind"`
	Name string      `json:"name"`
}

// An UnknownKind says what kind of thing is unknown.
type UnknownKind string

// The kinds of unknown things: types of entries, subtypes of system entries, types of attachments, of the data of
// progress entries and of blocks, and members of entries of the conversation's tree.
const (
	UnknownEntry      UnknownKind = "entry"
	UnknownSystem     UnknownKind = "system"
	UnknownAttachment UnknownKind = "attachment"
	UnknownProgress   UnknownKind = "progress"
	UnknownBlock      UnknownKind = "block"
	UnknownField      UnknownKind = "field"
)

// Drift counts what this package does not know, by version of the agent: how far the agent's format has moved away from
// it. The zero value is ready. A copy shares its counts. Drift is for one goroutine at a time.
type Drift struct {
	found   map[driftKey]*Finding
	version string // of the last entry that has one
}

// A Finding is something unknown that entries of one version have.
type Finding struct {
	// Version is that of the agent, or "" if no entry had told it yet.
	Version string `json:"version"`
	Unknown
	Count int `json:"count"`
	// First is where it was met first.
	First wire.Position `json:"first"`
}

type driftKey struct {
	version string
	Unknown
}

const (
	// maxFindings bounds the memory for a file, or a line, that is no transcript's. Of a file, what does not fit is counted
	// as otherNames.
	maxFindings = 1000
	maxNameLen  = 100
	otherNames  = "*"
)

// Findings returns what was found, by version, kind and name. Beyond 1,000 of them, the rest is counted under the name
// "*" of each kind. Long names are cut.
func (d *Drift) Findings() []Finding {
	all := make([]Finding, 0, len(d.found))
	for _, f := range d.found {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(compareVersions(a.Version, b.Version), strings.Compare(string(a.Kind), string(b.Kind)),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
	})
	return all
}

// Merge adds what other has found, in another transcript. Where both have found the same, First is that of d.
func (d *Drift) Merge(other Drift) {
	for _, f := range other.Findings() {
		d.count(f)
	}
}

// Equal reports whether both have found the same.
func (d Drift) Equal(other Drift) bool {
	return maps.EqualFunc(d.found, other.found, func(a, b *Finding) bool { return *a == *b })
}

// MarshalJSON writes the findings as a list.
func (d Drift) MarshalJSON() ([]byte, error) { return json.Marshal(d.Findings()) }

// note counts what is unknown of an entry. Entries that have no version belong to that of the one before.
func (d *Drift) note(e *Entry) {
	if e.Version != "" {
		d.version = cutName(e.Version)
	}
	for _, u := range e.Unknown {
		u.Name = cutName(u.Name)
		d.count(Finding{Version: d.version, Unknown: u, Count: 1, First: e.Position})
	}
}

func (d *Drift) count(f Finding) {
	key := driftKey{f.Version, f.Unknown}
	if d.found[key] == nil && len(d.found) >= maxFindings {
		f.Version, f.Name = "", otherNames
		key = driftKey{f.Version, f.Unknown}
	}
	if known := d.found[key]; known != nil {
		known.Count += f.Count
		return
	}
	if d.found == nil {
		d.found = map[driftKey]*Finding{}
	}
	d.found[key] = &f
}

// cutName returns a name that shares no memory with a longer one.
func cutName(name string) string {
	if len(name) <= maxNameLen {
		return name
	}
	end := maxNameLen
	for end > maxNameLen-utf8.UTFMax && !utf8.RuneStart(name[end]) {
		end--
	}
	return strings.Clone(name[:end]) + "…"
}

// compareVersions compares by the numbers in them: 2.1.9 comes before 2.1.10.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if order := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); order != 0 {
			return order
		}
	}
	return strings.Compare(a, b)
}
