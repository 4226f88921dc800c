package simagent

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
)

// A reader of a pipe whose writer was unblocked keeps waiting, and gets io.EOF at the end. A reader
// of an abandoned pipe gets the rest, and then an error.
func TestPipeEnds(t *testing.T) {
	tests := []struct {
		name    string
		release func(*pipe)
		waits   bool // until closeWrite
		want    error
	}{
		{"discard", (*pipe).discard, true, io.EOF},
		{"abandon", (*pipe).abandon, false, errTestEnded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipe()
				if _, err := p.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() {
					buf := make([]byte, 1)
					_, err := p.Read(buf)
					if err != nil || buf[0] != 'x' {
						t.Errorf("read %q, %v", buf, err)
					}
					_, err = p.Read(buf)
					ended <- err
				}()
				tt.release(p)
				synctest.Wait()
				if waits := len(ended) == 0; waits != tt.waits {
					t.Errorf("the reader waits: %t, want %t", waits, tt.waits)
				}
				if n, err := p.Write(make([]byte, 2*pipeBytes)); n != 2*pipeBytes || err != nil {
					t.Errorf("wrote %d bytes, %v", n, err)
				}
				p.closeWrite()
				if err := <-ended; !errors.Is(err, tt.want) {
					t.Errorf("the reader ended with %v, want %v", err, tt.want)
				}
			})
		})
	}
}
