package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/clewdev/clew/wire"
	"github.com/spf13/cobra"
)

type inspectOptions struct {
	streams  Streams
	json     bool
	maxFrame byteSize
}

const inspectHelp = `Reads stream-json, from a file or from stdin, and counts its frames by type and
subtype. Behind the table come the kinds, fields, blocks and events that this
version does not know, and what is invalid, with line and offset.

With --json, there is one object for each frame instead:
  line, offset, bytes  where the frame is, and how long
  type, subtype        its kind; of a control frame, the subtype of its body
  known                whether this version knows the kind
  problem              what is invalid, the first of it, or ""
  unknown_fields       the paths of fields that this version does not know
  unknown_blocks       the types of such blocks
  unknown_event        the type of such an event
The last three are left out where there are none.

Not examined are the bodies of control requests and the answers to them, the
inputs of tools, the results of server tools, and what the blocks of any other
tool result contain.

Memory does not grow with the length of the stream, but with that of its longest
frame, of which there are several copies at a time.`

func newInspect(s Streams) *cobra.Command {
	o := &inspectOptions{streams: s, maxFrame: wire.DefaultMaxFrameBytes}
	cmd := &cobra.Command{
		Use:   "inspect [FILE|-]",
		Short: "Show which frames a stream is made of, and what is wrong with it",
		Long:  inspectHelp,
		Example: `  clew inspect session.ndjson
  claude -p --verbose --output-format stream-json hello | clew inspect
  clew inspect --json session.ndjson |
    jq 'select(.problem != "" or (.known | not) or .unknown_fields or .unknown_blocks or .unknown_event)'`,
		Args: atMost(1),
		RunE: runE(o.run),
	}
	addOnOff(cmd, &o.json, "json", "print one JSON object per frame")
	cmd.Flags().Var(&o.maxFrame, "max-frame-bytes", "longest frame to decode; a longer one is reported as invalid")
	return cmd
}

func (o *inspectOptions) run(ctx context.Context, args []string) error {
	defer beFrugal()()
	name := ""
	if len(args) > 0 {
		name = args[0]
		if name == "" {
			return errNoName()
		}
	}
	in, err := openInput(ctx, name, o.streams.In)
	if err != nil {
		return err
	}
	defer in.Close()
	return o.inspect(ctx, in)
}

// A report is told of each frame in turn, and then of the end.
type report interface {
	// maxErrors is how many invalid blocks of a frame the report has use for.
	maxErrors() int
	add(finding) error
	finish() error
}

// inspect reads the input to its end, or as far as it can be read, and reports
// so much.
func (o *inspectOptions) inspect(ctx context.Context, in *input) error {
	out := bufio.NewWriterSize(o.streams.Out, 64<<10)
	rep := o.report(out)
	src := &tap{ctx: ctx, src: in, frames: newPipeline(rep, out), bar: o.progress(in)}
	readErr := o.read(src)
	err := src.frames.close()
	src.bar.clear()
	if err == nil {
		err = errors.Join(rep.finish(), out.Flush())
	}
	switch {
	case err != nil:
		return outputError(err)
	case ctx.Err() != nil:
		return errInterrupted()
	case readErr != nil:
		return &failure{code: exitInput, err: in.readError(readErr)}
	}
	return nil
}

func (o *inspectOptions) report(out *bufio.Writer) report {
	if o.json {
		return newListing(out)
	}
	return &summary{out: out, columns: textWidth(o.streams.Out, 0)}
}

// read takes the frames of src until they end, or the report wants no more.
func (o *inspectOptions) read(src *tap) error {
	r := wire.NewReader(src, &wire.ReaderOptions{MaxFrameBytes: int(o.maxFrame)})
	for msg, err := range r.Messages() {
		// After an interrupt, what is left of the buffer may end in a frame that
		// was cut.
		if err != nil || src.ctx.Err() != nil {
			return err
		}
		if !src.frames.add(msg, r.Position()) {
			return nil
		}
	}
	return nil
}

// progress returns the bar for an input, or nil where it would be in the way.
func (o *inspectOptions) progress(in *input) *progress {
	typed := in.file == nil && isTerminal(o.streams.In)
	listed := o.json && isTerminal(o.streams.Out)
	if typed || listed || !isTerminal(o.streams.Err) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return newProgress(o.streams.Err, in.size, time.Now)
}

func errNoName() error {
	return &failure{
		code: exitUsage,
		err:  errors.New("the name of the file is empty"),
		hint: "Give the path of a file of stream-json, or - for stdin.",
	}
}

func errInterrupted() error {
	return &failure{code: exitInterrupted, err: errors.New("interrupted; the output covers what was read until then")}
}

// A tap stands between the input and the reader of frames.
type tap struct {
	ctx    context.Context
	src    io.Reader
	frames *pipeline
	bar    *progress
}

// Read is called when every frame that was in the buffer has been taken.
func (t *tap) Read(p []byte) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	t.frames.dispatch()
	n, err := t.src.Read(p)
	t.bar.add(n)
	return n, err
}
