package clewtest

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Garbage writes text to the agent's output as a line between frames: a warning of some library, half of an escape sequence,
// any bytes at all. A line end is added if there is none.
func Garbage(text string) Fault { return makeFault("garbage", text) }

// HalfFrame writes the first half of frame, without a line end. What comes next is written right behind it, so an end of
// some kind should come next: [Scenario.Exit], [KilledBy] or [Hang].
func HalfFrame(frame any) Fault {
	return frameFault("half-frame", frame, func(f string) []string { return []string{f} })
}

// BigFrame writes an assistant frame of so many bytes, its line end not counted; a tool result of 20 MB is nothing unusual.
// It is never shorter than a frame without text.
func BigFrame(bytes int) Fault { return makeFault("big-frame", strconv.Itoa(bytes)) }

// InvalidUTF8 writes an assistant frame whose text has bytes that are not UTF-8.
func InvalidUTF8() Fault { return makeFault("invalid-utf8") }

// Flood writes so many frames as fast as the host reads them, keep_alive and stream_event in turn. Neither the agent nor the
// dialogue keeps them.
func Flood(frames int) Fault { return makeFault("flood", strconv.Itoa(frames)) }

// Trickle writes frame one byte at a time, with a pause of interval after each.
func Trickle(frame any, interval time.Duration) Fault {
	return frameFault("trickle", frame, func(f string) []string { return []string{f, interval.String()} })
}

// assistantFrame returns a frame with the text, which is JSON between its quotes.
func assistantFrame(text string) string {
	return `{"type":"assistant","message":{"id":"msg_fault","type":"message","role":"assistant","model":"clewtest",` +
		`"content":[{"type":"text","text":"` + text + `"}],"stop_reason":null,"stop_sequence":null,` +
		`"usage":{"input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"fault","uuid":"fault"}`
}

func playGarbage(p *player, args []string) error {
	return p.write(strings.TrimSuffix(args[0], "\n") + "\n")
}

func playHalfFrame(p *player, args []string) error {
	return p.write(args[0][:len(args[0])/2])
}

func playBigFrame(p *player, args []string) error {
	text := strings.Repeat("x", max(0, number(args[0])-len(assistantFrame(""))))
	return p.write(assistantFrame(text) + "\n")
}

func playInvalidUTF8(p *player, _ []string) error {
	return p.write(assistantFrame("caf\xe9 \xff\xfe \xe2\x82") + "\n")
}

func playFlood(p *player, args []string) error {
	out := bufio.NewWriterSize(writerFunc(func(b []byte) (int, error) {
		select {
		case <-p.quit:
			return 0, errStopped
		default:
			return len(b), p.write(string(b))
		}
	}), pipeBytes)
	for i := range number(args[0]) {
		if err := floodFrame(out, i); err != nil {
			return err
		}
	}
	return out.Flush()
}

func floodFrame(out *bufio.Writer, i int) error {
	if i%2 == 0 {
		_, err := out.WriteString(`{"type":"keep_alive"}` + "\n")
		return err
	}
	_, err := fmt.Fprintf(out, `{"type":"stream_event","event":{"type":"content_block_delta","index":0,`+
		`"delta":{"type":"text_delta","text":"%d "}},"session_id":"fault","parent_tool_use_id":null,"uuid":"fault-%d"}`+"\n", i, i)
	return err
}

// A writerFunc is a function that writes.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func playTrickle(p *player, args []string) error {
	interval, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	frame := args[0] + "\n"
	for i := range len(frame) {
		if err := p.write(frame[i : i+1]); err != nil {
			return err
		}
		if err := p.pause(interval); err != nil {
			return err
		}
	}
	return nil
}

// pause waits, unless the agent is killed or the test ends.
func (p *player) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.quit:
		return errStopped
	}
}
