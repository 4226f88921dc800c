package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/pty"
	"github.com/clewdev/clew/cmd/clew/internal/termtest"
)

// A seat is a program at a terminal, with somebody who looks at it.
type seat struct {
	cmd   *exec.Cmd
	user  *os.File
	began time.Time

	mu      sync.Mutex
	changed *sync.Cond
	screen  *termtest.Terminal
	frames  int // how many were drawn
	last    time.Time
	ended   error
}

// endOfFrame is the sequence that the program writes after each frame.
const endOfFrame = "\x1b[?2026l"

func newSeat(cmd *exec.Cmd) (*seat, error) {
	user, terminal, err := pty.Open(viewerColumns, viewerRows)
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s := &seat{cmd: cmd, user: user, screen: termtest.New(viewerColumns, viewerRows), began: time.Now()}
	s.changed = sync.NewCond(&s.mu)
	err = cmd.Start()
	_ = terminal.Close() // the program has it
	if err != nil {
		return nil, errors.Join(err, user.Close())
	}
	go s.look()
	return s, nil
}

// look reads what the program draws.
func (s *seat) look() {
	buf := make([]byte, 256<<10)
	for {
		n, err := s.user.Read(buf)
		now := time.Now()
		s.mu.Lock()
		_, _ = s.screen.Write(buf[:n]) // it does not fail
		if drawn := bytes.Count(buf[:n], []byte(endOfFrame)); drawn > 0 {
			s.frames, s.last = s.frames+drawn, now
		}
		s.ended = err
		s.changed.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// wait waits for a condition of the seat, with its lock held.
func (s *seat) wait(what string, is func() bool) error {
	late := false
	timer := time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.changed.Broadcast()
	})
	defer timer.Stop()
	for !is() {
		if late || s.ended != nil {
			return fmt.Errorf("%s did not happen; the screen is\n%s", what, s.screen.Text())
		}
		s.changed.Wait()
	}
	return nil
}

// until waits for a screen, and returns how long after the start, or after the last call, it was
// there, in milliseconds.
func (s *seat) until(is func(text string) bool) (float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.wait("a screen", func() bool { return is(s.screen.Text()) })
	took := time.Since(s.began)
	return float64(took.Microseconds()) / 1000, err
}

// keyTime is the time between two keys: a key that is held down repeats 30 times a second.
const keyTime = time.Second / 30

// press presses a key, and returns how long its frame took, in milliseconds. A processor that sleeps
// until the key comes would wake up late, which is not the program's doing: so this one does not sleep.
func (s *seat) press(key string) (float64, error) {
	for begin := time.Now(); time.Since(begin) < keyTime; {
		continue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	frames, began := s.frames, time.Now()
	if _, err := s.user.WriteString(key); err != nil {
		return 0, err
	}
	err := s.wait("a frame after "+strconv.Quote(key), func() bool { return s.frames > frames })
	return float64(s.last.Sub(began).Microseconds()) / 1000, err
}

func (s *seat) write(keys string) error {
	_, err := s.user.WriteString(keys)
	return err
}

// settle waits until nothing has been drawn for a while. The next wait is measured from then on.
func (s *seat) settle() error {
	const quiet = 300 * time.Millisecond
	for {
		s.mu.Lock()
		since := time.Since(s.last)
		s.mu.Unlock()
		if since > quiet {
			break
		}
		time.Sleep(quiet - since)
	}
	s.began = time.Now()
	return nil
}

// memory returns the most memory that the program has had, in megabytes.
func (s *seat) memory() float64 { return peakMemory(s.cmd.Process.Pid) }

// cpu returns the processor time that the program has used.
func (s *seat) cpu() time.Duration { return processorTime(s.cmd.Process.Pid) }

// leave ends the program.
func (s *seat) leave() error {
	_ = s.write("\x03") // it may have ended
	done := time.AfterFunc(5*time.Second, func() { _ = s.cmd.Process.Kill() })
	err := s.cmd.Wait()
	done.Stop()
	return errors.Join(err, s.user.Close())
}
