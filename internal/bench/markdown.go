package main

import (
	"fmt"
	"io"
	"strings"
)

func (r *report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, seed %d.\n\n", r.Go, r.System, r.Seed)
	if r.Rows != nil {
		fmt.Fprintf(&b, "One processor used. Stream: %.1f MB, %d frames. %d rounds.\n\n", float64(r.Bytes)/1e6, r.Frames,
			r.Rounds)
		r.writeContestants(&b)
		r.writeHuge(&b)
	}
	if r.Transcripts != nil {
		r.writeTranscripts(&b)
	}
	if r.Program != nil {
		r.writeProgram(&b)
	}
	r.writeGoals(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *report) writeContestants(b *strings.Builder) {
	b.WriteString("| decoder | MB/s best | MB/s median | ns/frame | allocs/frame | B/frame | × structs | × map | × Valid |\n")
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range r.Rows {
		fmt.Fprintf(b, "| %s | %.0f | %.0f | %.0f | %.1f | %.0f | %.2f | %.2f | %.2f |\n", c.Name, c.BestMBps,
			c.MedianMBps, c.NsPerFrame, c.AllocsPer, c.BytesPer, c.TimesStructs, c.TimesMap, c.TimesValid)
	}
	fmt.Fprintf(b, "\nFraming adds %.1f %% to decoding (wire.Reader against lines already split, raw kept).\n\n",
		r.Framing)
}

func (r *report) writeHuge(b *strings.Builder) {
	b.WriteString("| one huge frame | bytes | pieces | ms, best |\n|---|--:|--:|--:|\n")
	for _, c := range r.Huge {
		fmt.Fprintf(b, "| %s | %d | %d | %.1f |\n", c.Name, c.Bytes, c.Pieces, milliseconds(c.Best))
	}
	b.WriteByte('\n')
}

func (r *report) writeGoals(b *strings.Builder) {
	b.WriteString("| goal | bound | measured | reached |\n|---|--:|--:|---|\n")
	for _, g := range r.Goals {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", g.Name, g.bound(), g.figure(g.Measured, 2), yesNo(g.Reached))
	}
}

func (g goal) bound() string {
	if g.AtMost {
		return "≤ " + g.figure(g.Bound, -1)
	}
	return "≥ " + g.figure(g.Bound, -1)
}

// figure writes a value with its unit; a precision of -1 is what the value needs.
func (g goal) figure(value float64, precision int) string {
	text := fmt.Sprintf("%.*f", precision, value)
	if precision < 0 {
		text = fmt.Sprint(value)
	}
	return strings.TrimSpace(text + " " + g.Unit)
}

func yesNo(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}
