package record

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// newRedactor returns what takes the stage, and the texts of the scenario, out of a recording of it.
func newRedactor(stage *Stage, s *Scenario, rec *Recording) *Redactor {
	r := &Redactor{Own: ownTexts(s, rec)}
	model := stage.Model
	temp := variable(model.Env(), "TMPDIR")
	for _, place := range [][2]string{
		{stage.Work, placeWork},
		{model.ConfigDir(), placeConfig},
		{model.Home(), placeHome},
		{filepath.Join(temp, fmt.Sprintf("claude-%d", os.Getuid())), placeTemp},
		{temp, placeTemp},
		{strings.TrimPrefix(model.URL(), "http://"), placeModel},
	} {
		r.Replace = append(r.Replace, forms(place)...)
	}
	return r
}

// variable returns the value that a variable has in env, or "".
func variable(env []string, name string) string {
	for _, setting := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(setting, name+"="); ok {
			return value
		}
	}
	return ""
}

// forms returns a replacement of a path for each form in which the agent writes it: as it was given, without links, and
// as the name of a folder, with dashes.
func forms(place [2]string) [][2]string {
	list := [][2]string{place}
	if real, err := filepath.EvalSymlinks(place[0]); err == nil && real != place[0] {
		list = append(list, [2]string{real, place[1]})
	}
	for _, form := range list {
		if strings.HasPrefix(place[1], placeHome) {
			list = append(list, [2]string{folderName(form[0]), folderName(form[1])})
		}
	}
	return list
}

var notInName = regexp.MustCompile(`[^a-zA-Z0-9]`)

// folderName returns the name of the folder in which the agent keeps what belongs to a path.
func folderName(path string) string { return notInName.ReplaceAllLiteralString(path, "-") }

// ownTexts returns the strings of the host's frames, the scenario's Files and Own. Answers are left out if they give back
// what the agent said: they would make its texts the scenario's.
func ownTexts(s *Scenario, rec *Recording) []string {
	own := slices.Clone(s.Own)
	for _, content := range s.Files {
		own = append(own, content)
	}
	var said strings.Builder
	for _, line := range rec.Lines {
		if line.Direction == fromAgent {
			said.WriteString(line.Text)
		}
		if line.Direction == fromHost {
			editStrings(line.Text, func(raw string, _ bool) string {
				if len(raw) >= maxText/2 && !strings.Contains(said.String(), raw) {
					own = append(own, unescape(raw))
				}
				return raw
			})
		}
	}
	slices.SortFunc(own, func(a, b string) int { return len(b) - len(a) })
	return own
}
