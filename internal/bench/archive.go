package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/archive/sqlitearchive"
	"github.com/clewdev/clew/internal/bench/benchreport"
	"github.com/clewdev/clew/internal/corpus"
)

// A keeping is one use of an archive.
type keeping struct {
	Name    string  `json:"name"`
	Bytes   int64   `json:"bytes"`        // of plain files that were saved or unpacked
	Stored  int64   `json:"stored_bytes"` // what was written for them
	Blobs   int     `json:"blobs"`
	Seconds float64 `json:"seconds"`
}

// appendRuns is how often a session grows by appendBytes, and is saved each time.
const (
	appendRuns  = 100
	appendBytes = 10_000
)

// An archiving is an archive, and what it is measured on.
type archiving struct {
	ctx  context.Context
	dir  string
	root string // of the agent
	list []keeping
}

// measureArchive saves and unpacks the sessions of the corpus.
func measureArchive(ctx context.Context, o options) ([]keeping, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	m := &archiving{ctx: ctx, dir: dir, root: filepath.Join(dir, "agent")}
	if _, err := corpus.Projects(filepath.Join(m.root, "projects"), o.seed, o.projectsSize); err != nil {
		return nil, err
	}
	target, err := archive.OpenDir(filepath.Join(dir, "archive"))
	if err != nil {
		return nil, err
	}
	file, err := sqlitearchive.Open(ctx, filepath.Join(dir, "archive.db"))
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is removed
	a := archive.New(target)
	err = errors.Join(
		m.save("first run, directory", a), m.save("nothing new", a), m.grow(a), m.save("10 kB new in one session", a), m.growOften(a),
		m.unpack("unpack all", a), m.unpack("unpack, nothing new", a), m.save("first run, SQLite", archive.New(file)),
	)
	return m.list, err
}

func (m *archiving) save(name string, a *archive.Archive) error {
	begun := time.Now()
	r, err := a.Save(m.ctx, &archive.SaveOptions{Roots: []string{m.root}, Machine: "bench"})
	if err != nil {
		return err
	}
	if len(r.Problems) > 0 {
		return r.Problems[0]
	}
	m.list = append(m.list, keeping{name, r.NewBytes, r.Stored, r.Blobs, time.Since(begun).Seconds()})
	return nil
}

func (m *archiving) unpack(name string, a *archive.Archive) error {
	begun := time.Now()
	u, err := a.Unpack(m.ctx, filepath.Join(m.dir, "cache"), nil)
	if err != nil {
		return err
	}
	k := keeping{Name: name, Seconds: time.Since(begun).Seconds()}
	if u.Written > 0 {
		k.Bytes = u.Bytes
	}
	m.list = append(m.list, k)
	return nil
}

// grow appends lines to the transcript of a session, from another one.
func (m *archiving) grow(*archive.Archive) error { return m.appendAt(0) }

func (m *archiving) appendAt(run int64) error {
	const grown = "00000000-0000-4000-8000-00000000ffff.jsonl"
	dir := filepath.Join(m.root, "projects", "-grown")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(m.root, "projects", "*", "*.jsonl"))
	if err != nil || len(found) == 0 {
		return errors.Join(err, errors.New("the corpus has no transcripts"))
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	at := run * appendBytes % int64(len(text)-appendBytes)
	file, err := os.OpenFile(filepath.Join(dir, grown), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text[at:at+appendBytes:at+appendBytes], '\n'))
	return errors.Join(err, file.Close())
}

// growOften saves a session that grows again and again, and adds up what that takes.
func (m *archiving) growOften(a *archive.Archive) error {
	sum := keeping{Name: fmt.Sprintf("%d times 10 kB new", appendRuns)}
	before := len(m.list)
	for run := range int64(appendRuns) {
		if err := errors.Join(m.appendAt(run+1), m.save("", a)); err != nil {
			return err
		}
		k := m.list[before]
		sum.Bytes, sum.Stored, sum.Blobs, sum.Seconds = sum.Bytes+k.Bytes, sum.Stored+k.Stored, sum.Blobs+k.Blobs, sum.Seconds+k.Seconds
		m.list = m.list[:before]
	}
	m.list = append(m.list, sum)
	return nil
}

func (r *report) writeArchive(b *strings.Builder) {
	benchreport.Table(b, "| archive | MB | MB stored | ratio | blobs | s | MB/s |", r.Archive, func(k keeping) string {
		ratio := "-"
		if k.Stored > 0 {
			ratio = fmt.Sprintf("%.1f", float64(k.Bytes)/float64(k.Stored))
		}
		mb := float64(k.Bytes) / 1e6
		return fmt.Sprintf("| %s | %.2f | %.2f | %s | %d | %.3f | %.0f |", k.Name, mb, float64(k.Stored)/1e6, ratio, k.Blobs, k.Seconds, mb/k.Seconds)
	})
}
