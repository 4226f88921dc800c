package fleetcli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

const (
	maxLine     = 1 << 20   // of a batch, in bytes
	maxJobs     = 1_000_000 // of a batch
	maxProblems = 20        // that are shown of a batch
	batchPart   = 1000      // jobs that are submitted before their IDs are printed
)

// batchFlags are the flags that work with --batch.
var batchFlags = []string{"batch", "json", "fleet", "fleet-credentials", "config", "color"}

// runBatch submits the jobs of a file.
func (o *submitOptions) runBatch(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return clikit.UsageError("--batch can't be used with a prompt", "")
	}
	other := ""
	o.cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(batchFlags, f.Name) {
			other = f.Name
		}
	})
	if other != "" {
		return clikit.UsageError("--batch can't be used with --"+other, "Each line of the file says what its job needs.")
	}
	file, err := openPath(o.batch)
	if err != nil {
		return err
	}
	defer file.Close()
	specs, err := readBatch(ctx, o.batch, file)
	if err != nil {
		return err
	}
	if n := countWithout(specs); n > 0 {
		clikit.Remark(o.Err, tty.Waiting, "clew submit",
			fmt.Sprintf("jobs without a key: %d; submitting the file again would submit them again", n))
	}
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.completeAll(ctx, o.batch, specs); err != nil {
		return err
	}
	if err := c.refuseWider(ctx, specs...); err != nil {
		return err
	}
	return o.submitAll(ctx, c, specs)
}

func countWithout(specs []*fleet.Spec) (n int) {
	for _, s := range specs {
		if s.Key == "" {
			n++
		}
	}
	return n
}

// readBatch reads and checks the jobs of a file. Its error names each line that is wrong, up to a number.
func readBatch(ctx context.Context, name string, r io.Reader) ([]*fleet.Spec, error) {
	var specs []*fleet.Spec
	var problems []string
	in := bufio.NewReaderSize(r, 64<<10)
	for line, offset := 1, int64(0); ; line++ {
		if ctx.Err() != nil {
			return nil, clikit.Stopped()
		}
		text, err := readLine(in)
		size := int64(len(text))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, clikit.Unreadable(name, fmt.Errorf("line %d, offset %d: %w", line, offset, err))
		}
		if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 {
			spec, problem := parseSpec(trimmed)
			if problem != nil {
				problems = append(problems, fmt.Sprintf("%s, line %d, offset %d: %s", name, line, offset, problem))
			}
			specs = append(specs, spec)
		}
		offset += size
		if errors.Is(err, io.EOF) {
			break
		}
		if len(specs) > maxJobs {
			return nil, clikit.Unreadable(name, fmt.Errorf("it has more than %d jobs", maxJobs))
		}
	}
	if len(problems) > 0 {
		return nil, badBatch(problems)
	}
	if len(specs) == 0 {
		return nil, clikit.Unreadable(name, errors.New("it has no jobs"))
	}
	return specs, nil
}

// readLine returns the next line with its end. It never holds more than the longest that is allowed.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return line, fmt.Errorf("the line is longer than %s", wording.Size(maxLine))
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func parseSpec(text []byte) (*fleet.Spec, error) {
	s := new(fleet.Spec)
	if err := clikit.DecodeStrictly(text, s); err != nil {
		return s, err
	}
	if s.OnLost == "" {
		s.OnLost = fleet.Resume // as without --batch
	}
	err := s.Check()
	return s, err
}

// badBatch reports the lines of a batch that are wrong.
func badBatch(problems []string) error {
	shown := problems[:min(len(problems), maxProblems)]
	var b strings.Builder
	for _, p := range shown {
		b.WriteString("\n" + clikit.Printable(strings.ReplaceAll(p, "\n", "; ")))
	}
	if more := len(problems) - len(shown); more > 0 {
		fmt.Fprintf(&b, "\n… and %d more", more)
	}
	return &clikit.Failure{
		Code: clikit.ExitInput, Err: fmt.Errorf("no job was submitted; invalid lines: %d%s", len(problems), b.String()),
	}
}

// completeAll completes the IDs in the specs of a batch.
func (c *connection) completeAll(ctx context.Context, name string, specs []*fleet.Spec) error {
	for i, s := range specs {
		if err := c.completeAfter(ctx, s); err != nil {
			if f, ok := errors.AsType[*clikit.Failure](err); ok && ctx.Err() == nil {
				f.Err = fmt.Errorf("no job was submitted; %s, job %d: %w", clikit.Printable(name), i+1, f.Err)
			}
			return err
		}
	}
	return nil
}

// submitAll submits the jobs of a batch in parts, and prints the IDs of each part.
func (o *submitOptions) submitAll(ctx context.Context, c *connection, specs []*fleet.Spec) error {
	activity := clikit.StartActivity(o.Err, "submitting")
	defer activity.End()
	done := 0
	for part := range slices.Chunk(specs, batchPart) {
		jobs, err := c.SubmitAll(ctx, part)
		activity.Hide()
		for _, j := range jobs {
			if err := o.print(j); err != nil {
				return err
			}
		}
		done += len(jobs)
		activity.Now(fmt.Sprintf("submitted %d of %d", done, len(specs)))
		if err != nil {
			return unfinished(failure(ctx, err), done, specs)
		}
	}
	return nil
}

// unfinished adds to an error how much of a batch was submitted.
func unfinished(err error, done int, specs []*fleet.Spec) error {
	f, ok := errors.AsType[*clikit.Failure](err)
	if !ok {
		return err
	}
	f.Err = fmt.Errorf("%w; submitted %d of %d", f.Err, done, len(specs))
	f.Hint = "Submit the file again: jobs with a key that were submitted are not submitted again."
	if slices.ContainsFunc(specs, func(s *fleet.Spec) bool { return s.Key == "" }) {
		f.Hint = `Some jobs have no key, and would run twice if they are submitted again. "clew jobs --all" shows
which are there; submit the others.`
	}
	return err
}
