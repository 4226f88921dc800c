package clikit

import (
	"runtime"
	"testing"
)

// The first of the flag, the setting and the variables that is set decides about color, whatever
// the later ones are.
func TestDecideColor(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	unnamed := &no // a terminal without a name can't do anything, except on Windows, where none has one
	if runtime.GOOS == "windows" {
		unnamed = nil
	}
	steps := []struct {
		name   string
		values map[string]*bool // nil: the next one decides
	}{
		{"--color", map[string]*bool{"always": &yes, "never": &no, "auto": nil, "": nil}},
		{"CLEW_COLOR", map[string]*bool{"always": &yes, "never": &no, "auto": nil, "": nil}},
		{"NO_COLOR", map[string]*bool{"1": &no, "0": &no, "": nil}},
		{"CLICOLOR_FORCE", map[string]*bool{"1": &yes, "0": nil, "": nil}},
		{"FORCE_COLOR", map[string]*bool{"3": &yes, "0": nil, "": nil}},
		{"CLICOLOR", map[string]*bool{"0": &no, "1": nil, "": nil}},
		{"TERM", map[string]*bool{"dumb": &no, "xterm": nil, "": unnamed}},
		{"a terminal", map[string]*bool{"yes": &yes, "": &no}},
	}
	given := map[string]string{}
	tried := 0
	var try func(step int, want *bool)
	try = func(step int, want *bool) {
		if step == len(steps) {
			tried++
			flag := ColorFlag(given["--color"])
			if flag == "auto" && given["CLEW_COLOR"] != "" {
				return // the flag replaces the setting, see below
			}
			got, _ := DecideColor(flag, func(name string) string { return given[name] }, given["a terminal"] != "")
			if got != *want {
				t.Errorf("%v: color is %v", given, got)
			}
			return
		}
		for value, decision := range steps[step].values {
			given[steps[step].name] = value
			if want != nil {
				decision = want
			}
			try(step+1, decision)
		}
	}
	try(0, nil)
	if tried != 4*4*3*3*3*3*3*2 {
		t.Errorf("%d combinations", tried)
	}
	setting := func(name string) string { return map[string]string{"CLEW_COLOR": "always"}[name] }
	if got, by := DecideColor("auto", setting, false); got || by != "" {
		t.Errorf("--color auto and CLEW_COLOR=always: color is %v, from %q", got, by)
	}
}
