package config

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Merge determines the effect of a project's file on a value that the user's or the machine's
// file set. It can only restrict more.
type Merge int

// The ways to merge.
const (
	// Replaces means that the value of the project is used.
	Replaces Merge = iota
	// Lowers means that the smaller limit is used. 0 means no limit.
	Lowers
	// Joins means that the lists are joined.
	Joins
	// Shrinks means that only elements in both lists are used.
	Shrinks
	// SwitchesOn means that the setting is on if either is.
	SwitchesOn
	// Tightens means that the stricter permission mode is used.
	Tightens
)

// An Ignored value is one in the file of a project that a stricter one overrides.
type Ignored struct {
	Value
	// For is the value that is used.
	For Value
}

// add adds a file's values to the values from earlier files. The project's file comes last.
func (c *Config) add(values map[string]Value, project bool) {
	for i := range table {
		s := &table[i]
		value, ok := values[s.Key]
		if !ok {
			continue
		}
		earlier, has := c.Values[s.Key]
		if !has || !project {
			c.Values[s.Key] = value
			continue
		}
		merged := merge(earlier, value)
		c.Values[s.Key] = merged
		unchanged := merged.Origin == earlier.Origin && len(merged.Others) == 0
		if unchanged && s.Merge != Joins && !slices.Equal(value.Texts, earlier.Texts) {
			c.Ignored = append(c.Ignored, Ignored{Value: value, For: merged})
		}
	}
}

// merge returns the value to use if a project has one as well.
func merge(own, project Value) Value {
	switch s := own.Setting; s.Merge {
	case Lowers:
		if s.limit(project.Texts[0]) < s.limit(own.Texts[0]) {
			return project
		}
	case Joins:
		if added := without(project.Texts, own.Texts); len(added) > 0 {
			return combined(own, project, slices.Concat(own.Texts, added))
		}
	case Shrinks:
		return shrunk(own, project)
	case SwitchesOn:
		if project.Data() == true && own.Data() == false {
			return project
		}
	case Tightens:
		if strictness(project.Texts[0]) > strictness(own.Texts[0]) {
			return project
		}
	default:
		return project
	}
	return own
}

// combined returns a value to which both files contributed.
func combined(own, project Value, texts []string) Value {
	return Value{Setting: own.Setting, Texts: texts, Origin: own.Origin, Others: []Origin{project.Origin}}
}

// everyTool stands for all tools in a tool list.
const everyTool = "default"

func shrunk(own, project Value) Value {
	switch {
	case slices.Contains(project.Texts, everyTool):
		return own
	case slices.Contains(own.Texts, everyTool):
		return project
	}
	removed := without(own.Texts, project.Texts)
	if len(removed) == 0 {
		return own
	}
	return combined(own, project, without(own.Texts, removed))
}

// without returns the texts of a list that are not in another one.
func without(texts, others []string) []string {
	rest := []string{}
	for _, text := range texts {
		if !slices.Contains(others, text) && !slices.Contains(rest, text) {
			rest = append(rest, text)
		}
	}
	return rest
}

// limit returns a limit as a number. No limit is the largest number.
func (s *Setting) limit(text string) float64 {
	var x float64
	if s.Kind == Duration {
		d, _ := time.ParseDuration(text) // the parser checked it
		x = d.Seconds()
	} else {
		x, _ = strconv.ParseFloat(text, 64)
	}
	if x == 0 {
		return maxLimit
	}
	return x
}

const maxLimit = 1e300

// strictness returns a number that is higher the less a permission mode lets the agent do without a
// question. Modes that can't be compared have the same number, and so does an unknown one.
func strictness(mode string) int {
	switch mode {
	case "bypassPermissions":
		return 0
	case "auto":
		return 1
	case "acceptEdits":
		return 2
	case "default":
		return 3
	}
	return 4 // plan, dontAsk
}

// Sources returns where the value comes from, as text for people.
func (v Value) Sources() string {
	texts := []string{v.Origin.String()}
	for _, other := range v.Others {
		texts = append(texts, other.String())
	}
	return strings.Join(texts, " and ")
}
