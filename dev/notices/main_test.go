package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The file has a section for each module that the program links, of that version, with a license.
func TestNoticesAreCurrent(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../" + output)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := linked(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Go standard library"}
	for _, m := range modules {
		want = append(want, m.String())
	}
	parts := strings.Split(string(text), "\n"+line+"\n")
	var got []string
	for i := 1; i+1 < len(parts); i += 2 {
		got = append(got, parts[i])
		if len(parts[i+1]) < 500 {
			t.Errorf("%s has no license", parts[i])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run make notices (-linked +listed):\n%s", diff)
	}
	if len(modules) < 10 {
		t.Errorf("only %d modules are linked", len(modules))
	}
}
