package sessions

import (
	"context"
	"strings"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// read reads a session of any store with its subagents.
func (p place) read(ctx context.Context, key wire.SessionKey, opts *ReadOptions) (*transcript.Transcript, error) {
	parts := []part{p.part(key, nil, opts)}
	if !opts.OnlyMain {
		subpaths, err := p.store.Subpaths(ctx, key)
		if err != nil {
			return nil, err
		}
		for _, key.Subpath = range subpaths {
			agent := newAgent(key.Subpath + transcriptExtension)
			if agent != nil && strings.HasPrefix(key.Subpath, agentFolder+"/") {
				parts = append(parts, p.part(key, agent, opts))
			}
		}
	}
	main, agents, err := readTranscripts(ctx, parts)
	if main != nil && !opts.OnlyMain {
		linkAgents(main, agents)
	}
	return main, err
}

func (p place) part(key wire.SessionKey, agent *transcript.Agent, opts *ReadOptions) part {
	return part{agent, func(ctx context.Context) (*transcript.Transcript, error) {
		b := transcript.NewBuilder(opts.Read)
		for entry, err := range p.store.Load(ctx, key) {
			if err != nil {
				return nil, err
			}
			if content, ok := sidecarOfAgent(agent, entry); ok {
				if meta, err := transcript.DecodeAgentMeta(content); err == nil {
					agent.Meta = meta
				}
				continue
			}
			_, _ = b.Write([]byte(lineBreaks.Replace(string(entry)) + "\n"))
		}
		_ = b.Close() // it never fails
		return b.Transcript(), nil
	}}
}

// sidecarOfAgent returns what is known of a subagent, if that is what an entry of its transcript stands for.
func sidecarOfAgent(agent *transcript.Agent, entry wire.JSON) ([]byte, bool) {
	if agent == nil {
		return nil, false
	}
	return sessionfile.Sidecar(entry)
}
