package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
)

// A report is everything a run found out.
type report struct {
	benchreport.Machine
	Seed    uint64     `json:"seed"`
	Bytes   int        `json:"bytes,omitempty"`
	Frames  int        `json:"frames,omitempty"`
	Rounds  int        `json:"rounds,omitempty"`
	Rows    []row      `json:"contestants,omitempty"`
	Framing float64    `json:"framing_percent,omitempty"`
	Huge    []hugeCase `json:"huge,omitempty"`
	// Transcripts is the part about transcripts.
	Transcripts []work `json:"transcripts,omitempty"`
	// Program is the part about the program as its users meet it.
	Program []use `json:"program,omitempty"`
	// Viewer is the part about the viewer at a terminal.
	Viewer []*feeling `json:"viewer,omitempty"`
	// Web is the part about the web viewer.
	Web []*feeling `json:"web,omitempty"`
	// Pages is the part about the web viewer in a browser.
	Pages []*feeling `json:"pages,omitempty"`
	// Statusline is the part about the status line.
	Statusline []*feeling `json:"statusline,omitempty"`
	// Recall is the part about an agent's lookups.
	Recall []*feeling `json:"recall,omitempty"`
	// Fleet is the part about fleets.
	Fleet []fleetFigure     `json:"fleet,omitempty"`
	Goals benchreport.Goals `json:"goals"`
}

// A row is one contestant.
type row struct {
	Name         string  `json:"name"`
	BestMBps     float64 `json:"mb_per_s_best"`
	MedianMBps   float64 `json:"mb_per_s_median"`
	NsPerFrame   float64 `json:"ns_per_frame"` // from the medians
	AllocsPer    float64 `json:"allocs_per_frame"`
	BytesPer     float64 `json:"bytes_per_frame"`
	TimesStructs float64 `json:"times_structs"`
	TimesMap     float64 `json:"times_map"`
	TimesValid   float64 `json:"times_valid"`
}

func newReport(o options) *report {
	return &report{Machine: benchreport.ThisMachine(), Seed: o.seed}
}

// stream fills in the figures of the contestants.
func (r *report) stream(o options, parts []slice, s *series) {
	r.Rounds, r.Framing = o.rounds, 100*(s.ratio(wireReader, wireRaw)-1)
	for _, part := range parts {
		r.Bytes += len(part.data)
		r.Frames += part.frames()
	}
	for i, c := range contestants() {
		r.Rows = append(r.Rows, newRow(c.name, i, parts, s))
	}
}

func newRow(name string, i int, parts []slice, s *series) row {
	var bytes, frames, allFrames int
	for at := range min(len(parts), len(s.slices)) {
		bytes += len(parts[at].data)
		frames += parts[at].frames()
	}
	var allocs, allocated uint64
	for round, got := range s.samples[i] {
		allFrames += parts[s.slices[round]].frames()
		allocs += got.allocs
		allocated += got.bytes
	}
	middle := s.total(i, benchreport.Median)
	return row{
		Name:         name,
		BestMBps:     megabytesPerSecond(bytes, s.total(i, least)),
		MedianMBps:   megabytesPerSecond(bytes, middle),
		NsPerFrame:   float64(middle) / float64(frames),
		AllocsPer:    float64(allocs) / float64(allFrames),
		BytesPer:     float64(allocated) / float64(allFrames),
		TimesStructs: s.ratio(structs, i),
		TimesMap:     s.ratio(maps, i),
		TimesValid:   s.ratio(valid, i),
	}
}

func megabytesPerSecond(n int, d time.Duration) float64 { return float64(n) / 1e6 / d.Seconds() }

// WriteMarkdown writes the parts that were measured, and the goals.
func (r *report) WriteMarkdown(b *strings.Builder) {
	fmt.Fprintf(b, "%s, %s, seed %d.\n\n", r.Go, r.System, r.Seed)
	if r.Rows != nil {
		fmt.Fprintf(b, "One processor used. Stream: %.1f MB, %d frames. %d rounds.\n\n", float64(r.Bytes)/1e6, r.Frames,
			r.Rounds)
		r.writeContestants(b)
		r.writeHuge(b)
	}
	r.writeTranscripts(b)
	r.writeProgram(b)
	r.writeViewer(b)
	r.writeWeb(b)
	r.writePages(b)
	r.writeStatusline(b)
	r.writeRecall(b)
	r.writeFleet(b)
	r.Goals.Write(b)
}

func (r *report) writeContestants(b *strings.Builder) {
	const head = "| decoder | MB/s best | MB/s median | ns/frame | allocs/frame | B/frame | × structs | × map | × Valid |"
	benchreport.Table(b, head, r.Rows, func(c row) string {
		return fmt.Sprintf("| %s | %.0f | %.0f | %.0f | %.1f | %.0f | %.2f | %.2f | %.2f |", c.Name, c.BestMBps,
			c.MedianMBps, c.NsPerFrame, c.AllocsPer, c.BytesPer, c.TimesStructs, c.TimesMap, c.TimesValid)
	})
	fmt.Fprintf(b, "Framing adds %.1f %% to decoding (wire.Reader against lines already split, raw kept).\n\n", r.Framing)
}

func (r *report) writeHuge(b *strings.Builder) {
	benchreport.Table(b, "| one huge frame | bytes | pieces | ms, best |", r.Huge, func(c hugeCase) string {
		return fmt.Sprintf("| %s | %d | %d | %.1f |", c.Name, c.Bytes, c.Pieces, milliseconds(c.Best))
	})
}
