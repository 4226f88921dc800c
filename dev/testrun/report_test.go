package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const module1 = `"Package":"github.com/clewdev/clew/wire"`

func TestReport(t *testing.T) {
	t.Parallel()
	r := newReport()
	var failed []string
	err := r.read(strings.NewReader(strings.Join([]string{
		`{"Action":"run",` + module1 + `,"Test":"TestA"}`,
		`{"Action":"output",` + module1 + `,"Test":"TestA","Output":"    a_test.go:1: noise\n"}`,
		`{"Action":"pass",` + module1 + `,"Test":"TestA","Elapsed":1}`,
		`{"Action":"output",` + module1 + `,"Test":"TestB","Output":"    b_test.go:3: no links here\n"}`,
		`{"Action":"output",` + module1 + `,"Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}`,
		`{"Action":"skip",` + module1 + `,"Test":"TestB","Elapsed":0}`,
		`{"Action":"output",` + module1 + `,"Test":"TestC","Output":"    c_test.go:3: 1 is not 2\n"}`,
		`{"Action":"fail",` + module1 + `,"Test":"TestC","Elapsed":0}`,
		`{"Action":"fail",` + module1 + `,"Elapsed":3}`,
		`{"ImportPath":"x [x.test]","Action":"build-output","Output":"x.go:1: undefined: y\n"}`,
		`{"ImportPath":"x [x.test]","Action":"build-fail"}`,
		`{"Action":"fail","Package":"github.com/clewdev/clew","Elapsed":0,"FailedBuild":"x [x.test]"}`,
		`not JSON`,
	}, "\n")), func(name string) { failed = append(failed, name) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"wire TestC", "wire", "clew"}, failed); diff != "" {
		t.Errorf("failed at once (-want +got):\n%s", diff)
	}
	want := `
2 packages in 1m30s, 2s of processor time; the slowest: wire 3.0 s, clew 0.0 s
skipped, no links here: wire TestB

FAIL wire TestC
    c_test.go:3: 1 is not 2

FAIL wire

FAIL clew
x.go:1: undefined: y
tests: 1 passed, 1 failed, 1 skipped
`
	if diff := cmp.Diff(want, r.text(90*time.Second, 2*time.Second)); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if !r.failed() {
		t.Error("nothing failed")
	}
}

// Each package is tested by "make test", or by "make test-rest" alone.
func TestPackages(t *testing.T) {
	t.Parallel()
	all, err := list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	later, others := all.late()
	if got := slices.Sorted(slices.Values(slices.Concat(others, later))); !slices.Equal(got, slices.Sorted(slices.Values(all))) {
		t.Errorf("make test and make test-rest have %v", got)
	}
	for _, dirs := range [][]string{first, still, long} {
		for _, d := range dirs {
			if !slices.ContainsFunc(all, func(importPath string) bool { return dir(importPath) == d }) {
				t.Errorf("%q is no package with tests", d)
			}
		}
	}
	plain, racedLater := all.rest()
	for _, importPath := range others {
		d := dir(importPath)
		if want := !within(still, d); slices.Contains(racedLater, importPath) != want {
			t.Errorf("make test-rest tests %q with the race detector: %t", d, !want)
		}
		if slices.Contains(long, d) != slices.Contains(plain, importPath) {
			t.Errorf("make test-rest tests %q without the race detector: %t", d, !slices.Contains(long, d))
		}
	}
}
