package simagent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// MismatchCode is the code that an agent exits with when the host does not keep to the scenario.
const MismatchCode = 70

var (
	// errStopped ends a step that waits when the agent is killed or has to end.
	errStopped = errors.New("the agent was stopped")
	// errHostClosed reports that the host closed its input where the scenario has a frame.
	errHostClosed = errors.New("the host closed stdin")
)

// An Ending is an agent's exit: by a signal if there is one, or else with a code.
type Ending struct {
	Code   int
	Signal os.Signal
}

// An ending is the error with which a step ends the agent.
type ending struct{ Ending }

func (e *ending) Error() string { return fmt.Sprintf("exit %d", e.Code) }

// A mismatch is a step's error when the host does not follow the scenario.
type mismatch struct{ text string }

func (m *mismatch) Error() string { return m.text }

// A Recorder follows an agent through its scenario. An agent calls it on one goroutine and waits
// for each call to return. [Run] is the usual one.
type Recorder interface {
	// Begin reports the start of the step with this index. The index after the last one means that
	// all steps are done.
	Begin(step int)
	// Record adds lines to the dialogue.
	Record(lines []byte)
	// Await reports the frames that the current step still waits for.
	Await(want string)
	// Fail reports that the host did not follow the scenario.
	Fail(text string)
	// Finish reports that the agent is about to end as the scenario has it.
	Finish()
}

// A Process runs the agent: it is a process of the operating system or a goroutine. Faults change
// it.
type Process interface {
	// CloseStdout closes the agent's output.
	CloseStdout() error
	// IgnoreSIGTERM makes the agent ignore SIGTERM from now on.
	IgnoreSIGTERM()
	// LeaveGrandchild keeps the agent's output open after the agent has ended.
	LeaveGrandchild() error
	// Kill ends the agent by a signal. It returns nil only if the agent is to end with the signal
	// by itself.
	Kill(sig os.Signal) error
}

// An Environment holds everything that an agent needs to play a scenario. All fields must be set.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Process        Process
	Recorder       Recorder
	// Quit is closed when the agent has to end. It ends steps that wait for time to pass. Steps
	// that read or write end with their streams.
	Quit <-chan struct{}
}

// Play plays a scenario and returns how the agent ends. It blocks until then.
func Play(s *Scenario, env Environment) Ending {
	p := &player{
		steps: s.steps, stdin: bufio.NewReader(env.Stdin), stdout: env.Stdout, stderr: env.Stderr,
		process: env.Process, rec: env.Recorder, quit: env.Quit, ids: newIDTable(),
	}
	return p.run()
}

// A player plays a scenario, on one goroutine.
type player struct {
	steps          []Step
	stdin          *bufio.Reader
	stdout, stderr io.Writer
	process        Process
	rec            Recorder
	quit           <-chan struct{}
	ids            *idTable

	ignoreEnd   bool // the agent does not exit at the end of its input
	inputEnded  bool // the end of input is in the dialogue
	outputEnded bool // the agent has closed its output
}

// run plays all steps and returns how the agent ends.
func (p *player) run() Ending {
	err := p.playSteps()
	var (
		end *ending
		bad *mismatch
	)
	switch {
	case errors.As(err, &end):
		return end.Ending
	case errors.As(err, &bad):
		p.rec.Fail(bad.text)
		// The error does not matter: the recorder has the text.
		_, _ = fmt.Fprintf(p.stderr, "clewtest: %s\n", strings.ReplaceAll(bad.text, "\n", "\n\t"))
	}
	return Ending{Code: MismatchCode}
}

func (p *player) playSteps() error {
	for i, s := range p.steps {
		p.rec.Begin(i)
		if err := s.play(p); err != nil {
			return err
		}
	}
	p.rec.Begin(len(p.steps))
	return p.rest()
}

// rest waits for the end of input after the last step.
func (p *player) rest() error {
	got, err := p.next(false)
	switch {
	case err == nil:
		return &mismatch{"the host sent a frame after the last step of the scenario\ngot > " + shorten(got.text)}
	case !errors.Is(err, errHostClosed):
		return err
	case p.ignoreEnd:
		return p.hang()
	}
	return exitStep(0).play(p)
}

// hang waits until the agent has to end.
func (p *player) hang() error {
	<-p.quit
	return errStopped
}

// end reports that the agent ends as the scenario has it. The caller returns the error, which ends
// it.
func (p *player) end(e *ending) error {
	p.rec.Finish()
	return e
}

// send writes one frame with the host's ids. It records the frame first, so that the dialogue has
// every frame that a host has read.
func (p *player) send(frame string) error {
	frame = p.ids.rewrite(frame)
	p.rec.Record([]byte("< " + frame + "\n"))
	return p.write(frame + "\n")
}

// write writes text to the agent's output as it stands.
func (p *player) write(text string) error {
	if p.outputEnded {
		return &mismatch{"the scenario sends something after it has closed stdout: " + shorten(text)}
	}
	_, err := io.WriteString(p.stdout, text)
	return err
}

// next records the next frame of the host and returns it. It skips keep_alive frames unless
// keepAlive is set. The error is errHostClosed at the end of input.
func (p *player) next(keepAlive bool) (wanted, error) {
	for {
		line, err := p.stdin.ReadString('\n')
		text := strings.TrimSpace(line)
		if text == "" && err == nil {
			continue
		}
		if text == "" || err != nil && !errors.Is(err, io.EOF) {
			return wanted{}, p.inputError(err)
		}
		value, err := decodeObject(text)
		if err == nil && value["type"] == "keep_alive" && !keepAlive {
			continue
		}
		p.rec.Record([]byte("> " + text + "\n"))
		if err != nil {
			return wanted{}, &mismatch{fmt.Sprintf("the host sent a line that is not a JSON object: %v", err)}
		}
		return wanted{text, value}, nil
	}
}

func (p *player) inputError(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if !p.inputEnded {
		p.inputEnded = true
		p.rec.Record([]byte("# host closes stdin\n"))
	}
	return errHostClosed
}
