package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// measureRecall measures clew mcp, as an agent uses it: with an index that is there.
func measureRecall(ctx context.Context, o options) ([]*feeling, error) {
	return measureVisit(ctx, o, "asking about", func(v *visit) []visitPart {
		return []visitPart{{"nothing, to build the index", v.buildIndex}, {"a project", v.recall}}
	})
}

func (v *visit) buildIndex(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, v.path, "search", searched)
	cmd.Env = v.environment(v.agent())
	return cmd.Run()
}

// recallQuestions are of words that nearly all sessions have, so that they are much work.
var recallQuestions = []string{
	"how did we fix the cache error in the handler?",
	"why was the token policy of the worker reset?",
	"what did the reader do with pending records, and when does the queue drain?",
	"zyzzyva",
}

// recall starts a server for each round, and asks it about one project, then about all.
func (v *visit) recall(ctx context.Context) error {
	project := filepath.Dir(v.truth.Largest)
	for range v.rounds {
		began := time.Now()
		c, err := v.startRecall(ctx)
		if err != nil {
			return err
		}
		answer, err := c.call("search", map[string]any{"query": recallQuestions[0], "project": project})
		v.add("start to the first answer", "ms", 100, milliseconds(time.Since(began)))
		if err == nil && !strings.HasPrefix(answer, "Best ") {
			err = fmt.Errorf("it answers %q", answer)
		}
		if err == nil {
			err = v.askRecall(c, project, answer)
		}
		v.add("memory", "MB", 60, peakMemory(c.cmd.Process.Pid))
		if err = errors.Join(err, c.stop()); err != nil {
			return err
		}
	}
	return nil
}

// askRecall asks for one thing after the other.
func (v *visit) askRecall(c *recallClient, project, answer string) error {
	_, line, _ := strings.Cut(answer, "\n")
	ref, _, _ := strings.Cut(line, " ")
	for _, question := range recallQuestions {
		for name, project := range map[string]string{"search, this project": project, "search, all projects": "*"} {
			if err := v.timeRecall(c, name, "search", map[string]any{"query": question, "project": project}); err != nil {
				return err
			}
		}
	}
	if err := v.timeRecall(c, "read", "read", map[string]any{"ref": ref}); err != nil {
		return err
	}
	if err := v.timeRecall(c, "sessions, the first time", "sessions", map[string]any{"project": project}); err != nil {
		return err
	}
	return v.timeRecall(c, "sessions", "sessions", map[string]any{"project": project})
}

func (v *visit) timeRecall(c *recallClient, name, tool string, arguments map[string]any) error {
	began := time.Now()
	_, err := c.call(tool, arguments)
	v.add(name, "ms", 50, milliseconds(time.Since(began)))
	return err
}

// A recallClient is a client of a server that runs.
type recallClient struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	ids int
}

func (v *visit) startRecall(ctx context.Context) (*recallClient, error) {
	c := &recallClient{cmd: exec.CommandContext(ctx, v.path, "mcp", "--all")}
	c.cmd.Env = v.environment(v.agent())
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = c.request("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": struct{}{}, "clientInfo": map[string]string{"name": "bench", "version": "1"},
	})
	if err == nil {
		_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	return c, err
}

// request sends a request, and returns the result.
func (c *recallClient) request(method string, params any) (json.RawMessage, error) {
	c.ids++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.ids, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var message struct {
			ID     int
			Result json.RawMessage
		}
		if err := json.Unmarshal(line, &message); err != nil {
			return nil, err
		}
		if message.ID == c.ids {
			return message.Result, nil
		}
	}
}

// call calls a tool, and returns its text.
func (c *recallClient) call(tool string, arguments map[string]any) (string, error) {
	data, err := c.request("tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return "", err
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(data, &result); err != nil || len(result.Content) == 0 || result.IsError {
		return "", fmt.Errorf("%s: %s", tool, data)
	}
	return result.Content[0].Text, nil
}

// stop ends the input, on which the server ends.
func (c *recallClient) stop() error { return errors.Join(c.in.Close(), c.cmd.Wait()) }

func (r *report) writeRecall(b *strings.Builder) { writeFeelings(b, "clew mcp", r.Recall) }
