package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/nats/natsfleet"
)

// fleetAgentVariable is the environment variable with which this program is a simulated agent.
const fleetAgentVariable = "CLEW_BENCH_AGENT"

// fleetAgentVersion is the version that it says it has.
const fleetAgentVersion = "2.1.325"

// A memoryRunner runs agents that answer at once, with the time at which they got the prompt.
type memoryRunner struct {
	refuse bool // it takes no jobs
	hang   bool // they never answer

	frames  int // that they send before
	every   time.Duration
	watched chan struct{} // closed when somebody watches
}

func (*memoryRunner) Ready(context.Context) error { return nil }

func (r *memoryRunner) Check(*fleet.Job) error {
	if r.refuse {
		return errors.New("it only looks after the jobs of others")
	}
	return nil
}

func (r *memoryRunner) Prepare(_ context.Context, t *fleet.Task) (fleet.Run, error) {
	return &memoryRun{r, t}, nil
}

func (*memoryRunner) Look(context.Context, *fleet.Job) (*fleet.Traces, error) {
	return new(fleet.Traces), nil
}

type memoryRun struct {
	*memoryRunner
	task *fleet.Task
}

func (n *memoryRun) IDs() (session, prompt, base string) {
	id := fmt.Sprintf("%s-%d", n.task.Job.ID, n.task.Number)
	return "s-" + id, "p-" + id, ""
}

func (n *memoryRun) Do(ctx context.Context) fleet.Event {
	got := time.Now()
	if n.hang {
		<-ctx.Done()
		return fleet.Lose{Cause: fleet.ByLoss, Text: context.Cause(ctx).Error()}
	}
	if n.frames > 0 {
		if err := n.send(ctx); err != nil {
			return fleet.Lose{Cause: fleet.ByExit, Text: err.Error()}
		}
	}
	return fleet.Finish{Cause: fleet.ByResult, Result: fleet.Result{Text: got.Format(time.RFC3339Nano)}}
}

func (*memoryRun) Close() {}

// send sends frames of 512 bytes once somebody watches.
func (n *memoryRun) send(ctx context.Context) error {
	frame := make([]byte, 512)
	for i := range frame {
		frame[i] = ' '
	}
	write := func(end byte) error {
		copy(frame, time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z07:00"))
		frame[len(frame)-1] = end
		return n.task.Publish(ctx, frame)
	}
	for watched := false; !watched; {
		if err := write('?'); err != nil {
			return err
		}
		select {
		case <-n.watched:
			watched = true
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	var tick <-chan time.Time
	if n.every > 0 {
		t := time.NewTicker(n.every)
		defer t.Stop()
		tick = t.C
	}
	for range n.frames {
		if tick != nil {
			<-tick
		}
		if err := write('.'); err != nil {
			return err
		}
	}
	return nil
}

// playFleetAgent is a simulated agent that answers one prompt, with the time at which it came.
func playFleetAgent(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil //nolint:nilerr // the host ends the input
		}
		var frame struct {
			Type, UUID string
			RequestID  string `json:"request_id"`
		}
		if err := json.Unmarshal(line, &frame); err != nil {
			return err
		}
		switch frame.Type {
		case "control_request":
			_, err = fmt.Fprintf(out, `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"hook_on_failure_supported":true}}}`+"\n", frame.RequestID)
		case "user":
			_, err = fmt.Fprintf(out, `{"type":"result","subtype":"success","result":%q,"user_message_uuids":[%q]}`+"\n", time.Now().Format(time.RFC3339Nano), frame.UUID)
		}
		if err != nil {
			return err
		}
	}
}

// startFleetChild starts this program as a worker on a directory, with a server if there is none, and waits
// until it runs.
func startFleetChild(ctx context.Context, dir string, lease time.Duration) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "-child", fleetJob, "-path", dir, lease.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	return cmd, err
}

// runFleetChild runs a worker whose agents never answer, until it is killed.
func runFleetChild(dir string, args []string, _ *figures) error {
	lease, err := time.ParseDuration(strings.Join(args, " "))
	if err != nil {
		return err
	}
	e, err := natsfleet.Open(context.Background(), &natsfleet.Options{Dir: dir})
	if err != nil {
		return err
	}
	fmt.Println("running")
	w := fleet.NewWorker(e, &memoryRunner{hang: true}, &fleet.WorkerOptions{Lease: lease})
	return w.Run(context.Background())
}
