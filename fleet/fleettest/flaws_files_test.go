package fleettest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/fleet"
)

var messageFlaws = map[string]flaw{
	"messages are lost": {"messages/messages come", func(f *fakeEngine) {
		f.publish = func(context.Context, string, []byte) error { return nil }
	}},
	"somebody has to listen": {"messages/nobody listens", func(f *fakeEngine) {
		f.publish = func(context.Context, string, []byte) error { return errFlaw }
	}},
	"one listener is enough": {"messages/everybody who listens gets them", func(f *fakeEngine) {
		var listens atomic.Bool
		f.listen = func(ctx context.Context, subject string) messages {
			if listens.Swap(true) {
				subject = "another"
			}
			return f.Engine.Listen(ctx, subject)
		}
	}},
	"subjects have all below": {"messages/subjects are apart", func(f *fakeEngine) {
		f.publish = func(ctx context.Context, subject string, message []byte) error {
			if i := strings.LastIndexByte(subject, '.'); i > 0 {
				_ = f.Engine.Publish(ctx, subject[:i], message)
			}
			return f.Engine.Publish(ctx, subject, message)
		}
	}},
	"messages are kept": {"messages/what was sent before does not come", func(f *fakeEngine) {
		var mu sync.Mutex
		var kept []byte
		f.publish = func(ctx context.Context, subject string, message []byte) error {
			mu.Lock()
			if kept == nil {
				kept = bytes.Clone(message)
			}
			mu.Unlock()
			return f.Engine.Publish(ctx, subject, message)
		}
		f.listen = func(ctx context.Context, subject string) messages {
			return func(yield func([]byte, error) bool) {
				mu.Lock()
				first := kept
				mu.Unlock()
				if first == nil || yield(first, nil) {
					f.Engine.Listen(ctx, subject)(yield)
				}
			}
		}
	}},
	"messages come twice": {"messages/a message comes once", func(f *fakeEngine) {
		f.publish = func(ctx context.Context, subject string, message []byte) error {
			_ = f.Engine.Publish(ctx, subject, message)
			return f.Engine.Publish(ctx, subject, message)
		}
	}},
	"a slow listener is stopped": {"messages/a listener that is slow stops nobody", func(f *fakeEngine) {
		f.listen = func(ctx context.Context, subject string) messages {
			return func(yield func([]byte, error) bool) {
				n := 0
				for m, err := range f.Engine.Listen(ctx, subject) {
					if n++; n > 100 {
						yield(nil, errFlaw)
						return
					}
					if !yield(m, err) {
						return
					}
				}
			}
		}
	}},
	"listeners are never freed": {"messages/a loop can be left", func(f *fakeEngine) {
		var listeners atomic.Int64
		f.listen = func(ctx context.Context, subject string) messages {
			if listeners.Add(1) > 8 {
				subject = "another"
			}
			return f.Engine.Listen(ctx, subject)
		}
	}},
}

// onPut changes files before they are stored.
func onPut(change func([]byte) []byte) func(*fakeEngine) {
	return func(f *fakeEngine) {
		f.put = func(ctx context.Context, name string, r io.Reader) error {
			data, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			return f.Engine.Put(ctx, name, bytes.NewReader(change(data)))
		}
	}
}

