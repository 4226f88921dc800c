package web

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/clewdev/clew/internal/corpus"
)

// crowd writes 10,000 small sessions.
var crowd = sync.OnceValue(func() error {
	for i := range 10_000 {
		w := &entryWriter{cwd: fmt.Sprintf("/home/dev/p%d", i%50)}
		w.prompt(fmt.Sprintf("Prompt %d of a crowd", i))
		w.answer("end_turn", text("Done."))
		at := testNow.AddDate(0, 0, -i/20)
		if err := writeSession(project(fmt.Sprintf("-bench-p%d", i%50)), fmt.Sprintf("b0000000-0000-4000-8000-%012d", i), w.String(), at); err != nil {
			return err
		}
	}
	return nil
})

func BenchmarkList(b *testing.B) {
	if err := crowd(); err != nil {
		b.Fatal(err)
	}
	for _, query := range []string{"n=100", "n=100&from=9000"} {
		b.Run("cold/"+query, func(b *testing.B) {
			for b.Loop() {
				d := newDataServer(b)
				var page listPage
				d.get("sessions?"+query, &page)
				if len(page.Rows) != 100 {
					b.Fatalf("%d rows", len(page.Rows))
				}
				d.end()
			}
		})
	}
	d := newDataServer(b)
	page := listPage{Unread: 1}
	for page.Unread > 0 {
		page = listPage{}
		d.get("sessions?filter=crowd", &page)
	}
	for _, query := range []string{"n=100", "n=100&filter=crwd"} {
		b.Run("warm/"+query, func(b *testing.B) {
			for b.Loop() {
				d.get("sessions?"+query, &page)
			}
		})
	}
}

// large writes the largest session of the corpus five times, and returns their IDs.
var large = sync.OnceValues(func() (ids []string, err error) {
	dir, err := os.MkdirTemp(home, "corpus")
	if err != nil {
		return nil, err
	}
	path, err := corpus.Largest(dir)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	agents := strings.TrimSuffix(path, ".jsonl")
	for i := range 5 {
		id := fmt.Sprintf("b1000000-0000-4000-8000-%012d", i)
		ids = append(ids, id)
		if err := writeSession(project("-bench-large"), id, string(data), testNow.AddDate(-1, 0, 0)); err != nil {
			return nil, err
		}
		if err := os.CopyFS(filepath.Join(project("-bench-large"), id), os.DirFS(agents)); err != nil {
			return nil, err
		}
	}
	return ids, os.RemoveAll(dir)
})

func BenchmarkSession(b *testing.B) {
	ids, err := large()
	if err != nil {
		b.Fatal(err)
	}
	path := "sessions/" + ids[0]
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			d := newDataServer(b)
			var page rowsPage
			d.get(path+"/rows?n=100", &page)
			d.end()
		}
	})
	d := newDataServer(b)
	var page rowsPage
	d.get(path+"/rows?n=1", &page)
	for _, what := range []string{
		"", "/rows?n=100", fmt.Sprintf("/rows?n=100&from=%d", page.Total-100), "/find?q=the", "/find?q=nothing+like+it", "/outline", "/files",
		"/agents", "/context", "/usage",
	} {
		b.Run("warm"+what, func(b *testing.B) {
			for b.Loop() {
				if w := d.do(http.MethodGet, path+what, ""); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}

// BenchmarkFindRows finds a word in 100,000 rows.
func BenchmarkFindRows(b *testing.B) {
	w := &entryWriter{cwd: "/home/dev/shop"}
	w.prompt("Go")
	for i := range 50_000 {
		w.answer("", text(fmt.Sprintf("Answer %d has some words of a needle in it", i)))
		w.call(fmt.Sprintf("t%d", i), "Bash", map[string]any{"command": "go test ./..."})
	}
	const id = "b2000000-0000-4000-8000-000000000000"
	if err := writeSession(project("-bench-rows"), id, w.String(), testNow.AddDate(-1, 0, 0)); err != nil {
		b.Fatal(err)
	}
	d := newDataServer(b)
	var page rowsPage
	d.get("sessions/"+id+"/rows?n=1", &page)
	if page.Total < 100_000 {
		b.Fatalf("%d rows", page.Total)
	}
	for _, what := range []string{"/find?q=needle", "/find?q=49999", "/find?q=n.edle&regex=1", "/rows?n=100&from=99000"} {
		b.Run(what[1:], func(b *testing.B) {
			for b.Loop() {
				d.do(http.MethodGet, "sessions/"+id+what, "")
			}
		})
	}
}

// BenchmarkMemory opens five large sessions, and reports their memory.
func BenchmarkMemory(b *testing.B) {
	ids, err := large()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		d := newDataServer(b)
		for _, id := range ids {
			var page rowsPage
			d.get("sessions/"+id+"/rows?n=100", &page)
			d.html("sessions/" + id + "/agents")
			d.html("sessions/" + id)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		d.end()
	}
}
