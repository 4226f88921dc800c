package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// A dialog is a client of Serve.
type dialog struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Scanner
	ended chan error
}

// servePatience only ends a test that hangs.
const servePatience = 2 * time.Minute

func serve(ctx context.Context, t *testing.T, list ...*Tool) *dialog {
	t.Helper()
	inReader, in := io.Pipe()
	outReader, out := io.Pipe()
	d := &dialog{t: t, in: in, out: bufio.NewScanner(outReader), ended: make(chan error, 1)}
	go func() {
		err := Serve(ctx, inReader, out, &ServeOptions{Name: "calc", Version: "1", Instructions: "Count."}, list...)
		_ = out.Close()
		d.ended <- err
	}()
	t.Cleanup(func() { _ = in.Close() })
	return d
}

// ask sends a line and returns the next line.
func (d *dialog) ask(line string) string {
	d.t.Helper()
	if _, err := io.WriteString(d.in, line+"\n"); err != nil {
		d.t.Fatal(err)
	}
	if !d.out.Scan() {
		d.t.Fatalf("no answer to %.80s: %v", line, d.out.Err())
	}
	return d.out.Text()
}

func (d *dialog) wait() error {
	d.t.Helper()
	select {
	case err := <-d.ended:
		return err
	case <-time.After(servePatience):
		d.t.Fatal("Serve does not end")
		return nil
	}
}

const initializeLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

func callLine(id int, name, arguments string) string {
	data, _ := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": json.RawMessage(arguments)},
	})
	return string(data)
}

type sum struct{ A, B int }

func adder() *Tool {
	return New("add", "Adds two numbers", func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil })
}

// A client is served until its input ends. Lines that are not messages have no other effect.
func TestServe(t *testing.T) {
	t.Parallel()
	d := serve(t.Context(), t, adder())
	if got := d.ask(initializeLine); !strings.Contains(got, `"name":"calc"`) || !strings.Contains(got, `"instructions":"Count."`) {
		t.Errorf("initialize: %s", got)
	}
	for _, line := range []string{"what", `{"jsonrpc":"2.0"}`, "[", strings.Repeat("x", maxServedLine+1)} {
		if got := d.ask(line); !strings.Contains(got, `"id":null`) || !strings.Contains(got, "-32700") {
			t.Errorf("%.20s: %s", line, got)
		}
	}
	for _, test := range []struct{ call, want string }{
		{callLine(1, "add", `{"A":1,"B":2}`), `"text":"3"`},
		{callLine(2, "add", `{"A":"x"}`), `"isError":true`},
		{callLine(3, "nope", `{}`), `"isError":true`},
	} {
		if got := d.ask(test.call); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s", test.call, got)
		}
	}
	_ = d.in.Close()
	if err := d.wait(); err != nil {
		t.Errorf("error %v", err)
	}
}

// The end of the input cancels calls, and Serve waits for them.
func TestServeEndsCalls(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan bool), false
	slow := New("slow", "Waits", func(ctx context.Context, _ struct{}) (string, error) {
		close(begun)
		<-ctx.Done()
		ended = true
		return "", ctx.Err()
	})
	d := serve(t.Context(), t, slow)
	d.ask(initializeLine)
	if _, err := io.WriteString(d.in, callLine(1, "slow", "{}")+"\n"); err != nil {
		t.Fatal(err)
	}
	<-begun
	_ = d.in.Close()
	go func() {
		for d.out.Scan() { // the answer may still be written
			continue
		}
	}()
	if err := d.wait(); err != nil || !ended {
		t.Errorf("error %v, the call has ended: %v", err, ended)
	}
}

func TestServeFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d := serve(ctx, t, adder())
	d.ask(initializeLine)
	cancel()
	if err := d.wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a context that has ended", err)
	}
	if err := Serve(t.Context(), strings.NewReader(""), io.Discard, nil, New[sum, int]("", "", nil)); err == nil {
		t.Error("a tool without a name and a function is served")
	}
	reader, writer := io.Pipe()
	_ = reader.CloseWithError(errors.New("nobody reads"))
	if err := Serve(t.Context(), strings.NewReader(initializeLine+"\n"), writer, nil); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("error %v of an output that nobody reads", err)
	}
}