var fileFlaws = map[string]flaw{
	"files are text":   {"files/a file comes back", onPut(func(data []byte) []byte { return bytes.ToValidUTF8(data, nil) })},
	"files have 16 MB": {"files/a file of 20 MB", onPut(func(data []byte) []byte { return data[:min(len(data), 16<<20)] })},
	"empty files are not kept": {"files/an empty file", func(f *fakeEngine) {
		f.put = func(ctx context.Context, name string, r io.Reader) error {
			data, err := io.ReadAll(r)
			if err != nil || len(data) == 0 {
				return err
			}
			return f.Engine.Put(ctx, name, bytes.NewReader(data))
		}
	}},
	"one read is the file": {"files/a reader of small pieces", func(f *fakeEngine) {
		f.put = func(ctx context.Context, name string, r io.Reader) error {
			data := make([]byte, 1<<20)
			n, _ := r.Read(data)
			return f.Engine.Put(ctx, name, bytes.NewReader(data[:n]))
		}
	}},
	"the old file stays": {"files/a file is replaced", func(f *fakeEngine) {
		f.put = func(ctx context.Context, name string, r io.Reader) error {
			if _, err := f.Engine.Open(ctx, name); err == nil {
				return nil
			}
			return f.Engine.Put(ctx, name, r)
		}
	}},
	"a missing file is empty": {"files/a file that is not there", func(f *fakeEngine) {
		f.open = func(ctx context.Context, name string) (io.ReadCloser, error) {
			if file, err := f.Engine.Open(ctx, name); err == nil {
				return file, nil
			}
			return io.NopCloser(strings.NewReader("")), nil
		}
	}},
	"half a file stays": {"files/a reader that fails leaves what is there", func(f *fakeEngine) {
		f.put = func(ctx context.Context, name string, r io.Reader) error {
			data, failed := io.ReadAll(r)
			if err := f.Engine.Put(ctx, name, bytes.NewReader(data)); err != nil {
				return err
			}
			return failed
		}
	}},
	"a reader gets two files": {"files/a file that is replaced while it is read", func(f *fakeEngine) {
		f.open = func(ctx context.Context, name string) (io.ReadCloser, error) {
			if _, err := f.Engine.Open(ctx, name); err != nil {
				return nil, err
			}
			return &mixedReader{f: f, ctx: ctx, name: name}, nil
		}
	}},
	"a prefix is a directory": {"files/files are removed by prefix", func(f *fakeEngine) {
		f.delete = func(ctx context.Context, prefix string) error {
			return f.Engine.Delete(ctx, strings.TrimSuffix(prefix, "/")+"/")
		}
	}},
	"names are folded": {"files/names of all characters", func(f *fakeEngine) {
		f.put = func(ctx context.Context, name string, r io.Reader) error {
			return f.Engine.Put(ctx, strings.ToLower(name), r)
		}
		f.open = func(ctx context.Context, name string) (io.ReadCloser, error) {
			return f.Engine.Open(ctx, strings.ToLower(name))
		}
	}},
	"files are read later": {"files/the file is the engine's own", func(f *fakeEngine) {
		f.put = func(ctx context.Context, name string, r io.Reader) error {
			f.open = func(context.Context, string) (io.ReadCloser, error) { return io.NopCloser(r), nil }
			return nil
		}
	}},
	"files are records": {"files/files and records are apart", func(f *fakeEngine) {
		f.delete = func(ctx context.Context, prefix string) error {
			for _, r := range collect(f.Engine.List(ctx, fleet.Jobs, "", nil)) {
				_ = f.Engine.Remove(ctx, fleet.Jobs, r.Key, r.Revision)
			}
			return f.Engine.Delete(ctx, prefix)
		}
	}},
	"files are written in parts": {"files/a file that many write is one of theirs", func(f *fakeEngine) {
		var mu sync.Mutex
		writers, others := 0, make(chan struct{}, 5)
		f.put = func(ctx context.Context, name string, r io.Reader) error {
			data, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			half := len(data) / 2
			ctx = context.WithoutCancel(ctx) // it writes both parts, however busy the machine is
			mu.Lock()
			writers++
			isFirst := writers == 1
			_ = f.Engine.Put(ctx, name, bytes.NewReader(data[:half]))
			mu.Unlock()
			for range cap(others) { // the first one is the last to write its second half
				if isFirst {
					<-others
				}
			}
			first, _ := readFile(ctx, f.Engine, name)
			err = f.Engine.Put(ctx, name, bytes.NewReader(append(first[:half:half], data[half:]...)))
			if !isFirst {
				others <- struct{}{}
			}
			return err
		}
	}},
	"ten files can be open": {"files/a file can be left unread", func(f *fakeEngine) {
		var opened atomic.Int64
		f.open = func(ctx context.Context, name string) (io.ReadCloser, error) {
			if opened.Add(1) > 10 {
				return nil, errFlaw
			}
			return f.Engine.Open(ctx, name)
		}
	}},
}

// A mixedReader reads from the file that is there now.
type mixedReader struct {
	f    *fakeEngine
	ctx  context.Context
	name string
	at   int
}

func (r *mixedReader) Read(p []byte) (int, error) {
	data, err := readFile(r.ctx, r.f.Engine, r.name)
	if err != nil {
		return 0, err
	}
	n := copy(p, data[min(r.at, len(data)):])
	if r.at += n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *mixedReader) Close() error { return nil }
