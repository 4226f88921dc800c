package natsfleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/nats/natsfleet"
)

// benchRecords returns records of a kilobyte, with labels as long as in jobs.
func benchRecords(from, n int) []fleet.Record {
	records := make([]fleet.Record, n)
	for i := range records {
		records[i] = fleet.Record{
			Key: fmt.Sprintf("0195f6ac-0000-7000-8000-%012d", from+i), Data: []byte(strings.Repeat("x", 1<<10)),
			Label: strings.Repeat("l", 150),
		}
	}
	return records
}

// BenchmarkSet writes new records, in batches.
func BenchmarkSet(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			e := open(b, &natsfleet.Options{Dir: b.TempDir()})
			n := 0
			for b.Loop() {
				if _, err := e.Set(b.Context(), fleet.Jobs, benchRecords(n, size)...); err != nil {
					b.Fatal(err)
				}
				n += size
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
		})
	}
	b.Run("parallel=16", func(b *testing.B) {
		e := open(b, &natsfleet.Options{Dir: b.TempDir()})
		records := benchRecords(0, b.N)
		b.SetParallelism(8)
		var mu sync.Mutex
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				mu.Lock()
				r := records[0]
				records = records[1:]
				mu.Unlock()
				if _, err := e.Set(b.Context(), fleet.Jobs, r); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	})
}

// BenchmarkList lists 100,000 records, and starts to watch them.
func BenchmarkList(b *testing.B) {
	const count = 100_000
	dir := b.TempDir()
	e := open(b, &natsfleet.Options{Dir: dir})
	for records := range slices.Chunk(benchRecords(0, count), 1000) {
		if _, err := e.Set(b.Context(), fleet.Jobs, records...); err != nil {
			b.Fatal(err)
		}
	}
	other := open(b, &natsfleet.Options{Dir: dir}) // over TCP
	every := 0
	for name, wants := range map[string]func(string) bool{
		"labels": func(string) bool { return false },
		"1 of 100": func(string) bool {
			every++
			return every%100 == 0
		},
		"all": nil,
	} {
		for where, e := range map[string]*natsfleet.Engine{"in process": e, "TCP": other} {
			b.Run(where+"/"+name, func(b *testing.B) {
				for b.Loop() {
					n := 0
					for _, err := range e.List(b.Context(), fleet.Jobs, "", wants) {
						if err != nil {
							b.Fatal(err)
						}
						n++
					}
					if n != count {
						b.Fatalf("got %d records", n)
					}
				}
			})
		}
	}
	b.Run("watch", func(b *testing.B) {
		for b.Loop() {
			for r, err := range other.Watch(b.Context(), fleet.Jobs, "", func(string) bool { return false }) {
				if err != nil {
					b.Fatal(err)
				}
				if r.Key == "" {
					break
				}
			}
		}
	})
}

// BenchmarkLive publishes messages of 512 bytes to listeners with separate connections.
func BenchmarkLive(b *testing.B) {
	for _, listeners := range []int{1, 20} {
		b.Run(fmt.Sprintf("listeners=%d", listeners), func(b *testing.B) {
			dir := b.TempDir()
			e := open(b, &natsfleet.Options{Dir: dir})
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var wg sync.WaitGroup
			for range listeners {
				l := open(b, &natsfleet.Options{Dir: dir})
				messages := l.Listen(ctx, "job")
				wg.Go(func() {
					n := 0
					for _, err := range messages {
						if n++; err != nil || n == b.N {
							return
						}
					}
				})
			}
			message := make([]byte, 512)
			b.ResetTimer()
			for i := range b.N {
				if err := e.Publish(ctx, "job", message); err != nil {
					b.Fatal(err)
				}
				if i%1000 == 999 {
					if _, err := e.Get(ctx, fleet.Jobs, "none"); err == nil { // so the server sent them
						b.Fatal("there is a record")
					}
				}
			}
			wg.Wait()
			b.ReportMetric(float64(b.N*listeners)/b.Elapsed().Seconds(), "deliveries/s")
		})
	}
	b.Run("lag", func(b *testing.B) {
		dir := b.TempDir()
		e, l := open(b, &natsfleet.Options{Dir: dir}), open(b, &natsfleet.Options{Dir: dir})
		var lags []time.Duration
		done := make(chan struct{})
		messages := l.Listen(b.Context(), "job")
		go func() {
			defer close(done)
			for m, err := range messages {
				if err != nil {
					return
				}
				sent, err := time.Parse(time.RFC3339Nano, string(m))
				if err != nil {
					return
				}
				if lags = append(lags, time.Since(sent)); len(lags) == b.N {
					return
				}
			}
		}()
		tick := time.NewTicker(time.Millisecond) // 1,000 a second
		defer tick.Stop()
		b.ResetTimer()
		for range b.N {
			<-tick.C
			if err := e.Publish(b.Context(), "job", []byte(time.Now().Format(time.RFC3339Nano))); err != nil {
				b.Fatal(err)
			}
		}
		<-done
		slices.Sort(lags)
		b.ReportMetric(float64(lags[len(lags)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(lags[len(lags)*99/100].Microseconds())/1000, "p99-ms")
	})
}
