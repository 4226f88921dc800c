// Command bench measures everything that needs no other program. It has nine parts, of which -only
// names one.
//
// The part "stream" compares decoding a stream with package wire to the usual alternatives:
// encoding/json into structs or a map, and json.Valid as the floor for reading at all.
// Everything runs in one process on one processor. A round takes one slice of the stream and gives
// it to every contestant, in random order and with a fresh heap. The ratios are medians over the
// rounds of the ratio inside a round, so that noise from the rest of the machine hits both sides.
//
// The part "transcripts" makes a projects directory and measures totals, lists and reading over it,
// each in a separate process, so that the peak of its memory is known, and on all processors.
//
// The part "program" builds clew and measures how long its users wait: for its start, for a list,
// for the start of a long session, for a search.
//
// The part "viewer" runs clew at a terminal, presses its keys, and measures the time to draw their frames and
// the cost of the viewer. It runs on Linux.
//
// The part "web" runs clew serve and sends it the requests of its pages. It runs on Linux.
//
// The part "pages" runs clew serve as well, and looks at its pages in Chromium. It runs on Linux, and only
// if it is named.
//
// The part "statusline" builds clew and measures the cost of its status line.
//
// The part "recall" runs clew mcp and sends it an agent's requests. It runs on Linux.
//
// The part "fleet" runs servers, workers and simulated agents of a fleet. It runs on Linux.
//
// The report is Markdown, ready for docs/benchmarks.md; -json prints the same as one object.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/internal/corpus"
)

type options struct {
	only   string
	rounds int
	size   int
	seed   uint64
	json   bool

	transcriptRounds int
	projectsSize     int
	crowd            int
	hugeSize         int

	child child
}

// The parts of the benchmark.
const (
	streamPart      = "stream"
	transcriptsPart = "transcripts"
	programPart     = "program"
	viewerPart      = "viewer"
	webPart         = "web"
	pagesPart       = "pages"
	statuslinePart  = "statusline"
	recallPart      = "recall"
	fleetPart       = "fleet"
)

func parts() []string {
	return []string{streamPart, transcriptsPart, programPart, viewerPart, webPart, pagesPart, statuslinePart, recallPart, fleetPart}
}

func (o options) wants(part string) bool { return o.only == "" || o.only == part }

