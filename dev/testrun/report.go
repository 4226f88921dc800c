package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An event is a line of "go test -json".
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// A key names a test, or a package if its test is "".
type key struct{ pkg, test string }

func (k key) String() string {
	name := dir(k.pkg)
	if name == "" {
		name = "clew"
	}
	return strings.TrimSpace(name + " " + k.test)
}

// A report is the outcome of tests.
type report struct {
	packages, passed, failedTests, skippedTests int

	output  map[key]*strings.Builder // of what runs or failed
	builds  map[string]*strings.Builder
	failing []key
	skipped map[string][]string // tests by reason
	times   map[key]float64
}

func newReport() *report {
	return &report{
		output: map[key]*strings.Builder{}, builds: map[string]*strings.Builder{},
		skipped: map[string][]string{}, times: map[key]float64{},
	}
}

// failed reports whether a test or a package failed.
func (r *report) failed() bool {
	return len(r.failing) > 0
}

// read reads the output of "go test -json", and calls onFail as soon as something failed.
func (r *report) read(in io.Reader, onFail func(name string)) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				e = event{Action: "output", Output: string(line)} // go test prints some errors as they are
			}
			if r.add(e) {
				onFail(key{e.Package, e.Test}.String())
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add adds an event. It reports whether a test or a package failed.
func (r *report) add(e event) (failed bool) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "output":
		write(r.output, k, e.Output)
	case "build-output":
		write(r.builds, e.ImportPath, e.Output)
	case "pass", "skip":
		r.end(k, e)
	case "fail":
		r.times[k] = e.Elapsed
		if e.FailedBuild != "" && r.builds[e.FailedBuild] != nil {
			write(r.output, k, r.builds[e.FailedBuild].String())
		}
		r.failing = append(r.failing, k)
		if e.Test != "" && !strings.Contains(e.Test, "/") {
			r.failedTests++
		}
		if e.Test == "" {
			r.packages++
		}
		return true
	}
	return false
}

// end adds a test or a package that passed or was skipped.
func (r *report) end(k key, e event) {
	switch {
	case k.test == "":
		r.packages++
		r.times[k] = e.Elapsed
	case e.Action == "skip":
		reason := skipReason(r.output[k])
		r.skipped[reason] = append(r.skipped[reason], k.String())
		if !strings.Contains(k.test, "/") {
			r.skippedTests++
		}
	case !strings.Contains(k.test, "/"):
		r.passed++
		r.times[k] = e.Elapsed
	}
	delete(r.output, k)
}

func write[K comparable](texts map[K]*strings.Builder, k K, text string) {
	if texts[k] == nil {
		texts[k] = &strings.Builder{}
	}
	texts[k].WriteString(text)
}

// logged matches a line that a test logged, such as its reason to be skipped.
var logged = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)$`)

// skipReason returns the last line that a skipped test logged.
func skipReason(output *strings.Builder) string {
	if output != nil {
		if lines := logged.FindAllStringSubmatch(output.String(), -1); len(lines) > 0 {
			return lines[len(lines)-1][1]
		}
	}
	return "no reason"
}

// slowest is the number of tests that the summary lists by time.
const slowest = 5

// text returns the summary, and then the output of failed tests.
func (r *report) text(took, cpu time.Duration) string {
	var b strings.Builder
	printf := func(format string, args ...any) { b.WriteString(fmt.Sprintf(format, args...)) }
	printf("\n%d packages in %s, %s of processor time", r.packages, took.Round(100*time.Millisecond), cpu.Round(100*time.Millisecond))
	if slow := r.slowest(); len(slow) > 0 {
		printf("; the slowest: %s", strings.Join(slow, ", "))
	}
	printf("\n")
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		printf("skipped, %s: %s\n", reason, counted(r.skipped[reason]))
	}
	for _, k := range r.failing {
		printf("\nFAIL %s\n", k)
		if text := r.output[k]; text != nil {
			b.WriteString(text.String())
		}
	}
	printf("tests: %d passed, %d failed, %d skipped\n", r.passed, r.failedTests, r.skippedTests)
	return b.String()
}

// counted returns the names of tests, each with the number of its subtests that are listed.
func counted(tests []string) string {
	numbers := map[string]int{}
	for _, name := range tests {
		pkg, test, _ := strings.Cut(name, " ")
		test, _, _ = strings.Cut(test, "/")
		numbers[pkg+" "+test]++
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		if n := numbers[name]; n > 1 {
			name += fmt.Sprintf(" (%d)", n)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// slowest returns the packages that took longest.
func (r *report) slowest() []string {
	var packages []key
	for k := range r.times {
		if k.test == "" {
			packages = append(packages, k)
		}
	}
	slices.SortFunc(packages, func(a, b key) int {
		if r.times[a] != r.times[b] {
			if r.times[a] > r.times[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a.pkg, b.pkg)
	})
	var names []string
	for _, k := range packages[:min(slowest, len(packages))] {
		names = append(names, fmt.Sprintf("%s %.1f s", k, r.times[k]))
	}
	return names
}