func main() {
	if os.Getenv(fleetAgentVariable) != "" {
		if err := playFleetAgent(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.StringVar(&o.only, "only", "", "the one part to measure: "+strings.Join(parts(), ", "))
	flag.IntVar(&o.transcriptRounds, "transcript-rounds", 5, "how often to do each work over transcripts, and each use of the program")
	flag.IntVar(&o.projectsSize, "projects", corpus.ProjectsSize, "bytes of the generated transcripts")
	flag.IntVar(&o.crowd, "crowd", 10_000, "how many sessions to list")
	flag.IntVar(&o.hugeSize, "huge", hugeTranscript, "bytes of the one huge transcript")
	flag.StringVar(&o.child.job, "child", "", "the job of a process that this program starts")
	flag.StringVar(&o.child.path, "path", "", "what the job is about")
	flag.IntVar(&o.rounds, "rounds", 48, "slices to measure, each with every contestant")
	flag.IntVar(&o.size, "size", corpus.DefaultSize, "bytes of the generated stream")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the generated stream")
	flag.BoolVar(&o.json, "json", false, "print one JSON object instead of Markdown")
	flag.Parse()
	o.child.args = flag.Args()
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, o options) error {
	if o.child.job != "" {
		return runChild(w, o.child)
	}
	if min(o.rounds, o.size, o.transcriptRounds, o.projectsSize, o.hugeSize, o.crowd) < 1 {
		return fmt.Errorf("rounds and sizes must be positive")
	}
	if o.only != "" && !slices.Contains(parts(), o.only) {
		return fmt.Errorf("-only: there is no part %q", o.only)
	}
	rep, err := measureAll(context.Background(), o)
	if err != nil {
		return err
	}
	return benchreport.Write(w, rep, o.json)
}

func measureAll(ctx context.Context, o options) (*report, error) {
	rep := newReport(o)
	if o.wants(streamPart) {
		if err := rep.measureStream(o); err != nil {
			return nil, err
		}
	}
	if o.wants(transcriptsPart) {
		var err error
		if rep.Transcripts, err = measureTranscripts(ctx, o); err != nil {
			return nil, err
		}
		rep.judgeTranscripts()
	}
	if o.wants(programPart) {
		var err error
		if rep.Program, err = measureProgram(ctx, o); err != nil {
			return nil, err
		}
		rep.judgeProgram()
	}
	if o.wants(viewerPart) {
		var err error
		if rep.Viewer, err = measureViewer(ctx, o); err != nil {
			return nil, err
		}
		rep.judgeFeelings(rep.Viewer)
	}
	if o.wants(webPart) {
		var err error
		if rep.Web, err = measureWeb(ctx, o); err != nil {
			return nil, err
		}
		rep.judgeFeelings(rep.Web)
	}
	if o.only == pagesPart { // there may be no browser
		var err error
		if rep.Pages, err = measurePages(ctx, o); err != nil {
			return nil, err
		}
		rep.judgeFeelings(rep.Pages)
	}
	if o.wants(statuslinePart) {
		var err error
		if rep.Statusline, err = measureStatusline(ctx, o); err != nil {
			return nil, err
		}
		rep.judgeStatusline()
	}
	if o.wants(recallPart) {
		var err error
		if rep.Recall, err = measureRecall(ctx, o); err != nil {
			return nil, err
		}
		rep.judgeFeelings(rep.Recall)
	}
	if o.wants(fleetPart) {
		var err error
		if rep.Fleet, err = measureFleet(ctx); err != nil {
			return nil, err
		}
		rep.judgeFleet()
	}
	return rep, nil
}

// measureStream fills in the part about streams.
func (r *report) measureStream(o options) error {
	runtime.GOMAXPROCS(1)
	parts, err := newSlices(o.seed, o.size)
	if err != nil {
		return err
	}
	if err := checkWire(parts); err != nil {
		return err
	}
	s, err := measureRounds(parts, o.rounds)
	if err != nil {
		return err
	}
	r.stream(o, parts, s)
	if r.Huge, err = measureHuge(o.seed); err != nil {
		return err
	}
	r.judge()
	return nil
}

// judge fills in the goals from the figures.
func (r *report) judge() {
	r.speedGoals("wire, raw kept", r.Rows[wireRaw], [4]float64{7, 5, 1.8, 5.5})
	r.speedGoals("wire, raw off", r.Rows[wireBare], [4]float64{8, 6, 2, 4.5})
	r.Goals.AtMost("framing adds", 10, "%", r.Framing)
	r.Goals.AtMost("10 MB, decoded", 15, "ms", milliseconds(r.Huge[tenDecoded].Best))
	r.Goals.AtMost("10 MB in 4 KB pieces, against 1 MB", 12, "×", r.hugeRatio(tenPieces, megabytePieces))
	r.Goals.AtMost("10 MB in 4 KB pieces", 40, "ms", milliseconds(r.Huge[tenPieces].Best))
	r.Goals.AtMost("10 MB in 4 KB pieces, against one piece", 2, "×", r.hugeRatio(tenPieces, tenWhole))
	r.Goals.AtMost("10 MB wrapped into 250,000 lines, against one line", 2, "×", r.hugeRatio(tenWrapped, tenWhole))
	r.Goals.AtMost("10 MB wrapped into 250,000 lines, 4 KB pieces, against one line", 2, "×", r.hugeRatio(tenWrappedPieces, tenWhole))
	r.Goals.AtMost("10 MB list over 230,000 lines, against one line", 2, "×", r.hugeRatio(listingLines, listingWhole))
}

// speedGoals takes the bounds on the ratios to structs, map and json.Valid, and on allocations per
// frame.
func (r *report) speedGoals(name string, got row, bounds [4]float64) {
	r.Goals.AtLeast(name+", against structs", bounds[0], "×", got.TimesStructs)
	r.Goals.AtLeast(name+", against map[string]any", bounds[1], "×", got.TimesMap)
	r.Goals.AtLeast(name+", against json.Valid", bounds[2], "×", got.TimesValid)
	r.Goals.AtMost(name+", allocations per frame", bounds[3], "", got.AllocsPer)
}

// hugeRatio returns the time of a case as a multiple of the time of base.
func (r *report) hugeRatio(slow, base int) float64 {
	return float64(r.Huge[slow].Best) / float64(r.Huge[base].Best)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
